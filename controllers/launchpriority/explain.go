package launchpriority

import (
	corev1 "k8s.io/api/core/v1"
)

// Start is how far a container that waits for a barrier is.
type Start struct {
	Container string
	Priority  int64
	// Key of the Pod's barrier, which the container waits for.
	Key string
	// Open says that the key is there, so that the kubelet may start the container.
	Open bool
	// Settled says that the container is ready, or has done its work, and holds nobody back any more.
	Settled bool
	// Behind are the containers that must be settled before the key is added.
	Behind []string
}

// Explanation is how far the start of a Pod with barriers is.
type Explanation struct {
	// ConfigMap is the name of the barrier.
	ConfigMap string
	// Over says that the controller does not look at the Pod any more: all keys that count are there, or the Pod ends.
	Over   bool
	Starts []Start
	// Next is what the controller does when it looks now.
	Next Plan
}

// Explain says how far the ordered start of a Pod is, given its barrier, nil if there is none. It is nil for a Pod without
// barriers.
func Explain(pod *corev1.Pod, barrier *corev1.ConfigMap) *Explanation {
	if !hasBarrier(pod) {
		return nil
	}
	e := &Explanation{ConfigMap: configMapName(pod), Over: isOver(pod)}
	if !e.Over {
		e.Next = plan(pod, barrier)
	}
	holder := holderOf(pod, barrier)
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		priority, waits := barrierOf(pod, c)
		if !waits {
			continue
		}
		start := Start{
			Container: c.Name, Priority: priority, Key: keyOf(priority), Settled: isReady(pod, c.Name) || isFinished(pod, c),
			Open: (holder == self || holder == other) && hasKey(barrier, keyOf(priority)),
		}
		if !start.Open {
			start.Behind = unsettledAbove(pod, priority)
		}
		e.Starts = append(e.Starts, start)
	}
	return e
}

// unsettledAbove are the containers of higher priorities that are neither ready nor finished.
func unsettledAbove(pod *corev1.Pod, priority int64) (names []string) {
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		if p, waits := barrierOf(pod, c); waits && p > priority && !isReady(pod, c.Name) && !isFinished(pod, c) {
			names = append(names, c.Name)
		}
	}
	return names
}
