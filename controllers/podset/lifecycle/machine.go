package lifecycle

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/podset/podstate"
	"github.com/fairlead-io/fairlead/controllers/podset/readiness"
)

// Facts are what the machine cannot see of a Pod itself.
type Facts struct {
	// AtTarget tells whether the Pod is at the revision that it would be moved to: the update revision, or the current
	// one in a rollback by partition.
	AtTarget bool
	// Updated tells whether the Pod's in-place update is complete.
	Updated bool
}

// Rests tells whether Next leaves the Pod in its state, whatever the hooks and the facts are.
func Rests(pod *corev1.Pod) bool {
	switch podstate.Lifecycle(pod) {
	case v1beta1.LifecycleStatePreparingNormal, v1beta1.LifecycleStatePreparingUpdate, v1beta1.LifecycleStateUpdating, v1beta1.LifecycleStateUpdated:
		return false
	default:
		return true
	}
}

// Next is the state that a Pod goes to without having been chosen for anything, false if it stays.
func Next(pod *corev1.Pod, hooks Hooks, facts Facts) (v1beta1.LifecycleStateType, bool) {
	switch podstate.Lifecycle(pod) {
	case v1beta1.LifecycleStatePreparingNormal:
		if !AwaitsScheduler(pod, hooks) && (hooks.PreNormal == nil || All(hooks.PreNormal, pod)) {
			return v1beta1.LifecycleStateNormal, true
		}
	case v1beta1.LifecycleStatePreparingUpdate:
		if facts.AtTarget {
			return hooks.afterUpdate(pod), true
		}
	case v1beta1.LifecycleStateUpdating:
		if facts.Updated {
			return hooks.afterUpdate(pod), true
		}
	case v1beta1.LifecycleStateUpdated:
		if hooks.InPlaceUpdate == nil || All(hooks.InPlaceUpdate, pod) {
			return v1beta1.LifecycleStateNormal, true
		}
	case v1beta1.LifecycleStateNormal, v1beta1.LifecycleStatePreparingDelete:
	}
	return "", false
}

// AwaitsScheduler tells whether a new Pod is left alone until it has a node, as it is without a hook: some schedulers take
// a changed label during scheduling amiss.
func AwaitsScheduler(pod *corev1.Pod, hooks Hooks) bool {
	return hooks.PreNormal == nil && pod.Spec.NodeName == "" && podstate.Lifecycle(pod) == v1beta1.LifecycleStatePreparingNormal
}

func (h Hooks) afterUpdate(pod *corev1.Pod) v1beta1.LifecycleStateType {
	if !h.Declared || All(h.InPlaceUpdate, pod) {
		return v1beta1.LifecycleStateNormal
	}
	return v1beta1.LifecycleStateUpdated
}

// Stale are the reasons for which the Pod is held unready that its state no longer justifies, whatever the hooks are
// now: nobody else would ever remove them.
func Stale(pod *corev1.Pod) []readiness.Key {
	state := podstate.Lifecycle(pod)
	var stale []readiness.Key
	updating := state == v1beta1.LifecycleStatePreparingUpdate || state == v1beta1.LifecycleStateUpdating
	if !updating && readiness.Holds(pod, readiness.PreUpdate) {
		stale = append(stale, readiness.PreUpdate)
	}
	if state != v1beta1.LifecycleStatePreparingDelete && readiness.Holds(pod, readiness.PreDelete) {
		stale = append(stale, readiness.PreDelete)
	}
	return stale
}

// Update is what to do with a Pod that was chosen for an in-place update.
type Update int

// The answers.
const (
	// Wait for the hook to let go.
	Wait Update = iota
	// Prepare makes the Pod PreparingUpdate, which asks for the hook's consent.
	Prepare
	// PrepareAgain does so after the hook's labels and finalizers are put back: it has consented to an update before.
	PrepareAgain
	// Start the update.
	Start
)

// ForUpdate is the answer for a Pod; a Pod that waits for its deletion is not updated, and one whose state is unknown
// neither.
func ForUpdate(pod *corev1.Pod, hook *v1beta1.LifecycleHook) (Update, error) {
	switch state := podstate.Lifecycle(pod); state {
	case "", v1beta1.LifecycleStatePreparingNormal, v1beta1.LifecycleStateNormal:
		if Any(hook, pod) {
			return Prepare, nil
		}
		return Start, nil
	case v1beta1.LifecycleStatePreparingUpdate:
		if Any(hook, pod) {
			return Wait, nil
		}
		return Start, nil
	case v1beta1.LifecycleStateUpdating:
		return Start, nil
	case v1beta1.LifecycleStateUpdated:
		if hook == nil {
			return Start, nil
		}
		return PrepareAgain, nil
	case v1beta1.LifecycleStatePreparingDelete:
		return Wait, nil
	default:
		return Wait, fmt.Errorf("reading label %s of Pod %s: state %q is unknown: remove the label, or make it %s",
			v1beta1.LifecycleStateLabel, pod.Name, state, v1beta1.LifecycleStateNormal)
	}
}

// Deletion is what to do with a Pod that is to be deleted.
type Deletion int

// The answers.
const (
	// Delete it.
	Delete Deletion = iota
	// PrepareDelete makes it PreparingDelete, which asks for the hook's consent.
	PrepareDelete
	// AwaitConsent of the hook.
	AwaitConsent
)

// ForDeletion is the answer for a Pod.
func ForDeletion(pod *corev1.Pod, hook *v1beta1.LifecycleHook) Deletion {
	switch {
	case !Any(hook, pod):
		return Delete
	case podstate.Lifecycle(pod) == v1beta1.LifecycleStatePreparingDelete:
		return AwaitConsent
	default:
		return PrepareDelete
	}
}
