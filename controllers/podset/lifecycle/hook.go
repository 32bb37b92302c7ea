// Package lifecycle is the state machine of a Pod under the hooks of its workload (cloneset.md §6): which state comes
// next, and what has to be written for it. The state is a label of the Pod, so that users' operators see it.
package lifecycle

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/podset/podpatch"
)

// Hooks are a workload's hooks; each may be nil.
type Hooks struct {
	PreDelete, InPlaceUpdate, PreNormal *v1beta1.LifecycleHook
	// Declared tells whether the workload has a lifecycle at all: without one an update ends in Normal.
	Declared bool
}

// HooksOf are those of a lifecycle, none for nil.
func HooksOf(l *v1beta1.Lifecycle) Hooks {
	if l == nil {
		return Hooks{}
	}
	return Hooks{PreDelete: l.PreDelete, InPlaceUpdate: l.InPlaceUpdate, PreNormal: l.PreNormal, Declared: true}
}

// MarksNotReady tells whether a Pod held by one of the hooks that may is made unready.
func (h Hooks) MarksNotReady() bool { return marks(h.PreDelete) || marks(h.InPlaceUpdate) }

func marks(hook *v1beta1.LifecycleHook) bool { return hook != nil && hook.MarkPodNotReady }

// Any tells whether the Pod carries any of the hook's finalizers or labels, with exactly the label's value. A hook that
// is nil or empty holds nothing.
func Any(hook *v1beta1.LifecycleHook, pod *corev1.Pod) bool {
	if hook == nil {
		return false
	}
	for key, value := range hook.LabelsHandler {
		if has(pod, key, value) {
			return true
		}
	}
	return slices.ContainsFunc(hook.FinalizersHandler, func(f string) bool { return slices.Contains(pod.Finalizers, f) })
}

// All tells whether the Pod carries all of the hook's finalizers and labels. Nil is not carried; an empty hook is.
func All(hook *v1beta1.LifecycleHook, pod *corev1.Pod) bool {
	if hook == nil {
		return false
	}
	for key, value := range hook.LabelsHandler {
		if !has(pod, key, value) {
			return false
		}
	}
	return !slices.ContainsFunc(hook.FinalizersHandler, func(f string) bool { return !slices.Contains(pod.Finalizers, f) })
}

func has(pod *corev1.Pod, key, value string) bool {
	got, there := pod.Labels[key]
	return there && got == value
}

// Enter adds a change of state to a patch.
func Enter(patch *podpatch.Patch, state v1beta1.LifecycleStateType, now time.Time) *podpatch.Patch {
	return patch.Label(v1beta1.LifecycleStateLabel, string(state)).
		Annotate(v1beta1.LifecycleTimestampAnnotation, now.UTC().Format(time.RFC3339))
}

// Restore adds the hook's labels and finalizers to a patch, so that it holds the Pod again.
func Restore(patch *podpatch.Patch, hook *v1beta1.LifecycleHook, pod *corev1.Pod) *podpatch.Patch {
	for _, key := range slices.Sorted(maps.Keys(hook.LabelsHandler)) {
		patch.Label(key, hook.LabelsHandler[key])
	}
	for _, f := range hook.FinalizersHandler {
		if !slices.Contains(pod.Finalizers, f) {
			patch.AddFinalizers(f)
		}
	}
	return patch
}
