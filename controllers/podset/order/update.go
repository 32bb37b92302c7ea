package order

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/podset/podstate"
)

// Update is what the order of update depends on beside the Pods.
type Update struct {
	Priority *v1beta1.UpdatePriorityStrategy
	// KeylessFirst puts Pods that have none of the ordered keys before those that do, instead of after.
	KeylessFirst bool
	Scatter      []v1beta1.UpdateScatterTerm
	// All are all Pods of the workload, over whose rollout Scatter spreads.
	All []*corev1.Pod
}

// Sort is the candidates in the order of their update (cloneset.md §4.3): those that serve least first, then as the
// strategies say, and before all others those whose update has begun.
func (u Update) Sort(candidates []*corev1.Pod) []*corev1.Pod {
	sorted := append([]*corev1.Pod(nil), candidates...)
	sortBy(sorted, unscheduledFirst, phase, notReadyFirst, lastReadyFirst, restartsFirst, youngestFirst)
	sorted = u.Rearrange(sorted)
	begun, others := make([]*corev1.Pod, 0, len(sorted)), []*corev1.Pod(nil)
	for _, pod := range sorted {
		if podstate.Lifecycle(pod) == v1beta1.LifecycleStatePreparingUpdate {
			begun = append(begun, pod)
		} else {
			others = append(others, pod)
		}
	}
	return append(begun, others...)
}

// Rearrange applies priority and scatter alone to Pods that have an order already. It changes the slice.
func (u Update) Rearrange(sorted []*corev1.Pod) []*corev1.Pod {
	sortBy(sorted, priorityRules(u.Priority, u.KeylessFirst)...)
	return scatter(sorted, u.All, u.Scatter)
}
