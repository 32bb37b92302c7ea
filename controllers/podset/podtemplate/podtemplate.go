// Package podtemplate makes new Pods of workloads from their template. Nothing of a Pod is shared with the template: it
// comes from a cache, and many Pods are made of it at once.
package podtemplate

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/controllers/podset/podstate"
)

// New is a Pod of the template with labels, annotations and finalizers, and no name yet.
func New(template *corev1.PodTemplateSpec, namespace string, owner metav1.OwnerReference) *corev1.Pod {
	template = template.DeepCopy()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Labels: template.Labels, Annotations: template.Annotations, Finalizers: template.Finalizers,
			OwnerReferences: []metav1.OwnerReference{owner},
		},
		Spec: template.Spec,
	}
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	return pod
}

// AddGate makes the Pod's readiness wait for a condition, once.
func AddGate(pod *corev1.Pod, condition corev1.PodConditionType) {
	if !podstate.HasGate(pod, condition) {
		pod.Spec.ReadinessGates = append(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: condition})
	}
}
