package launchpriority

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// holder is whose ConfigMap a Pod finds under the name of its barrier.
type holder int

const (
	nobody      holder = iota // there is none
	leaving                   // it is being deleted
	self                      // the Pod's
	predecessor               // a barrier of an older Pod of that name, whose keys say nothing about this one
	other                     // a ConfigMap that someone uses for something else too; its keys count, and it stays theirs
)

// holderOf tells whose the ConfigMap is. A StatefulSet creates its next Pod of a name at once, before the garbage
// collector has found the barrier of the last one; and a backup restores barriers without their owners.
func holderOf(pod *corev1.Pod, barrier *corev1.ConfigMap) holder {
	if barrier == nil {
		return nobody
	}
	if barrier.DeletionTimestamp != nil {
		return leaving
	}
	owners := barrier.OwnerReferences
	if slices.ContainsFunc(owners, func(o metav1.OwnerReference) bool { return o.UID == pod.UID }) {
		return self
	}
	namesake := func(o metav1.OwnerReference) bool {
		return o.APIVersion == "v1" && o.Kind == "Pod" && o.Name == pod.Name
	}
	if len(owners) > 0 && !slices.ContainsFunc(owners, func(o metav1.OwnerReference) bool { return !namesake(o) }) {
		return predecessor
	}
	if len(owners) == 0 && isOnlyBarrier(barrier) {
		return predecessor
	}
	return other
}

// isOnlyBarrier tells whether a ConfigMap has nothing in it that this controller would not have written.
func isOnlyBarrier(barrier *corev1.ConfigMap) bool {
	if len(barrier.BinaryData) > 0 || (barrier.Immutable != nil && *barrier.Immutable) {
		return false
	}
	for key := range barrier.Data {
		if _, ok := priorityOf(key); !ok {
			return false
		}
	}
	return true
}
