package cloneset

import (
	"cmp"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/controllers/podset/arithmetic"
	"github.com/fairlead-io/fairlead/controllers/podset/lifecycle"
	"github.com/fairlead-io/fairlead/controllers/podset/order"
	"github.com/fairlead-io/fairlead/controllers/podset/podstate"
)

// Scale are the steps of scaling (cloneset.md §3.3), in order. The first that changes something is the last.
type Scale struct {
	// Undelete are Pods that wait for their deletion and are needed after all.
	Undelete []*corev1.Pod
	Create   []NewPod
	// Limited says how many Pods are missing beyond those that may be created now.
	Limited int
	// Finish are Pods whose deletion was prepared and is held back no longer.
	Finish []Removal
	// Doomed are Pods whose deletion was asked for.
	Doomed []Removal
	// Surplus are Pods beyond the replicas.
	Surplus []Removal
}

// Removal is one Pod to delete with its claims, or to prepare for that if its hook holds it.
type Removal struct {
	Pod     *corev1.Pod
	Claims  []*corev1.PersistentVolumeClaim
	Prepare bool
	// Mark the Pod first as one to be deleted. If the controller stops between the Pod and its claims, that is how it is
	// known that the claims were not to be reused.
	Mark bool
}

func (p *planner) planScale() error {
	numbers := p.calculateScale()
	hooks := lifecycle.HooksOf(p.set.Spec.Lifecycle)
	p.plan.UnreadyBeforeDelete = hooks.PreDelete != nil && hooks.PreDelete.MarkPodNotReady
	s := &p.plan.Scale
	if s.Undelete = p.undelete(hooks); len(s.Undelete) > 0 {
		return nil
	}
	s.Limited = numbers.Need - numbers.Create
	if err := p.create(s, numbers); err != nil {
		return err
	}
	for _, pod := range p.groups.in(preparingDelete) {
		if lifecycle.ForDeletion(pod, hooks.PreDelete) == lifecycle.Delete {
			s.Finish = append(s.Finish, p.removal(pod, hooks))
		}
	}
	asked := p.groups.in(doomed)
	quota := numbers.ReadyQuota - notHealthy(asked)
	s.Doomed = p.removals(asked, &quota, hooks)
	if p.groups.going == 0 && numbers.Excess > 0 {
		s.Surplus = p.removals(p.chooseSurplus(numbers), &quota, hooks)
	}
	return nil
}

// notHealthy is how many Pods are asked to be deleted and serve nobody. The arithmetic counts them as available: without
// this, ready Pods would go in their place.
func notHealthy(pods []*corev1.Pod) (n int) {
	for _, pod := range pods {
		if !podstate.Healthy(pod) {
			n++
		}
	}
	return n
}

// undelete chooses Pods whose deletion is prepared but no longer needed. With markPodNotReady they have lost their
// traffic, and their users may count on the deletion.
func (p *planner) undelete(hooks lifecycle.Hooks) []*corev1.Pod {
	if hooks.MarksNotReady() {
		return nil
	}
	missing := replicasOf(p.set) - len(p.seen.pods.Active) + p.groups.going
	back := p.groups.those(func(m *member) bool { return m.place == preparingDelete && !m.asked })
	return back[:min(len(back), max(missing, 0))]
}

// mostNew is how many Pods are made ready to be created at a time: more than a sync comes to in its share of time, and few
// enough that thousands, of which each sync creates a part, are not made over and over.
const mostNew = 500

func (p *planner) create(s *Scale, numbers arithmetic.Plan) error {
	if numbers.Create == 0 {
		return nil
	}
	free, used := p.knownIDs()
	next := p.ids(free, used)
	for i := range min(numbers.Create-p.heldBack(numbers.Create-len(free)), mostNew) {
		at := p.update
		if i < numbers.CreateOld {
			at = p.current
		}
		pod, err := p.newPod(at, next())
		if err != nil {
			return err
		}
		pod.Err = cmp.Or(p.tooLong(at), notOurs(pod.Pod, p.selector))
		s.Create = append(s.Create, pod)
	}
	failingLast(s.Create, func(n NewPod) error { return n.Err })
	return nil
}

// removals are those of the Pods that may go now: one that is not ready serves nobody and goes freely, others as far as
// the quota goes. Time to become available does not count here: a Pod that is ready serves.
func (p *planner) removals(pods []*corev1.Pod, quota *int, hooks lifecycle.Hooks) []Removal {
	var all []Removal
	for _, pod := range pods {
		if podstate.Healthy(pod) {
			if *quota <= 0 {
				continue
			}
			*quota--
		}
		all = append(all, p.removal(pod, hooks))
	}
	return all
}

func (p *planner) removal(pod *corev1.Pod, hooks lifecycle.Hooks) Removal {
	r := Removal{Pod: pod, Prepare: lifecycle.ForDeletion(pod, hooks.PreDelete) != lifecycle.Delete}
	r.Claims = p.claimsOf(pod)
	r.Mark = p.set.Spec.ScaleStrategy.EnablePVCReuse && len(r.Claims) > 0 && !isMarked(pod)
	return r
}

// chooseSurplus takes from each side the Pods that serve least.
func (p *planner) chooseSurplus(numbers arithmetic.Plan) []*corev1.Pod {
	template := p.updateTemplate()
	serving := map[*corev1.Pod]bool{}
	for _, pod := range p.groups.in(available) {
		serving[pod] = true
	}
	deletion := order.Deletion{
		Available:   func(pod *corev1.Pod) bool { return serving[pod] },
		Constraints: template.Spec.TopologySpreadConstraints,
		NodeLabels:  func(node string) map[string]string { return p.seen.nodeLabels[node] },
	}
	old := deletion.First(p.groups.those(func(m *member) bool { return !p.scalesAsNew(m) }), numbers.ExcessOld)
	updated := deletion.First(p.groups.those(p.scalesAsNew), numbers.Excess-numbers.ExcessOld)
	return append(append([]*corev1.Pod(nil), old...), updated...)
}

func (p *planner) updateTemplate() *corev1.PodTemplateSpec { return &p.set.Spec.Template }

// templateOf is that of a revision; that of the update revision is the CloneSet's own, in which a field that the
// revision's writer did not know is not lost.
func (p *planner) templateOf(r *appsv1.ControllerRevision) (*corev1.PodTemplateSpec, error) {
	if r.Name == p.update.Name {
		return p.updateTemplate(), nil
	}
	return recordedTemplate(r)
}
