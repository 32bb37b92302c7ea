package launchpriority

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Write is what to do to the ConfigMap.
type Write int

const (
	// None changes nothing: it is as it should be.
	None Write = iota
	// Create it with the key.
	Create
	// Open adds the key.
	Open
	// TakeOver makes a barrier that an older Pod of this name left behind the Pod's own, with the key alone.
	TakeOver
	// Await its end: it is being deleted, and a key added to it would vanish with it.
	Await
)

// Plan is what one look at a Pod and its ConfigMap asks for.
type Plan struct {
	Write Write
	// Key is the one to add.
	Key string
	// Stale are the keys to remove when taking over.
	Stale []string
	// Complete says that the Pod needs us no more, once the write is done.
	Complete bool
}

// plan decides from a Pod that is not over and its ConfigMap, nil if there is none. It knows nothing of earlier calls:
// whatever happened to either object, the answer leads on from there.
func plan(pod *corev1.Pod, barrier *corev1.ConfigMap) Plan {
	if !hasBarrier(pod) {
		return Plan{}
	}
	priorities := waiting(pod)
	if len(priorities) == 0 {
		return Plan{Complete: true}
	}
	lowest, highest := priorities[0], priorities[len(priorities)-1]
	p := Plan{Key: keyOf(highest), Complete: highest == lowest}
	switch holderOf(pod, barrier) {
	case nobody:
		p.Write = Create
		return p
	case leaving:
		return Plan{Write: Await}
	case predecessor:
		p.Write = TakeOver
		p.Stale = staleKeys(barrier, p.Key)
		return p
	default: // self or other: what is open is open
	}
	if hasKey(barrier, keyOf(lowest)) {
		return Plan{Complete: true} // everything that waits may start
	}
	if hasKey(barrier, p.Key) {
		return Plan{}
	}
	p.Write = Open
	return p
}

func hasKey(barrier *corev1.ConfigMap, key string) bool {
	_, ok := barrier.Data[key]
	return ok
}

func staleKeys(barrier *corev1.ConfigMap, keep string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(barrier.Data)), func(key string) bool {
		_, ours := priorityOf(key)
		return !ours || key == keep
	})
}
