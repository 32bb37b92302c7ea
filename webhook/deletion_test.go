package webhook_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/webhook"
	"github.com/fairlead-io/fairlead/webhook/admission"
	"github.com/fairlead-io/fairlead/webhook/table"
)

// The rows (P) of webhook-server.md §1, and those of our own workloads: name, path, groups, versions, resource, failure
// policy.
const protected = `
vbuiltindeployment.kb.io /validate-apps-deployment apps v1 deployments Ignore
vbuiltinreplicaset.kb.io /validate-apps-replicaset apps v1 replicasets Ignore
vbuiltinstatefulset.kb.io /validate-apps-statefulset apps v1 statefulsets Ignore
vcustomresourcedefinition.kb.io /validate-customresourcedefinition apiextensions.k8s.io v1,v1beta1 customresourcedefinitions Ignore
vnamespace.kb.io /validate-namespace core v1 namespaces Ignore
vservice.kb.io /validate-service core v1 services Ignore
vingress.kb.io /validate-ingress networking.k8s.io v1,v1beta1 ingresses Ignore
vclonesetdeletion.kb.io /validate-apps-kruise-io-cloneset-deletion apps.kruise.io v1alpha1,v1beta1 clonesets Fail
vstatefulsetdeletion.kb.io /validate-apps-kruise-io-statefulset-deletion apps.kruise.io v1alpha1,v1beta1 statefulsets Fail
vuniteddeploymentdeletion.kb.io /validate-apps-kruise-io-uniteddeployment-deletion apps.kruise.io v1alpha1,v1beta1 uniteddeployments Fail
`

func isDeletion(entry table.Entry) bool { return entry.Rules[0].Operations[0] == admissionv1.Delete }

func TestDeletionEntries(t *testing.T) {
	notSystem := []metav1.LabelSelectorRequirement{{Key: "kubernetes.io/metadata.name", Operator: "NotIn", Values: []string{"kube-system"}}}
	labelled := []metav1.LabelSelectorRequirement{{Key: "policy.kruise.io/delete-protection", Operator: "Exists"}}
	var got strings.Builder
	got.WriteByte('\n')
	for _, entry := range webhook.Entries(webhook.Deps{Deletion: saying("deletion"), Gates: off{}}) {
		if !isDeletion(entry) {
			continue
		}
		rule := entry.Rules[0]
		group := rule.APIGroups[0]
		if group == "" {
			group = "core"
		}
		fmt.Fprintln(&got, entry.Name, entry.Path, group, strings.Join(rule.APIVersions, ","), rule.Resources[0], entry.FailurePolicy)
		config := table.Config{}.Render([]table.Entry{entry}, false, table.Target{})
		rendered := config.Webhooks[0]
		if diff := cmp.Diff(labelled, rendered.ObjectSelector.MatchExpressions); diff != "" {
			t.Errorf("%s: object selector (-want +got):\n%s", entry.Name, diff)
		}
		want := notSystem
		if rule.APIGroups[0] == "apps.kruise.io" {
			want = nil
		}
		if diff := cmp.Diff(want, rendered.NamespaceSelector.MatchExpressions); diff != "" {
			t.Errorf("%s: namespace selector (-want +got):\n%s", entry.Name, diff)
		}
		if entry.Mutating || len(entry.Rules) != 1 || len(rule.Operations) != 1 || len(rule.Resources) != 1 || *rendered.SideEffects != "NoneOnDryRun" {
			t.Errorf("entry %+v", entry)
		}
		if answer := entry.Handler.Handle(t.Context(), &admission.Request{}); answer.Warnings[0] != "deletion" {
			t.Errorf("%s has another handler", entry.Name)
		}
	}
	if diff := cmp.Diff(protected, got.String()); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

func TestItsGateSwitchesDeletionProtection(t *testing.T) {
	for _, entry := range webhook.Entries(webhook.Deps{Gates: off{features.ResourcesDeletionProtection: true}}) {
		if isDeletion(entry) {
			t.Errorf("%s is there", entry.Name)
		}
	}
	with := webhook.Entries(webhook.Deps{Gates: off{features.PodWebhook: true}})
	found := 0
	for _, entry := range with {
		if isDeletion(entry) {
			found++
		}
	}
	if found != 10 {
		t.Errorf("without the Pod webhook there are %d entries of deletion protection, want 10", found)
	}
}
