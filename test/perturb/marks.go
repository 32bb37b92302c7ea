package perturb

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// mark is the label, annotation, condition and toleration that others give a Pod and that nobody may take away (I10).
const mark = "perturb.test/mark"

var markToleration = corev1.Toleration{Key: mark, Operator: corev1.TolerationOpExists}

// markPods gives all Pods what a controller does not know.
func markPods(r *Run, _ *Process, _ *Call) verdict {
	r.marked = map[types.UID]bool{}
	for _, pod := range r.server.Pods() {
		r.marked[pod.UID] = true
		_ = r.server.Edit(r.server.KeyOf(pod), func(obj client.Object) {
			pod := obj.(*corev1.Pod)
			metav1.SetMetaDataLabel(&pod.ObjectMeta, mark, "true")
			metav1.SetMetaDataAnnotation(&pod.ObjectMeta, mark, "true")
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, markToleration)
			pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: mark, Status: corev1.ConditionTrue})
			pod.OwnerReferences = append(pod.OwnerReferences, metav1.OwnerReference{APIVersion: "perturb.test/v1", Kind: "Mark", Name: "mark", UID: pod.UID})
		})
	}
	return verdict{}
}

// keepsMarks is that Pods still have what they were marked by.
func (r *Run) keepsMarks() error {
	for _, pod := range r.server.Pods() {
		if !r.marked[pod.UID] {
			continue
		}
		owned := slices.ContainsFunc(pod.OwnerReferences, func(ref metav1.OwnerReference) bool { return ref.Kind == "Mark" })
		if pod.Labels[mark] == "" || pod.Annotations[mark] == "" || !conditionTrue(pod, mark) || !owned || !slices.Contains(pod.Spec.Tolerations, markToleration) {
			return fmt.Errorf("I10: the Pod %s has lost what somebody else gave it: labels %v, annotations %v, owners %v", pod.Name, pod.Labels, pod.Annotations, pod.OwnerReferences)
		}
	}
	return nil
}
