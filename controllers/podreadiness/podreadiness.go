// Package podreadiness turns on the condition of the readiness gate that admission gives to Pods
// (pod-admission.md §2.1). A Pod with the gate and without the condition would never be Ready.
package podreadiness

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// wants tells whether a Pod waits for its first condition. One that is there, True or False, belongs to those who hold
// the Pod unready.
func wants(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Spec.ReadinessGates, ours) &&
		!slices.ContainsFunc(pod.Status.Conditions, isCondition)
}

func ours(gate corev1.PodReadinessGate) bool { return gate.ConditionType == v1beta1.KruisePodReady }

func isCondition(c corev1.PodCondition) bool { return c.Type == v1beta1.KruisePodReady }

// Keep takes what wants reads into the cache.
func Keep(kept, pod *corev1.Pod) {
	if i := slices.IndexFunc(pod.Spec.ReadinessGates, ours); i >= 0 {
		kept.Spec.ReadinessGates = append(kept.Spec.ReadinessGates, pod.Spec.ReadinessGates[i])
	}
	if i := slices.IndexFunc(pod.Status.Conditions, isCondition); i >= 0 {
		kept.Status.Conditions = append(kept.Status.Conditions, corev1.PodCondition{
			Type: v1beta1.KruisePodReady, Status: pod.Status.Conditions[i].Status,
		})
	}
}
