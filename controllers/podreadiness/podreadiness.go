// Package podreadiness turns on the condition of the readiness gate that admission gives to Pods
// (pod-admission.md §2.1). A Pod with the gate and without the condition would never be Ready.
package podreadiness

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// wants tells whether a Pod waits for its first condition. One that is there, True or False, belongs to those who hold
// the Pod unready.
func wants(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Spec.ReadinessGates, ours) &&
		!slices.ContainsFunc(pod.Status.Conditions, isCondition)
}

const (
	// ownerPatience is how long a Pod of a CloneSet may have had its node before its first condition is set here. The
	// CloneSet's controller is in this process, and late only when much is to do: 5,000 Pods take minutes at the default
	// limits of requests. Then a second write would make it later, and the Pod could not be ready before it anyway.
	ownerPatience = 5 * time.Minute
	// notYet is how long to leave a Pod alone that has no node; its event comes when it has.
	notYet = time.Hour
)

// leftToOwner is how long to leave a Pod's first condition to the controller of its CloneSet, which opens two gates of a
// new Pod with one write. The Pod could not be ready before that anyway.
func leftToOwner(pod *corev1.Pod, now time.Time) time.Duration {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil || owner.Kind != "CloneSet" || !strings.HasPrefix(owner.APIVersion, v1beta1.GroupVersion.Group+"/") ||
		!slices.ContainsFunc(pod.Spec.ReadinessGates, isOwners) || slices.ContainsFunc(pod.Status.Conditions, isOwnersCondition) {
		return 0
	}
	if pod.Spec.NodeName == "" {
		return notYet
	}
	since := pod.CreationTimestamp.Time
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.LastTransitionTime.After(since) {
			since = c.LastTransitionTime.Time
		}
	}
	return max(since.Add(ownerPatience).Sub(now), 0)
}

func isOwners(gate corev1.PodReadinessGate) bool {
	return gate.ConditionType == v1beta1.InPlaceUpdateReady
}

func isOwnersCondition(c corev1.PodCondition) bool { return c.Type == v1beta1.InPlaceUpdateReady }

func ours(gate corev1.PodReadinessGate) bool { return gate.ConditionType == v1beta1.KruisePodReady }

func isCondition(c corev1.PodCondition) bool { return c.Type == v1beta1.KruisePodReady }

// Keep takes what wants and leftToOwner read into the cache.
func Keep(kept, pod *corev1.Pod) {
	kept.CreationTimestamp = pod.CreationTimestamp
	kept.OwnerReferences = pod.OwnerReferences
	kept.Spec.NodeName = pod.Spec.NodeName
	for _, gate := range pod.Spec.ReadinessGates {
		if ours(gate) || isOwners(gate) {
			kept.Spec.ReadinessGates = append(kept.Spec.ReadinessGates, gate)
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled {
			kept.Status.Conditions = append(kept.Status.Conditions, corev1.PodCondition{Type: c.Type, LastTransitionTime: c.LastTransitionTime})
		}
		if isCondition(c) || isOwnersCondition(c) {
			kept.Status.Conditions = append(kept.Status.Conditions, corev1.PodCondition{Type: c.Type, Status: c.Status})
		}
	}
}
