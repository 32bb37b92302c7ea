package webhook_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/component-base/featuregate"

	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/webhook"
	"github.com/fairlead-io/fairlead/webhook/admission"
	"github.com/fairlead-io/fairlead/webhook/table"
)

type off map[featuregate.Feature]bool

func (o off) Enabled(feature featuregate.Feature) bool { return !o[feature] }

func saying(what string) admission.Handler {
	return admission.HandlerFunc(func(context.Context, *admission.Request) admission.Response {
		return admission.Allow(what)
	})
}

// The rows of webhook-server.md §1 whose features are there.
func TestEntriesAreThoseOfTheSpecification(t *testing.T) {
	type row struct {
		Name, Path                             string
		Mutating                               bool
		Groups, Versions, Resources, Operation []string
		FailurePolicy                          string
		Namespaces                             table.Namespaces
		Reinvocation                           string
		Conditions                             string
		Answers                                string
	}
	want := []row{
		{
			Name: "mpod.kb.io", Path: "/mutate-pod", Mutating: true,
			Groups: []string{""}, Versions: []string{"v1"}, Resources: []string{"pods"}, Operation: []string{"CREATE"},
			Namespaces: table.TenantNamespaces, Reinvocation: "IfNeeded", Answers: "pods",
		},
		{
			Name: "msidecarset.kb.io", Path: "/mutate-apps-kruise-io-sidecarset", Mutating: true,
			Groups: []string{"apps.kruise.io"}, Versions: []string{"v1alpha1", "v1beta1"},
			Resources: []string{"sidecarsets"}, Operation: []string{"CREATE", "UPDATE"}, Answers: "sidecarset defaults",
			Conditions: "not-being-deleted",
		},
		{
			Name: "mcontainerrecreaterequest.kb.io", Path: "/mutate-apps-kruise-io-containerrecreaterequest", Mutating: true,
			Groups: []string{"apps.kruise.io"}, Versions: []string{"v1alpha1", "v1beta1"},
			Resources: []string{"containerrecreaterequests"}, Operation: []string{"CREATE", "UPDATE"}, Answers: "capture",
			Conditions: "not-being-deleted",
		},
		{
			Name: "vsidecarset.kb.io", Path: "/validate-apps-kruise-io-sidecarset",
			Groups: []string{"apps.kruise.io"}, Versions: []string{"v1alpha1", "v1beta1"},
			Resources: []string{"sidecarsets"}, Operation: []string{"CREATE", "UPDATE"}, Answers: "rules of SidecarSet",
			Conditions: "not-being-deleted spec-labels-or-annotations-changed",
		},
		{
			Name: "vcontainerrecreaterequest.kb.io", Path: "/validate-apps-kruise-io-containerrecreaterequest",
			Groups: []string{"apps.kruise.io"}, Versions: []string{"v1alpha1", "v1beta1"},
			Resources: []string{"containerrecreaterequests"}, Operation: []string{"CREATE", "UPDATE"}, Answers: "rules of ContainerRecreateRequest",
			Conditions: "not-being-deleted spec-labels-or-annotations-changed",
		},
	}
	var got []row
	for _, entry := range webhook.Entries(webhook.Deps{
		Pods: saying("pods"), SidecarSetDefaults: saying("sidecarset defaults"), ContainerRecreate: saying("capture"), Gates: off{},
		Rules: func(kind string) admission.Handler { return saying("rules of " + kind) },
	}) {
		if isDeletion(entry) || isDisruption(entry) || ofKind(entry) {
			continue // TestDeletionEntries, TestDisruptionEntries and TestEntriesOfKinds have those
		}
		rule := entry.Rules[0]
		got = append(got, row{
			Name: entry.Name, Path: entry.Path, Mutating: entry.Mutating,
			Groups: rule.APIGroups, Versions: rule.APIVersions, Resources: rule.Resources, Operation: spell(rule.Operations),
			FailurePolicy: string(entry.FailurePolicy), Namespaces: entry.Namespaces,
			Reinvocation: string(entry.ReinvocationPolicy),
			Conditions:   conditions(entry),
			Answers:      entry.Handler.Handle(t.Context(), &admission.Request{}).Warnings[0],
		})
		if len(entry.Rules) != 1 {
			t.Errorf("%s has %d rules", entry.Name, len(entry.Rules))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

func TestPodWebhookGateSwitchesThePodEntryOnly(t *testing.T) {
	entries := slices.DeleteFunc(webhook.Entries(webhook.Deps{Gates: off{features.PodWebhook: true, features.ResourcesDeletionProtection: true}}), ofKind)
	if diff := cmp.Diff([]string{"msidecarset.kb.io", "mcontainerrecreaterequest.kb.io", "vsidecarset.kb.io", "vcontainerrecreaterequest.kb.io"}, table.Names(entries)); diff != "" {
		t.Error(diff)
	}
}

func TestEveryGateOfTheTableExists(t *testing.T) {
	gates := features.New("")
	for _, entry := range webhook.All(webhook.Deps{}) {
		if entry.Gate != "" {
			gates.Enabled(entry.Gate) // panics if it does not exist
		}
	}
}

func conditions(entry table.Entry) string {
	var names []string
	for _, condition := range entry.MatchConditions {
		names = append(names, condition.Name)
	}
	return strings.Join(names, " ")
}

func spell(operations []admissionv1.OperationType) []string {
	var words []string
	for _, operation := range operations {
		words = append(words, string(operation))
	}
	return words
}
