package cloneset

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/podset/claim"
	"github.com/fairlead-io/fairlead/controllers/podset/revision"
)

// snapshot is what a sync sees of a CloneSet. Its objects may be the cache's own and must not be changed.
type snapshot struct {
	pods claim.Pods
	// claims are the CloneSet's that are not being deleted.
	claims []*corev1.PersistentVolumeClaim
	// revisions are the CloneSet's, the oldest first.
	revisions []*appsv1.ControllerRevision
	// readings are of the active Pods, in their order; nil if they were not read yet.
	readings []*reading
	// jobs are the ImagePullJobs of the CloneSet; jobsRead tells whether they are known.
	jobs     []*v1beta1.ImagePullJob
	jobsRead bool
	// nodeLabels of the nodes that Pods are on; only if the template spreads its Pods.
	nodeLabels map[string]map[string]string
	// takenNames are the names that claims would have Pods reuse and that Pods have: one that ended, or was released.
	takenNames map[string]bool
	// unmade are ids that were given to Pods whose creation failed, and that no Pod has; ended those of Pods that this
	// process has deleted.
	unmade, ended []string
	// doubtful tells that the cache does not show yet what the API server has.
	doubtful bool
}

// reading is that of an active Pod.
func (s *snapshot) reading(i int) *reading {
	if s.readings == nil {
		return read(s.pods.Active[i])
	}
	return s.readings[i]
}

// observe reads all that a sync depends on.
func (r *Reconciler) observe(ctx context.Context, set *v1beta1.CloneSet) (*snapshot, error) {
	selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
	if err != nil {
		return nil, fmt.Errorf("reading spec.selector: %w", err)
	}
	s, owner := &snapshot{}, claim.Owner{UID: set.UID, Kind: groupKind, Selector: selector}
	reader := r.reader(key(set))
	if r.memory.trusts(key(set)) {
		err = r.readCached(ctx, set, owner, s)
	} else {
		err = r.readLive(ctx, set, owner, s)
	}
	if err != nil {
		return nil, err
	}
	slices.SortFunc(s.claims, func(a, b *corev1.PersistentVolumeClaim) int { return cmp.Compare(a.Name, b.Name) })
	revision.Sort(s.revisions)
	if err := r.observeNodes(ctx, set, s); err != nil {
		return nil, err
	}
	r.observeJobs(ctx, reader, set, s)
	s.unmade, s.ended = r.memory.idsOf(set, s.pods)
	return s, observeNames(ctx, reader, set, s)
}

func (r *Reconciler) readCached(ctx context.Context, set *v1beta1.CloneSet, owner claim.Owner, s *snapshot) error {
	owned := []client.ListOption{
		client.InNamespace(set.Namespace), client.MatchingFields{claim.OwnerField: string(set.UID)}, client.UnsafeDisableDeepCopy,
	}
	pods, err := r.cachedPods(ctx, set)
	if err != nil {
		return err
	}
	claims, revisions := &corev1.PersistentVolumeClaimList{}, &appsv1.ControllerRevisionList{}
	for _, list := range []client.ObjectList{claims, revisions} {
		if err := r.Client.List(ctx, list, owned...); err != nil {
			return fmt.Errorf("listing %T: %w", list, err)
		}
	}
	r.fill(set, owner, s, pods, claims, revisions)
	return nil
}

// readLive reads at the API server, and then looks whether the cache shows the same Pods: only then may the next sync
// rely on it. A sync that relied on it before could create again what it does not show.
//
// What the CloneSet made has the labels of its selector. Pods that have left it are of the cache: to release one late
// harms nobody, and a list of all Pods of a namespace for each of its CloneSets would.
func (r *Reconciler) readLive(ctx context.Context, set *v1beta1.CloneSet, owner claim.Owner, s *snapshot) error {
	pods, claims, revisions := &corev1.PodList{}, &corev1.PersistentVolumeClaimList{}, &appsv1.ControllerRevisionList{}
	matching := client.MatchingLabelsSelector{Selector: owner.Selector}
	for list, which := range map[client.ObjectList]client.ListOption{
		pods: matching, revisions: matching, claims: client.MatchingLabels(set.Spec.Selector.MatchLabels),
	} {
		if err := r.Live.List(ctx, list, client.InNamespace(set.Namespace), which); err != nil {
			return fmt.Errorf("listing %T at the API server: %w", list, err)
		}
	}
	cached, err := r.cachedPods(ctx, set, client.DisableReadYourWritesConsistency)
	if err != nil {
		return err
	}
	all := pointers(pods.Items)
	members, left := splitBy(cached, owner.Selector)
	if s.doubtful = !caughtUp(set, members, all, r.memory.doubts(key(set), all)); !s.doubtful {
		r.memory.trust(key(set))
	}
	for _, pod := range left {
		if !slices.ContainsFunc(all, func(p *corev1.Pod) bool { return p.Name == pod.Name }) { // it has come back
			all = append(all, pod)
		}
	}
	r.fill(set, owner, s, all, claims, revisions)
	return nil
}

