// Package readiness plans the conditions by which Fairlead holds a Pod unready while it works on it (cloneset.md §5.2,
// §6.3, §6.4): InPlaceUpdateReady, and KruisePodReady, which several features share.
package readiness

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/podset/podstate"
)

// Key is one reason to hold a Pod unready. The Pod turns ready when the last one is gone.
type Key struct {
	UserAgent string `json:"userAgent"`
	Key       string `json:"key"`
}

// The keys of the lifecycle's hooks.
var (
	PreDelete = Key{UserAgent: v1beta1.KruisePodReadyLifecycleAgent, Key: v1beta1.KruisePodReadyPreDeleteKey}
	PreUpdate = Key{UserAgent: v1beta1.KruisePodReadyLifecycleAgent, Key: v1beta1.KruisePodReadyPreUpdateKey}
)

// keysOf are those in the condition's message. A message that is no list says nothing we could keep.
func keysOf(c *corev1.PodCondition) []Key {
	var keys []Key
	if c == nil || c.Message == "" || c.Message == "[]" || json.Unmarshal([]byte(c.Message), &keys) != nil {
		return nil
	}
	return keys
}

// Holds tells whether the Pod is held for this reason.
func Holds(pod *corev1.Pod, key Key) bool {
	return slices.Contains(keysOf(podstate.Condition(pod, v1beta1.KruisePodReady)), key)
}

// Hold is the conditions to write to hold the Pod for a reason: KruisePodReady, and Ready, so that traffic leaves at
// once. Nothing if the Pod is held for it already or has no gate for it.
func Hold(pod *corev1.Pod, key Key, now time.Time) []corev1.PodCondition {
	if !podstate.HasGate(pod, v1beta1.KruisePodReady) || Holds(pod, key) {
		return nil
	}
	return withReady(pod, now, kruisePodReady(pod, append(keysOf(podstate.Condition(pod, v1beta1.KruisePodReady)), key), now))
}

// Release is the conditions to write to hold the Pod no longer for these reasons, nothing if it is not held for any of
// them. Ready is left to the kubelet, which knows the containers.
func Release(pod *corev1.Pod, now time.Time, reasons ...Key) []corev1.PodCondition {
	held := keysOf(podstate.Condition(pod, v1beta1.KruisePodReady))
	rest := slices.DeleteFunc(slices.Clone(held), func(k Key) bool { return slices.Contains(reasons, k) })
	if len(rest) == len(held) || !podstate.HasGate(pod, v1beta1.KruisePodReady) {
		return nil
	}
	return []corev1.PodCondition{kruisePodReady(pod, rest, now)}
}

func kruisePodReady(pod *corev1.Pod, keys []Key, now time.Time) corev1.PodCondition {
	slices.SortFunc(keys, func(a, b Key) int { return cmp.Or(cmp.Compare(a.UserAgent, b.UserAgent), cmp.Compare(a.Key, b.Key)) })
	if keys == nil {
		keys = []Key{}
	}
	message, err := json.Marshal(keys)
	if err != nil {
		panic(fmt.Sprintf("encoding pairs of strings: %v", err))
	}
	status := corev1.ConditionTrue
	if len(keys) > 0 {
		status = corev1.ConditionFalse
	}
	return transition(pod, corev1.PodCondition{Type: v1beta1.KruisePodReady, Status: status, Message: string(message)}, now)
}

// CloseForUpdate is the conditions that take a Pod out of service before it is updated in place, nothing if it has no
// gate for that. They are to be written even if the Pod shows them: what shows may be older than a write that opened the
// gate.
func CloseForUpdate(pod *corev1.Pod, now time.Time) []corev1.PodCondition {
	if !podstate.HasGate(pod, v1beta1.InPlaceUpdateReady) {
		return nil
	}
	closed := corev1.PodCondition{
		Type: v1beta1.InPlaceUpdateReady, Status: corev1.ConditionFalse, Reason: v1beta1.InPlaceUpdateStartedReason,
	}
	return withReady(pod, now, transition(pod, closed, now))
}

// OpenAfterUpdate is the condition that puts a Pod in service, nothing if it is in service or has no gate for that. The
// write must be for this version of the Pod only, and must not be repeated for a newer one: that may just have begun
// another update.
func OpenAfterUpdate(pod *corev1.Pod, now time.Time) []corev1.PodCondition {
	c := podstate.Condition(pod, v1beta1.InPlaceUpdateReady)
	plain := c != nil && c.Status == corev1.ConditionTrue && c.Reason == "" && c.Message == ""
	if plain || !podstate.HasGate(pod, v1beta1.InPlaceUpdateReady) {
		return nil
	}
	return []corev1.PodCondition{transition(pod, corev1.PodCondition{Type: v1beta1.InPlaceUpdateReady, Status: corev1.ConditionTrue}, now)}
}

// First is the condition KruisePodReady of a Pod that waits for its first one, nothing otherwise.
func First(pod *corev1.Pod, now time.Time) []corev1.PodCondition {
	if !podstate.HasGate(pod, v1beta1.KruisePodReady) || podstate.Condition(pod, v1beta1.KruisePodReady) != nil {
		return nil
	}
	return []corev1.PodCondition{transition(pod, corev1.PodCondition{Type: v1beta1.KruisePodReady, Status: corev1.ConditionTrue}, now)}
}

// transition keeps the time of the last change if there is none.
func transition(pod *corev1.Pod, to corev1.PodCondition, now time.Time) corev1.PodCondition {
	to.LastTransitionTime = metav1.NewTime(now)
	if from := podstate.Condition(pod, to.Type); from != nil && from.Status == to.Status {
		to.LastTransitionTime = from.LastTransitionTime
	}
	return to
}

// withReady adds Ready False if the Pod is Ready only for want of the kubelet having seen the change. Turning it True
// is the kubelet's, and so is a Pod whose containers are not ready. The words are the kubelet's own, so that it finds
// nothing to correct: a write of its would cross the one that we make next.
func withReady(pod *corev1.Pod, now time.Time, changed corev1.PodCondition) []corev1.PodCondition {
	conditions := append(make([]corev1.PodCondition, 0, 2), changed) // and Ready
	ready := podstate.Condition(pod, corev1.PodReady)
	if ready == nil || ready.Status == corev1.ConditionFalse || !podstate.IsTrue(pod, corev1.ContainersReady) {
		return conditions
	}
	var missing []string
	for _, gate := range pod.Spec.ReadinessGates {
		c := podstate.Condition(pod, gate.ConditionType)
		if gate.ConditionType == changed.Type {
			c = &changed
		}
		switch {
		case c == nil:
			missing = append(missing, fmt.Sprintf("corresponding condition of pod readiness gate %q does not exist.", gate.ConditionType))
		case c.Status != corev1.ConditionTrue:
			missing = append(missing, fmt.Sprintf("the status of pod readiness gate %q is not \"True\", but %s", gate.ConditionType, c.Status))
		}
	}
	if len(missing) == 0 {
		return conditions
	}
	return append(conditions, transition(pod, corev1.PodCondition{
		Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: v1beta1.ReadinessGatesNotReadyReason, Message: strings.Join(missing, ", "),
	}, now))
}
