package cloneset

import (
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/podset/inplace"
	"github.com/fairlead-io/fairlead/controllers/podset/lifecycle"
	"github.com/fairlead-io/fairlead/controllers/podset/order"
	"github.com/fairlead-io/fairlead/controllers/podset/revision"
	"github.com/fairlead-io/fairlead/controllers/podset/volumeclaim"
)

// How is the way in which a Pod is brought to another revision.
type How int

// The ways.
const (
	// Recreate deletes the Pod, or marks it for deletion if a hook holds it; scaling replaces it.
	Recreate How = iota
	// Prepare asks the hook for its consent.
	Prepare
	// PrepareAgain does so after the hook is put back on the Pod.
	PrepareAgain
	// Change it in place.
	Change
)

// Move brings one Pod to a revision.
type Move struct {
	Pod *corev1.Pod
	To  *appsv1.ControllerRevision
	How How
	// Labels, Change and GraceSeconds are for a change in place.
	Labels       map[string]string
	Change       *inplace.Change
	GraceSeconds int32
	// Removal is of a Pod to recreate that nothing holds. The mark by which it would be asked to be deleted is a write that
	// nobody reads: the limit for updates leaves as many Pods available as that for deletions.
	Removal *Removal
	// Hook is the inPlaceUpdate hook, for preparing.
	Hook *v1beta1.LifecycleHook
	// Err is why the Pod cannot be moved; nothing after it is done.
	Err error
}

// planMoves chooses the Pods to move now (cloneset.md §4.2 steps 2 to 7).
func (p *planner) planMoves() {
	numbers := p.calculateUpdate()
	if isOnDelete(p.set) || rollingOf(p.set).Paused || numbers.Update == 0 {
		return
	}
	target, going, n := p.update, p.groups.updateOld.Doomed, numbers.Update
	if n < 0 {
		target, going, n = p.current, p.groups.updateNew.Doomed, -n
	}
	n -= going // Pods that were asked to be deleted go anyway: they are part of what is to be moved
	candidates := p.sorted(p.candidates(target == p.update))
	changes, refreshed := changeCache{}, p.refreshed()
	for _, pod := range p.withinLimit(candidates[:min(max(n, 0), len(candidates))], target, numbers.Cap) {
		if refreshed[pod] {
			continue
		}
		move, needed := p.move(pod, target, changes)
		if needed {
			p.plan.Moves = append(p.plan.Moves, move)
		}
	}
	failingLast(p.plan.Moves, func(m Move) error { return m.Err })
}

// keepClosed leaves the gate of a Pod as it is that is changed in place now: it would be opened only to be closed again,
// and traffic would come back in between. It is closed but unchanged after a sync that failed there.
func (p *planner) keepClosed() {
	if len(p.plan.Refresh) == 0 {
		return
	}
	changed := map[*corev1.Pod]bool{}
	for _, m := range p.plan.Moves {
		changed[m.Pod] = m.How == Change && m.Change.MustLeaveService(m.Pod)
	}
	for i := range p.plan.Refresh {
		if refresh := &p.plan.Refresh[i]; changed[refresh.Pod] {
			refresh.Conditions = slices.DeleteFunc(refresh.Conditions, func(c corev1.PodCondition) bool { return c.Type == v1beta1.InPlaceUpdateReady })
		}
	}
	p.plan.Refresh = slices.DeleteFunc(p.plan.Refresh, Refresh.empty)
}

// candidates are the old Pods, or the new ones. It leaves out Pods that are going, and those in grace: what they wait for
// would be overwritten. One that is Updated has no grace left.
func (p *planner) candidates(old bool) []*corev1.Pod {
	return p.groups.those(func(m *member) bool {
		grace := m.inGrace && m.state != v1beta1.LifecycleStateUpdated
		return m.at.update != old && !grace && !m.goes()
	})
}

func (p *planner) sorted(candidates []*corev1.Pod) []*corev1.Pod {
	rolling := rollingOf(p.set)
	return order.Update{Priority: rolling.PriorityStrategy, Scatter: rolling.ScatterStrategy, All: p.seen.pods.Active}.Sort(candidates)
}

