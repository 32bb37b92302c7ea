package podtemplate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAPodSharesNothingWithItsTemplate(t *testing.T) {
	made := func() *corev1.PodTemplateSpec {
		return &corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Name: "not a Pod's", Labels: map[string]string{"a": "1"}, Annotations: map[string]string{"a": "1"}, Finalizers: []string{"f"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}, ReadinessGates: []corev1.PodReadinessGate{{ConditionType: "x"}}},
		}
	}
	template := made()
	owner := metav1.OwnerReference{UID: "u"}
	pod := New(template, "ns", owner)
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Labels: map[string]string{"a": "1"}, Annotations: map[string]string{"a": "1"}, Finalizers: []string{"f"}, OwnerReferences: []metav1.OwnerReference{owner}},
		Spec:       made().Spec,
	}
	if diff := cmp.Diff(want, pod); diff != "" {
		t.Error(diff)
	}
	AddGate(pod, "y")
	AddGate(pod, "y")
	AddGate(pod, "x")
	if diff := cmp.Diff([]corev1.PodReadinessGate{{ConditionType: "x"}, {ConditionType: "y"}}, pod.Spec.ReadinessGates); diff != "" {
		t.Error(diff)
	}
	pod.Labels["a"], pod.Annotations["a"], pod.Finalizers[0], pod.Spec.Containers[0].Name = "2", "2", "2", "2"
	if diff := cmp.Diff(made(), template); diff != "" {
		t.Error(diff)
	}
	bare := New(&corev1.PodTemplateSpec{}, "ns", owner)
	bare.Labels["a"], bare.Annotations["a"] = "1", "1"
}
