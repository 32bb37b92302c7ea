package budget

import (
	"bytes"
	"fmt"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1beta1 "github.com/fairlead-io/fairlead/api/policy/v1beta1"
)

// TestUndefaultedWorkloads has workloads that were stored before there were webhooks to fill in spec.replicas. The API server has
// no scale of them; they want one Pod.
func TestUndefaultedWorkloads(t *testing.T) {
	w := newAPI(t)
	// Another test may have left webhooks that nobody answers any more.
	for _, registered := range []client.Object{
		&admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "kruise-anchor"}},
		&admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "kruise-validating-webhook-configuration"}},
		&admissionv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "kruise-mutating-webhook-configuration"}},
	} {
		w.must(client.IgnoreNotFound(w.Delete(t.Context(), registered)))
	}
	kinds := map[string]string{"CloneSet": "clonesets", "StatefulSet": "statefulsets", "UnitedDeployment": "uniteddeployments"}
	for kind, resource := range kinds {
		w.define("apps.kruise.io_" + resource + ".yaml")
		w.undefaulted(kind, resource)
	}
	w.control()
	for _, resource := range kinds {
		w.eventually(func() string {
			if s := w.status(resource); s.TotalReplicas != 1 || s.CurrentAvailable != 1 || s.UnavailableAllowed != 1 {
				return fmt.Sprintf("the budget of %s says %+v, want 1 available of 1, which may go", resource, s)
			}
			return ""
		})
	}
}

// undefaulted makes a workload with one Pod and a budget, all of one name.
func (w *world) undefaulted(kind, name string) {
	w.Helper()
	labels := map[string]string{"app": name}
	template := map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"app": name}},
		"spec":     map[string]any{"containers": []any{map[string]any{"name": "web", "image": "bank.test/web:v1"}}},
	}
	spec := map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"app": name}}}
	if kind == "UnitedDeployment" {
		spec["template"] = map[string]any{"cloneSetTemplate": map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"app": name}}, "spec": map[string]any{"selector": spec["selector"], "template": template},
		}}
		spec["topology"] = map[string]any{"subsets": []any{map[string]any{"name": "a"}}}
	} else {
		spec["template"] = template
	}
	if kind == "CloneSet" { // its controller runs too, and would put a Pod of its template in place of ours
		spec["updateStrategy"] = map[string]any{"rollingUpdate": map[string]any{"paused": true}}
	}
	workload := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps.kruise.io/v1beta1", "kind": kind, "spec": spec}}
	workload.SetNamespace(w.namespace)
	workload.SetName(name)
	w.createNew(workload)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: labels}, Spec: podSpec()}
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(workload, workload.GroupVersionKind())}
	w.must(w.Create(w.Context(), pod))
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
	w.must(w.Status().Update(w.Context(), pod))
	w.must(w.Create(w.Context(), &policyv1beta1.PodUnavailableBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		Spec: policyv1beta1.PodUnavailableBudgetSpec{
			TargetReference: &policyv1beta1.TargetReference{APIVersion: "apps.kruise.io/v1beta1", Kind: kind, Name: name},
			MaxUnavailable:  ptr.To(intstr.FromInt(1)),
		},
	}))
}

// createNew creates an object of a kind that was just defined, of which the API server tells clients a moment later: through kubectl,
// which asks again, unlike a client that knows the group already.
func (w *world) createNew(object *unstructured.Unstructured) {
	w.Helper()
	manifest, err := object.MarshalJSON()
	w.must(err)
	w.eventually(func() string {
		out, err := w.KubectlInput(w.Context(), bytes.NewReader(manifest), "create", "-f", "-", "-o", "json")
		if err != nil {
			return fmt.Sprintf("%v: %s", err, out)
		}
		w.must(object.UnmarshalJSON([]byte(out)))
		return ""
	})
}
