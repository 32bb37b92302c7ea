package articles

import (
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// asked compares what the verdicts say acts on each kind with the webhooks that are registered for it: a verdict must be
// written anew when the service begins to judge or to change a kind that was only stored.
func asked(w *world) {
	mutating, e1 := w.client.AdmissionregistrationV1().MutatingWebhookConfigurations().List(w.Context(), metav1.ListOptions{})
	validating, e2 := w.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().List(w.Context(), metav1.ListOptions{})
	if e1 != nil || e2 != nil {
		w.Fatal(e1, e2)
	}
	changed, judged := map[string]bool{}, map[string]bool{}
	for _, configuration := range mutating.Items {
		for _, webhook := range configuration.Webhooks {
			created(webhook.Rules, changed)
		}
	}
	for _, configuration := range validating.Items {
		for _, webhook := range configuration.Webhooks {
			created(webhook.Rules, judged)
		}
	}
	for _, v := range load(w.T) {
		object := parse(w.T, v.File)
		group, _, _ := strings.Cut(object["apiVersion"].(string), "/")
		resource := strings.ToLower(object["kind"].(string)) + "s." + group
		by := func(names ...string) bool {
			return slices.ContainsFunc(v.By, func(name string) bool { return slices.Contains(names, name) })
		}
		switch {
		case group != "apps.kruise.io":
			continue
		case by("stored") && (changed[resource] || judged[resource]):
			w.Errorf("%s: %s are not only stored: changed %t, judged %t", v.File, resource, changed[resource], judged[resource])
		case by("defaulting", "capture") && !changed[resource], by("validation") && !judged[resource]:
			w.Errorf("%s: of %v: %s are changed %t, judged %t", v.File, v.By, resource, changed[resource], judged[resource])
		}
	}
}

// created adds the resources whose creation rules ask about.
func created(rules []admissionv1.RuleWithOperations, to map[string]bool) {
	for _, rule := range rules {
		if !slices.Contains(rule.Operations, admissionv1.Create) && !slices.Contains(rule.Operations, admissionv1.OperationAll) {
			continue
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				to[resource+"."+group] = true
			}
		}
	}
}
