package cloneset

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/podset/predownload"
	"github.com/fairlead-io/fairlead/controllers/podset/revision"
	"github.com/fairlead-io/fairlead/controllers/podset/volumeclaim"
)

// Plan is all that one sync may do, in this order: Release, Claims, Missing, Update's revision, PreDownload, Refresh and Scale;
// then, if scaling changed nothing, Moves; then the status, Prune and Surplus.
type Plan struct {
	// Release are Pods whose labels have left the selector.
	Release []*corev1.Pod
	// Claims are what becomes of claims whose Pod is gone.
	Claims []OrphanClaim
	// Missing are claims without which a Pod cannot start.
	Missing []*corev1.PersistentVolumeClaim
	// Update is the revision of the template.
	Update      revision.Update
	PreDownload predownload.Plan
	// Unmade are ids to be used again for Pods whose creation failed.
	Unmade []string
	// Ended are ids of deleted Pods whose claims are there still.
	Ended []string
	Scale Scale
	// UnreadyBeforeDelete tells whether a Pod whose deletion is prepared is to be made unready.
	UnreadyBeforeDelete bool
	Refresh             []Refresh
	// Moves bring Pods to another revision.
	Moves []Move
	// Prune are the podsToDelete to keep; nil if all are to be kept.
	Prune *[]string
	// Surplus are revisions beyond the history's limit.
	Surplus []*appsv1.ControllerRevision
	// Status is what was observed; conditions about failures are added when it is known what failed.
	Status v1beta1.CloneSetStatus
	Wake   wake
}

// wake is when to look again without an event.
type wake struct{ after time.Duration }

func (w *wake) in(d time.Duration)                   { w.after = sooner(w.after, d) }
func (w wake) soonest(d time.Duration) time.Duration { return sooner(w.after, d) }

// planner is what the parts of a plan share.
type planner struct {
	set      *v1beta1.CloneSet
	seen     *snapshot
	now      time.Time
	settings Settings
	newID    func() string
	selector labels.Selector
	// update and current are the revision of the template, and the last one that was rolled out wholly.
	update, current *appsv1.ControllerRevision
	// history is all revisions, with the update revision.
	history []*appsv1.ControllerRevision
	groups  groups
	plan    *Plan
}

// makePlan decides what a sync does. It changes nothing that it is given.
func makePlan(set *v1beta1.CloneSet, seen *snapshot, now time.Time, settings Settings, newID func() string) (*Plan, error) {
	p := &planner{set: set, seen: seen, now: now, settings: settings, newID: newID, plan: &Plan{}}
	var err error
	if p.selector, err = metav1.LabelSelectorAsSelector(set.Spec.Selector); err != nil {
		return nil, fmt.Errorf("reading spec.selector: %w", err)
	}
	if err := p.findRevisions(); err != nil {
		return nil, err
	}
	p.classify()
	p.planStatus()
	if set.DeletionTimestamp != nil {
		return &Plan{Status: p.plan.Status, Wake: p.plan.Wake, Update: revision.Update{Revision: p.update}}, nil
	}
	p.plan.Release = seen.pods.Release
	p.planUnmade()
	p.planOrphanClaims()
	p.planMissingClaims()
	p.planPreDownload()
	if err = p.planScale(); err != nil {
		return nil, err
	}
	p.planRefresh()
	p.planMoves()
	p.keepClosed()
	p.planPrune()
	p.planSurplus()
	return p.plan, nil
}

// findRevisions finds the update revision and the current one. A current revision that is gone cannot be kept or gone
// back to: then it is the update revision.
func (p *planner) findRevisions() error {
	hash, err := volumeclaim.Hash(p.set.Spec.VolumeClaimTemplates)
	if err != nil {
		return err
	}
	owner := revision.Owner{
		Object: p.set, Kind: kind, Template: &p.set.Spec.Template,
		Annotations: map[string]string{v1beta1.CloneSetVolumeClaimHashAnnotation: hash},
	}
	p.plan.Update, err = revision.Find(owner, p.seen.revisions, ptr.Deref(p.set.Status.CollisionCount, 0))
	if err != nil {
		return err
	}
	p.update = p.plan.Update.Revision
	p.history = slices.DeleteFunc(slices.Clone(p.seen.revisions), func(r *appsv1.ControllerRevision) bool { return r.Name == p.update.Name })
	p.history = append(p.history, p.update)
	p.current = p.update
	for _, r := range p.history {
		if r.Name == p.set.Status.CurrentRevision {
			p.current = r
		}
	}
	return nil
}

func (p *planner) sameRevision() bool { return p.current.Name == p.update.Name }

// planPrune keeps of podsToDelete the names of Pods that are there.
func (p *planner) planPrune() {
	names := p.set.Spec.ScaleStrategy.PodsToDelete
	kept := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return !slices.ContainsFunc(p.seen.pods.Active, func(pod *corev1.Pod) bool { return pod.Name == name })
	})
	if len(kept) < len(names) {
		p.plan.Prune = &kept
	}
}

// planSurplus keeps revisions that some Pod is at, and as many others as the history may have. The current one is that of
// the status that is written before: nothing may wake the CloneSet after it.
func (p *planner) planSurplus() {
	live := map[string]bool{p.update.Name: true, p.plan.Status.CurrentRevision: true}
	for _, at := range p.groups.positions {
		if at.revision != nil {
			live[at.revision.Name] = true
		}
	}
	limit := int(ptr.Deref(p.set.Spec.RevisionHistoryLimit, defaultHistoryLimit))
	p.plan.Surplus = revision.Surplus(p.seen.revisions, func(r *appsv1.ControllerRevision) bool { return live[r.Name] }, limit)
}
