// Package order says which Pods of a workload go first: when some are deleted (cloneset.md §3.6) and when some are
// updated (§4.3, statefulset.md §14, sidecarset.md §6.4). All orders are stable, so that plans from shuffled lists differ
// only among Pods that nothing distinguishes; callers sort by name first to settle those too.
package order

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/controllers/podset/podstate"
)

// standing is what the rules compare of a Pod. It is read once for each sorting, in which thousands of Pods are compared a
// dozen times each.
type standing struct {
	pod *corev1.Pod
	// position is the Pod's before it is sorted.
	position int
	// readySince is zero for a Pod that is not ready.
	readySince       time.Time
	phaseRank        int
	cost             int64
	restarts         int32
	scheduled, ready bool
}

func standingOf(pod *corev1.Pod, position int) standing {
	s := standing{
		pod: pod, position: position, phaseRank: phaseRank(pod), cost: deletionCost(pod), restarts: maxRestarts(pod),
		scheduled: pod.Spec.NodeName != "",
	}
	if c := podstate.Condition(pod, corev1.PodReady); c != nil && c.Status == corev1.ConditionTrue {
		s.ready, s.readySince = true, c.LastTransitionTime.Time
	}
	return s
}

// rule compares two Pods: the one that goes first is less.
type rule func(a, b *standing) int

// sortBy lets the first rule that distinguishes two Pods decide, and leaves those that none does in their order.
func sortBy(pods []*corev1.Pod, rules ...rule) {
	if len(rules) == 0 {
		return
	}
	standings, sorted := make([]standing, len(pods)), make([]*standing, len(pods))
	for i, pod := range pods {
		standings[i] = standingOf(pod, i)
		sorted[i] = &standings[i]
	}
	slices.SortFunc(sorted, func(a, b *standing) int {
		for _, r := range rules {
			if c := r(a, b); c != 0 {
				return c
			}
		}
		return cmp.Compare(a.position, b.position)
	})
	for i, s := range sorted {
		pods[i] = s.pod
	}
}

// falseFirst makes a rule of a property: Pods without it go first.
func falseFirst(has func(*standing) bool) rule {
	return func(a, b *standing) int { return falseFirstBool(has(a), has(b)) }
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// higherFirst makes a rule of ranks.
func higherFirst(ranks map[*corev1.Pod]float64) rule {
	return func(a, b *standing) int { return cmp.Compare(ranks[b.pod], ranks[a.pod]) }
}

// The rules of §3.6 that look at one Pod only; those that need more are made where they are used.
var (
	unscheduledFirst rule = falseFirst(func(s *standing) bool { return s.scheduled })
	phase            rule = func(a, b *standing) int { return cmp.Compare(a.phaseRank, b.phaseRank) }
	notReadyFirst    rule = falseFirst(func(s *standing) bool { return s.ready })
	cost             rule = func(a, b *standing) int { return cmp.Compare(a.cost, b.cost) }
	lastReadyFirst   rule = func(a, b *standing) int { return newerFirst(a.readySince, b.readySince) }
	restartsFirst    rule = func(a, b *standing) int { return cmp.Compare(b.restarts, a.restarts) }
	youngestFirst    rule = func(a, b *standing) int {
		return newerFirst(a.pod.CreationTimestamp.Time, b.pod.CreationTimestamp.Time)
	}
)

func phaseRank(pod *corev1.Pod) int {
	switch pod.Status.Phase {
	case corev1.PodPending, "":
		return 0
	case corev1.PodUnknown:
		return 1
	default:
		return 2
	}
}

// deletionCost reads what users and WorkloadSpread write; what the API server would not accept as a cost is 0.
func deletionCost(pod *corev1.Pod) int64 {
	value := pod.Annotations[corev1.PodDeletionCost]
	if strings.HasPrefix(value, "+") || len(value) > 1 && strings.HasPrefix(value, "0") {
		return 0
	}
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil {
		return 0
	}
	return n
}

// newerFirst takes a zero time, of a change just made, for the newest.
func newerFirst(a, b time.Time) int {
	if c := falseFirstBool(!a.IsZero(), !b.IsZero()); c != 0 {
		return c
	}
	return b.Compare(a)
}

func falseFirstBool(a, b bool) int { return cmp.Compare(number(a), number(b)) }

func maxRestarts(pod *corev1.Pod) int32 {
	restarts := int32(0)
	for _, c := range pod.Status.ContainerStatuses {
		restarts = max(restarts, c.RestartCount)
	}
	return restarts
}
