package coverage

import (
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
)

func webhook(change func(*admissionv1.MutatingWebhook)) *admissionv1.MutatingWebhook {
	w := &admissionv1.MutatingWebhook{
		Rules: []admissionv1.RuleWithOperations{{
			Operations: []admissionv1.OperationType{admissionv1.Create},
			Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
		}},
	}
	change(w)
	return w
}

func pods() Request {
	return Request{
		Operation: admissionv1.Create, Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Namespaced: true,
		Namespace: labels.Set{"kubernetes.io/metadata.name": "shop"}, Objects: []labels.Set{{"app": "web"}},
	}
}

func notIn(key, value string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: metav1.LabelSelectorOpNotIn, Values: []string{value}}}}
}

// The cases are those of the API's documentation of webhook rules and selectors.
func TestOf(t *testing.T) {
	for _, tt := range []struct {
		name    string
		webhook func(*admissionv1.MutatingWebhook)
		request func(*Request)
		why     string // "" is called
	}{
		{"its rule", nil, nil, ""},
		{"another operation", nil, func(r *Request) { r.Operation = admissionv1.Delete }, "no DELETE of pods"},
		{"every operation", func(w *admissionv1.MutatingWebhook) { w.Rules[0].Operations[0] = "*" }, func(r *Request) { r.Operation = admissionv1.Delete }, ""},
		{"another group", nil, func(r *Request) { r.Resource.Group = "apps" }, "no CREATE of pods.apps"},
		{"another resource", nil, func(r *Request) { r.Resource.Resource = "services" }, "no CREATE of services"},
		{"another version", nil, func(r *Request) { r.Resource.Version = "v2" }, ""},
		{"another version, exactly", func(w *admissionv1.MutatingWebhook) { w.MatchPolicy = ptr.To(admissionv1.Exact) },
			func(r *Request) { r.Resource.Version = "v2" }, "no CREATE"},
		{"a subresource", nil, func(r *Request) { r.Subresource = "eviction" }, "no CREATE"},
		{"a subresource of the rule", func(w *admissionv1.MutatingWebhook) { w.Rules[0].Resources[0] = "pods/eviction" },
			func(r *Request) { r.Subresource = "eviction" }, ""},
		{"no subresource", func(w *admissionv1.MutatingWebhook) { w.Rules[0].Resources[0] = "pods/*" }, nil, "no CREATE"},
		{"all subresources", func(w *admissionv1.MutatingWebhook) { w.Rules[0].Resources[0] = "pods/*" },
			func(r *Request) { r.Subresource = "eviction" }, ""},
		{"all resources", func(w *admissionv1.MutatingWebhook) { w.Rules[0].Resources[0] = "*" }, nil, ""},
		{"all resources but no subresources", func(w *admissionv1.MutatingWebhook) { w.Rules[0].Resources[0] = "*" },
			func(r *Request) { r.Subresource = "eviction" }, "no CREATE"},
		{"everything", func(w *admissionv1.MutatingWebhook) { w.Rules[0].Resources[0] = "*/*" }, func(r *Request) { r.Subresource = "eviction" }, ""},
		{"everything, and the resource itself", func(w *admissionv1.MutatingWebhook) { w.Rules[0].Resources[0] = "*/*" }, nil, ""},
		{"only cluster-scoped", func(w *admissionv1.MutatingWebhook) { w.Rules[0].Scope = ptr.To(admissionv1.ClusterScope) }, nil, "no CREATE"},
		{"only namespaced", func(w *admissionv1.MutatingWebhook) { w.Rules[0].Scope = ptr.To(admissionv1.NamespacedScope) }, nil, ""},
		{"a namespace left out", func(w *admissionv1.MutatingWebhook) {
			w.NamespaceSelector = notIn("kubernetes.io/metadata.name", "shop")
		}, nil,
			"namespaceSelector leaves the namespace out: kubernetes.io/metadata.name notin (shop)"},
		{"no namespace to leave out", func(w *admissionv1.MutatingWebhook) {
			w.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
		},
			func(r *Request) { r.Namespace, r.Namespaced = nil, false }, ""},
		{"an object left out", func(w *admissionv1.MutatingWebhook) { w.ObjectSelector = notIn("app", "web") }, nil, "objectSelector leaves the object out"},
		{"the old object counts", func(w *admissionv1.MutatingWebhook) { w.ObjectSelector = notIn("app", "web") },
			func(r *Request) { r.Objects = append(r.Objects, labels.Set{}) }, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, r := webhook(func(w *admissionv1.MutatingWebhook) {
				if tt.webhook != nil {
					tt.webhook(w)
				}
			}), pods()
			if tt.request != nil {
				tt.request(&r)
			}
			got := Of(w, r)
			if got.Called != (tt.why == "") || !strings.Contains(got.Why, tt.why) {
				t.Errorf("%+v, want %q", got, tt.why)
			}
		})
	}
}

func TestMatchConditionsAreNamed(t *testing.T) {
	w := webhook(func(w *admissionv1.MutatingWebhook) {
		w.MatchConditions = []admissionv1.MatchCondition{{Name: "c", Expression: "object.spec.hostNetwork"}}
	})
	if got := Of(w, pods()); !got.Called || len(got.Unsure) != 1 || got.Unsure[0] != "object.spec.hostNetwork" {
		t.Errorf("%+v", got)
	}
}
