package webhook_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/webhook"
	"github.com/fairlead-io/fairlead/webhook/admission"
	"github.com/fairlead-io/fairlead/webhook/table"
)

func isDisruption(entry table.Entry) bool { return entry.Path == "/validate-pod" }

// The rows of pod-admission.md §1, with the subresource for resizes that §4.1 asks for.
func TestDisruptionEntries(t *testing.T) {
	var got []string
	for _, entry := range webhook.Entries(webhook.Deps{Budgets: saying("budgets"), Gates: off{}}) {
		if !isDisruption(entry) {
			continue
		}
		row := []string{entry.Name}
		for _, rule := range entry.Rules {
			row = append(row, rule.Resources[0], strings.Join(spell(rule.Operations), "+"))
		}
		got = append(got, strings.Join(append(row, conditions(entry)), " "))
		if entry.Mutating || entry.FailurePolicy != "" || entry.Namespaces != table.TenantNamespaces || entry.SideEffects != "NoneOnDryRun" ||
			entry.Handler.Handle(t.Context(), &admission.Request{}).Warnings[0] != "budgets" {
			t.Errorf("%+v", entry)
		}
	}
	want := []string{
		"vpod.kb.io pods UPDATE+DELETE pods/resize UPDATE under-a-budget running-and-ready spec-or-availability-changed",
		"vpodeviction.kb.io pods/eviction CREATE ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, entry := range webhook.Entries(webhook.Deps{Gates: off{features.PodWebhook: true}}) {
		if isDisruption(entry) {
			t.Errorf("without the Pod webhook there is %s", entry.Name)
		}
	}
}
