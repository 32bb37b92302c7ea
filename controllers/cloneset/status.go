package cloneset

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-io/fairlead/controllers/podset/podstate"
)

// planStatus counts the Pods as they were observed (cloneset.md §1.5), before what this sync does to them.
func (p *planner) planStatus() {
	s := &p.plan.Status
	*s = *p.set.Status.DeepCopy()
	s.ObservedGeneration = p.set.Generation
	s.Replicas, s.ReadyReplicas, s.AvailableReplicas = p.countPods(func(*corev1.Pod) bool { return true })
	s.UpdatedReplicas, s.UpdatedReadyReplicas, s.UpdatedAvailableReplicas = p.countPods(func(pod *corev1.Pod) bool { return isAt(pod, p.update) })
	replicas := replicasOf(p.set)
	s.ExpectedUpdatedReplicas = int32(replicas - partitionOf(p.set))
	s.UpdateRevision = p.update.Name
	s.CurrentRevision = p.current.Name
	if s.UpdatedReplicas == s.Replicas && int(s.Replicas) == replicas {
		// All Pods, and no transient part of them: otherwise the partition of a later scale-out would be of the wrong
		// revision. They need not be ready: the template has reached them.
		s.CurrentRevision = p.update.Name
	}
	if s.CollisionCount == nil {
		s.CollisionCount = ptr.To[int32](0)
	}
	if selector, err := metav1.LabelSelectorAsSelector(p.set.Spec.Selector); err == nil {
		s.LabelSelector = selector.String()
	}
	p.planProgress()
}

func (p *planner) countPods(of func(*corev1.Pod) bool) (total, ready, available int32) {
	for _, pod := range p.seen.pods.Active {
		if !of(pod) {
			continue
		}
		total++
		if podstate.Ready(pod) {
			ready++
		}
		if p.isAvailable(pod) {
			available++
		}
	}
	return total, ready, available
}