func splitBy(pods []*corev1.Pod, selector labels.Selector) (matching, others []*corev1.Pod) {
	for _, pod := range pods {
		if selector.Matches(labels.Set(pod.Labels)) {
			matching = append(matching, pod)
		} else {
			others = append(others, pod)
		}
	}
	return matching, others
}

// caughtUp tells whether the cache shows each of the CloneSet's Pods, as it was when the doubt began or newer, and none
// that is gone. Pods that come and go between the two reads only make it look again.
func caughtUp(set *v1beta1.CloneSet, cached, live []*corev1.Pod, floor map[string]string) bool {
	versions := map[string]*corev1.Pod{}
	for _, pod := range cached {
		if claim.Controls(set.UID, groupKind, pod) {
			versions[pod.Name] = pod
		}
	}
	for _, pod := range live {
		if !claim.Controls(set.UID, groupKind, pod) {
			continue
		}
		have, there := versions[pod.Name]
		if !there || have.UID != pod.UID || older(have.ResourceVersion, floor[pod.Name]) {
			return false
		}
		delete(versions, pod.Name)
	}
	return len(versions) == 0
}

// older compares resource versions, which are decimal numbers that grow.
func older(a, b string) bool { return len(a) < len(b) || len(a) == len(b) && a < b }

// fill sorts out what was read.
func (r *Reconciler) fill(
	set *v1beta1.CloneSet, owner claim.Owner, s *snapshot,
	pods []*corev1.Pod, claims *corev1.PersistentVolumeClaimList, revisions *appsv1.ControllerRevisionList,
) {
	s.pods, s.readings = r.memory.read(key(set), owner, pods)
	for i := range claims.Items {
		c := &claims.Items[i]
		if c.DeletionTimestamp == nil && claim.Controls(set.UID, groupKind, c) {
			s.claims = append(s.claims, c)
		}
	}
	for i := range revisions.Items {
		if claim.Controls(set.UID, groupKind, &revisions.Items[i]) {
			s.revisions = append(s.revisions, &revisions.Items[i])
		}
	}
}

// observeNodes reads the labels of the Pods' nodes if the order of deletion depends on them.
func (r *Reconciler) observeNodes(ctx context.Context, set *v1beta1.CloneSet, s *snapshot) error {
	if len(set.Spec.Template.Spec.TopologySpreadConstraints) == 0 || len(s.pods.Active) <= replicasOf(set) {
		return nil
	}
	nodes := &metav1.PartialObjectMetadataList{}
	nodes.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NodeList"))
	if err := r.Client.List(ctx, nodes, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	s.nodeLabels = map[string]map[string]string{}
	for i := range nodes.Items {
		s.nodeLabels[nodes.Items[i].Name] = nodes.Items[i].Labels
	}
	return nil
}

// observeJobs reads the ImagePullJobs that the CloneSet may have to end. Without them no images are fetched ahead, and all
// else goes on.
func (r *Reconciler) observeJobs(ctx context.Context, reader client.Reader, set *v1beta1.CloneSet, s *snapshot) {
	if !r.PreDownload {
		return
	}
	jobs := &v1beta1.ImagePullJobList{}
	if err := reader.List(ctx, jobs, client.InNamespace(set.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(r.unread(key(set), err), "listing ImagePullJobs")
		return
	}
	s.jobsRead = true
	for i := range jobs.Items {
		if claim.Controls(set.UID, groupKind, &jobs.Items[i]) {
			s.jobs = append(s.jobs, &jobs.Items[i])
		}
	}
}

// observeNames looks which of the names that free claims would give to new Pods are taken, as by a Pod that ended and
// whose object is still there: creating one would fail for as long.
func observeNames(ctx context.Context, reader client.Reader, set *v1beta1.CloneSet, s *snapshot) error {
	s.takenNames = map[string]bool{}
	if !set.Spec.ScaleStrategy.EnablePVCReuse {
		return nil
	}
	active := idsOf(s.pods.Active)
	for _, c := range s.claims {
		id := c.Labels[v1beta1.CloneSetInstanceIDLabel]
		name := podName(set, id)
		if _, asked := s.takenNames[name]; asked || id == "" || active[id] {
			continue
		}
		err := reader.Get(ctx, client.ObjectKey{Namespace: set.Namespace, Name: name}, &corev1.Pod{})
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("reading Pod %s: %w", name, err)
		}
		s.takenNames[name] = err == nil
	}
	return nil
}
