// Package podcache keeps Pods in the cache small: of each one only its identity and what some controller says that it
// reads. A cluster's Pods are most of what a controller process holds.
package podcache

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
)

// Keep adds to kept what a controller reads of a Pod. It must take from a kept Pod what it took from the whole one,
// because informers may transform an object twice.
type Keep func(kept, pod *corev1.Pod)

// Transform makes the transform of the Pod informer. Pods from the cache are therefore partial, and must only be
// changed by patches: an update would erase what is not here.
func Transform(keep ...Keep) toolscache.TransformFunc {
	return func(obj any) (any, error) {
		pod, ok := obj.(*corev1.Pod)
		if !ok {
			return obj, nil
		}
		kept := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace:         pod.Namespace,
			Name:              pod.Name,
			UID:               pod.UID,
			ResourceVersion:   pod.ResourceVersion,
			DeletionTimestamp: pod.DeletionTimestamp,
		}}
		for _, k := range keep {
			k(kept, pod)
		}
		return kept, nil
	}
}
