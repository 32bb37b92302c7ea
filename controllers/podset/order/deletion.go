package order

import (
	"math"

	corev1 "k8s.io/api/core/v1"
)

// Deletion is what the order of deletion depends on beside the Pods.
type Deletion struct {
	// Available tells whether a Pod is available; how long that takes is the workload's to say.
	Available func(*corev1.Pod) bool
	// Constraints are those of the workload's template; only their topology keys count.
	Constraints []corev1.TopologySpreadConstraint
	// NodeLabels gives the labels of a node, nil if it is not known. It is asked only when there are constraints.
	NodeLabels func(node string) map[string]string
}

// First is the n Pods of a group to delete first (cloneset.md §3.6). Where all go, there is no order.
func (d Deletion) First(group []*corev1.Pod, n int) []*corev1.Pod {
	if n >= len(group) {
		return group
	}
	sorted := append([]*corev1.Pod(nil), group...)
	available := falseFirst(func(s *standing) bool { return d.Available(s.pod) })
	sortBy(sorted, unscheduledFirst, phase, available, notReadyFirst, cost, higherFirst(d.ranks(group)),
		lastReadyFirst, restartsFirst, youngestFirst)
	return sorted[:max(n, 0)]
}

// ranks say how crowded each Pod's place is, counting those that would go before it as gone.
func (d Deletion) ranks(group []*corev1.Pod) map[*corev1.Pod]float64 {
	nodes := sameNodeRanks(group)
	if len(d.Constraints) == 0 {
		return nodes
	}
	ranks := map[*corev1.Pod]float64{}
	for _, constraint := range d.Constraints {
		d.addRanks(ranks, group, constraint.TopologyKey, nodes)
	}
	return ranks
}

func sameNodeRanks(group []*corev1.Pod) map[*corev1.Pod]float64 {
	ranks := map[*corev1.Pod]float64{}
	for node, pods := range groupBy(group, func(pod *corev1.Pod) string { return pod.Spec.NodeName }) {
		if node == "" {
			continue
		}
		sortBy(pods, unscheduledFirst, phase, notReadyFirst, cost, lastReadyFirst, restartsFirst, youngestFirst)
		for i, pod := range pods {
			ranks[pod] = float64(len(pods) - 1 - i)
		}
	}
	return ranks
}

// smoothing keeps the weight of a topology with one value above zero.
const smoothing = 2

// addRanks weighs a topology by the logarithm of the number of its values, as the scheduler does: spreading over many
// small domains says more than over few.
func (d Deletion) addRanks(ranks map[*corev1.Pod]float64, group []*corev1.Pod, key string, nodes map[*corev1.Pod]float64) {
	domains := groupBy(group, func(pod *corev1.Pod) string { return d.NodeLabels(pod.Spec.NodeName)[key] })
	delete(domains, "")
	weight := math.Log(float64(len(domains) + smoothing))
	rules := []rule{unscheduledFirst, phase, notReadyFirst, cost}
	if key != corev1.LabelHostname {
		rules = append(rules, higherFirst(nodes)) // within one host it says nothing
	}
	rules = append(rules, lastReadyFirst, restartsFirst, youngestFirst)
	for _, pods := range domains {
		sortBy(pods, rules...)
		for i, pod := range pods {
			ranks[pod] += float64(len(pods)-i) * weight
		}
	}
}

func groupBy(pods []*corev1.Pod, key func(*corev1.Pod) string) map[string][]*corev1.Pod {
	groups := map[string][]*corev1.Pod{}
	for _, pod := range pods {
		groups[key(pod)] = append(groups[key(pod)], pod)
	}
	return groups
}
