package cloneset

import "k8s.io/utils/ptr"

// planStatus counts the Pods as they were observed (cloneset.md §1.5), before what this sync does to them.
func (p *planner) planStatus() {
	s := &p.plan.Status
	*s = *p.set.Status.DeepCopy()
	s.ObservedGeneration = p.set.Generation
	s.Replicas, s.ReadyReplicas, s.AvailableReplicas = p.countPods(func(*member) bool { return true })
	s.UpdatedReplicas, s.UpdatedReadyReplicas, s.UpdatedAvailableReplicas = p.countPods(func(m *member) bool { return m.at.update })
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
	s.LabelSelector = p.selector.String()
	p.planProgress()
}

func (p *planner) countPods(of func(*member) bool) (total, ready, available int32) {
	for i := range p.groups.members {
		m := &p.groups.members[i]
		if !of(m) {
			continue
		}
		total++
		if m.service.Ready {
			ready++
		}
		if m.available {
			available++
		}
	}
	return total, ready, available
}