// withinLimit cuts the candidates where more would be unavailable than may be. Pods that are unavailable at the target
// already count twice: a template that does not work must stop the rollout, however many broken Pods wait for it.
func (p *planner) withinLimit(candidates []*corev1.Pod, target *appsv1.ControllerRevision, limit int) []*corev1.Pod {
	unavailableNow, brokenAtTarget := 0, 0
	out := map[*corev1.Pod]bool{}
	for i := range p.groups.members {
		m := &p.groups.members[i]
		if m.place == available {
			continue
		}
		out[m.pod] = true
		unavailableNow++ // a Pod that was asked to be deleted counts as gone
		// But it says nothing about the template while it serves. It may wait for a Pod to be back that is being moved, and
		// that would wait for it.
		if p.isAt(m, target) && !m.available {
			brokenAtTarget++
		}
	}
	for done, pod := range candidates {
		if brokenAtTarget+done >= limit {
			return candidates[:done]
		}
		if out[pod] {
			continue
		}
		if unavailableNow >= limit {
			return candidates[:done]
		}
		unavailableNow++
	}
	return candidates
}

// move decides how one Pod is moved, false if there is nothing to do but wait for its hook.
func (p *planner) move(pod *corev1.Pod, target *appsv1.ControllerRevision, changes changeCache) (Move, bool) {
	m := Move{Pod: pod, To: target}
	if err := p.tooLong(target); err != nil {
		return m.failed(err), true
	}
	if policyOf(p.set) == v1beta1.RecreatePodUpdateStrategyType {
		return p.recreate(m), true
	}
	change, err := p.change(pod, target, changes)
	if err == nil {
		err = change.Possible(pod)
	}
	var impossible *inplace.NotPossibleError
	switch {
	case err == nil:
		return p.moveInPlace(m, change)
	case errors.As(err, &impossible) && policyOf(p.set) != v1beta1.InPlaceOnlyPodUpdateStrategyType:
		return p.recreate(m), true
	default:
		return m.failed(err), true
	}
}

func (m Move) failed(err error) Move {
	m.Err = fmt.Errorf("updating Pod %s to %s: %w", m.Pod.Name, m.To.Name, err)
	return m
}

func (p *planner) recreate(m Move) Move {
	if r := p.removal(m.Pod, lifecycle.HooksOf(p.set.Spec.Lifecycle)); !r.Prepare {
		m.Removal = &r
	}
	return m
}

func (p *planner) moveInPlace(m Move, change *inplace.Change) (Move, bool) {
	m.Hook = lifecycle.HooksOf(p.set.Spec.Lifecycle).InPlaceUpdate
	next, err := lifecycle.ForUpdate(m.Pod, m.Hook)
	if err != nil {
		m.Err = err
		return m, true
	}
	switch next {
	case lifecycle.Prepare:
		m.How = Prepare
	case lifecycle.PrepareAgain:
		m.How = PrepareAgain
	case lifecycle.Start:
		m.How, m.Change, m.Labels = Change, change, p.revisionLabels(m.To)
		if s := rollingOf(p.set).InPlaceUpdateStrategy; s != nil {
			m.GraceSeconds = s.GracePeriodSeconds
		}
	case lifecycle.Wait:
		return m, false
	}
	return m, true
}

// changeCache has what leads from a revision, by name, to the target.
type changeCache map[string]changeResult

type changeResult struct {
	change *inplace.Change
	err    error
}

func (p *planner) change(pod *corev1.Pod, target *appsv1.ControllerRevision, changes changeCache) (*inplace.Change, error) {
	from := revision.Of(pod, p.history)
	if from == nil {
		return nil, &inplace.NotPossibleError{Reason: "the revision that the Pod is at is not in the history"}
	}
	known, ok := changes[from.Name]
	if !ok {
		known.change, known.err = p.diff(from, target)
		changes[from.Name] = known
	}
	return known.change, known.err
}

func (p *planner) diff(from, target *appsv1.ControllerRevision) (*inplace.Change, error) {
	if p.settings.RecreateForClaims && policyOf(p.set) != v1beta1.InPlaceOnlyPodUpdateStrategyType &&
		!volumeclaim.SameHash(claimHash(from), claimHash(target)) {
		return nil, &inplace.NotPossibleError{Reason: "the claim templates differ"}
	}
	return inplace.Diff(from.Data.Raw, target.Data.Raw, p.settings.InPlace)
}

func claimHash(r *appsv1.ControllerRevision) *string {
	if hash, has := r.Annotations[v1beta1.CloneSetVolumeClaimHashAnnotation]; has {
		return &hash
	}
	return nil
}
