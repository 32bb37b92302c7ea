// Package podstate answers what all workloads ask of a Pod: does it count, is it ready, is it available, is it to go
// (cloneset.md §1.5, statefulset.md §9).
package podstate

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// Active tells whether a Pod counts: it has neither ended nor been asked to.
func Active(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// Condition is the Pod's condition of a type, nil if it has none.
func Condition(pod *corev1.Pod, conditionType corev1.PodConditionType) *corev1.PodCondition {
	i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == conditionType })
	if i < 0 {
		return nil
	}
	return &pod.Status.Conditions[i]
}

// IsTrue tells whether the Pod has the condition and it is True.
func IsTrue(pod *corev1.Pod, conditionType corev1.PodConditionType) bool {
	c := Condition(pod, conditionType)
	return c != nil && c.Status == corev1.ConditionTrue
}

// HasGate tells whether the Pod's readiness waits for a condition.
func HasGate(pod *corev1.Pod, conditionType corev1.PodConditionType) bool {
	return slices.ContainsFunc(pod.Spec.ReadinessGates, func(g corev1.PodReadinessGate) bool { return g.ConditionType == conditionType })
}

// ConditionReady tells whether the kubelet says so, whatever we do to the Pod.
func ConditionReady(pod *corev1.Pod) bool { return IsTrue(pod, corev1.PodReady) }

// Ready is the readiness of the counts in a status: running, Ready, and not being updated in place. The kubelet may
// not have seen the last of these yet. The state of the lifecycle does not matter.
func Ready(pod *corev1.Pod) bool {
	updating := Condition(pod, v1beta1.InPlaceUpdateReady)
	return pod.Status.Phase == corev1.PodRunning && ConditionReady(pod) &&
		(updating == nil || updating.Status == corev1.ConditionTrue)
}

// Lifecycle is the Pod's state in the lifecycle of its workload; a Pod from before there was one has "".
func Lifecycle(pod *corev1.Pod) v1beta1.LifecycleStateType {
	return v1beta1.LifecycleStateType(pod.Labels[v1beta1.LifecycleStateLabel])
}

// InService tells whether nothing of the lifecycle keeps the Pod from being available.
func InService(pod *corev1.Pod) bool {
	state := Lifecycle(pod)
	return state == "" || state == v1beta1.LifecycleStateNormal
}

// Healthy is Ready and InService.
func Healthy(pod *corev1.Pod) bool { return InService(pod) && Ready(pod) }

// Service is how a version of a Pod serves: what of its availability does not depend on the time.
type Service struct {
	Ready, Healthy bool
	// Since is from when on a healthy Pod is ready.
	Since time.Time
}

// ServiceOf is that of a Pod.
func ServiceOf(pod *corev1.Pod) Service {
	s := Service{Ready: Ready(pod)}
	if s.Ready && InService(pod) {
		s.Healthy, s.Since = true, Condition(pod, corev1.PodReady).LastTransitionTime.Time
	}
	return s
}

// Available tells whether the Pod has been ready for minReady and is in service. If only time is missing, wait is how
// much.
func (s Service) Available(minReady time.Duration, now time.Time) (available bool, wait time.Duration) {
	if !s.Healthy || minReady <= 0 {
		return s.Healthy, 0
	}
	if wait = s.Since.Add(minReady).Sub(now); wait > 0 {
		return false, wait
	}
	return true, 0
}

// SpecifiedDelete tells whether someone asked for the Pod's deletion by the label, whose value does not matter.
func SpecifiedDelete(pod *corev1.Pod) bool {
	_, asked := pod.Labels[v1beta1.SpecifiedDeleteLabel]
	return asked
}
