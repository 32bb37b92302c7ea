package cloneset

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/test/perturb/apiserver"
)

// operate is a user's operator that keeps a registry of Pods: it registers new ones, takes one out before it is deleted
// or updated, and back in after its update. It does one thing and tells what.
func operate(s *apiserver.Server) string {
	set := theSet(s)
	if set != nil && set.Spec.Lifecycle == nil {
		return ""
	}
	for _, pod := range s.Pods() {
		changed := pod.DeepCopy()
		serve(set, changed)
		if slices.Equal(changed.Finalizers, pod.Finalizers) && changed.Labels[hold] == pod.Labels[hold] && changed.Labels[registered] == pod.Labels[registered] {
			continue
		}
		_ = s.Edit(s.KeyOf(pod), func(obj client.Object) {
			obj.SetFinalizers(changed.Finalizers)
			obj.SetLabels(changed.Labels)
		})
		return "operator answers Pod " + pod.Name
	}
	return ""
}

// serve is what the operator wants of a Pod.
func serve(set *v1beta1.CloneSet, pod *corev1.Pod) {
	state := v1beta1.LifecycleStateType(pod.Labels[v1beta1.LifecycleStateLabel])
	switch {
	case set == nil || pod.DeletionTimestamp != nil:
		pod.Finalizers = slices.DeleteFunc(pod.Finalizers, func(f string) bool { return f == hold })
	case state == v1beta1.LifecycleStatePreparingDelete, state == v1beta1.LifecycleStatePreparingUpdate:
		pod.Finalizers = slices.DeleteFunc(pod.Finalizers, func(f string) bool { return f == hold })
		delete(pod.Labels, hold)
	case state == v1beta1.LifecycleStateUpdated && set.Spec.Lifecycle.InPlaceUpdate != nil:
		hook := set.Spec.Lifecycle.InPlaceUpdate
		for label, value := range hook.LabelsHandler {
			pod.Labels[label] = value
		}
		for _, finalizer := range hook.FinalizersHandler {
			if !slices.Contains(pod.Finalizers, finalizer) {
				pod.Finalizers = append(pod.Finalizers, finalizer)
			}
		}
	case state == v1beta1.LifecycleStatePreparingNormal && set.Spec.Lifecycle.PreNormal != nil:
		pod.Labels[registered] = "true"
	}
}
