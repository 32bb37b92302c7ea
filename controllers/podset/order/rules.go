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

// rule compares two Pods: the one that goes first is less.
type rule func(a, b *corev1.Pod) int

// sortBy lets the first rule that distinguishes two Pods decide.
func sortBy(pods []*corev1.Pod, rules ...rule) {
	slices.SortStableFunc(pods, func(a, b *corev1.Pod) int {
		for _, r := range rules {
			if c := r(a, b); c != 0 {
				return c
			}
		}
		return 0
	})
}

// falseFirst makes a rule of a property: Pods without it go first.
func falseFirst(has func(*corev1.Pod) bool) rule {
	return func(a, b *corev1.Pod) int { return cmp.Compare(number(has(a)), number(has(b))) }
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// higherFirst makes a rule of ranks.
func higherFirst(ranks map[*corev1.Pod]float64) rule {
	return func(a, b *corev1.Pod) int { return cmp.Compare(ranks[b], ranks[a]) }
}

// The rules of §3.6 that look at one Pod only; those that need more are made where they are used.
var (
	unscheduledFirst rule = falseFirst(func(pod *corev1.Pod) bool { return pod.Spec.NodeName != "" })
	phase            rule = func(a, b *corev1.Pod) int { return cmp.Compare(phaseRank(a), phaseRank(b)) }
	notReadyFirst    rule = falseFirst(podstate.ConditionReady)
	cost             rule = func(a, b *corev1.Pod) int { return cmp.Compare(deletionCost(a), deletionCost(b)) }
	lastReadyFirst   rule = func(a, b *corev1.Pod) int { return newerFirst(readySince(a), readySince(b)) }
	restartsFirst    rule = func(a, b *corev1.Pod) int { return cmp.Compare(maxRestarts(b), maxRestarts(a)) }
	youngestFirst    rule = func(a, b *corev1.Pod) int { return newerFirst(a.CreationTimestamp.Time, b.CreationTimestamp.Time) }
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

// readySince is zero for a Pod that is not ready.
func readySince(pod *corev1.Pod) time.Time {
	if c := podstate.Condition(pod, corev1.PodReady); c != nil && c.Status == corev1.ConditionTrue {
		return c.LastTransitionTime.Time
	}
	return time.Time{}
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
