package podunavailablebudget

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	pub "github.com/fairlead-io/fairlead/protection/podunavailablebudget"
)

// Keep takes into the cache what the controller reads of Pods: of those under a budget what tells whether they are available,
// of all others what tells whether they should be. It comes last, as it takes over whole lists that others take parts of.
func Keep(kept, pod *corev1.Pod) {
	kept.Labels = pod.Labels
	kept.OwnerReferences = pod.OwnerReferences
	kept.Status.Phase = pod.Status.Phase
	if pub.Related(pod.Annotations) == "" {
		keepReady(kept, pod)
		return
	}
	kept.Annotations = pod.Annotations
	kept.Spec.Containers = pod.Spec.Containers
	kept.Status.Conditions = pod.Status.Conditions
	kept.Status.ContainerStatuses = pod.Status.ContainerStatuses
}

func keepReady(kept, pod *corev1.Pod) {
	isReady := func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady }
	i := slices.IndexFunc(pod.Status.Conditions, isReady)
	if i >= 0 && !slices.ContainsFunc(kept.Status.Conditions, isReady) {
		kept.Status.Conditions = append(kept.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: pod.Status.Conditions[i].Status})
	}
}
