package webhook_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/fairlead-io/fairlead/webhook"
	"github.com/fairlead-io/fairlead/webhook/admission"
	"github.com/fairlead-io/fairlead/webhook/table"
)

// kindEntries are the rows of webhook-server.md §1 for kinds that have defaults and rules only: name, path, versions and
// resource.
var kindEntries = []string{
	"mcloneset.kb.io /mutate-apps-kruise-io-cloneset v1alpha1+v1beta1 clonesets.apps.kruise.io",
	"vcloneset.kb.io /validate-apps-kruise-io-cloneset v1alpha1+v1beta1 clonesets.apps.kruise.io",
	"mstatefulset.kb.io /mutate-apps-kruise-io-statefulset v1alpha1+v1beta1 statefulsets.apps.kruise.io",
	"vstatefulset.kb.io /validate-apps-kruise-io-statefulset v1alpha1+v1beta1 statefulsets.apps.kruise.io",
	"mdaemonset.kb.io /mutate-apps-kruise-io-daemonset v1alpha1+v1beta1 daemonsets.apps.kruise.io",
	"vdaemonset.kb.io /validate-apps-kruise-io-daemonset v1alpha1+v1beta1 daemonsets.apps.kruise.io",
	"mbroadcastjob.kb.io /mutate-apps-kruise-io-broadcastjob v1alpha1+v1beta1 broadcastjobs.apps.kruise.io",
	"vbroadcastjob.kb.io /validate-apps-kruise-io-broadcastjob v1alpha1+v1beta1 broadcastjobs.apps.kruise.io",
	"madvancedcronjob.kb.io /mutate-apps-kruise-io-advancedcronjob v1alpha1+v1beta1 advancedcronjobs.apps.kruise.io",
	"vadvancedcronjob.kb.io /validate-apps-kruise-io-advancedcronjob v1alpha1+v1beta1 advancedcronjobs.apps.kruise.io",
	"muniteddeployment.kb.io /mutate-apps-kruise-io-uniteddeployment v1alpha1+v1beta1 uniteddeployments.apps.kruise.io",
	"vuniteddeployment.kb.io /validate-apps-kruise-io-uniteddeployment v1alpha1+v1beta1 uniteddeployments.apps.kruise.io",
	"vworkloadspread.kb.io /validate-apps-kruise-io-workloadspread v1alpha1+v1beta1 workloadspreads.apps.kruise.io",
	"mimagepulljob-v1beta1.kb.io /mutate-apps-kruise-io-imagepulljob v1alpha1+v1beta1 imagepulljobs.apps.kruise.io",
	"vimagepulljob-v1beta1.kb.io /validate-apps-kruise-io-imagepulljob v1alpha1+v1beta1 imagepulljobs.apps.kruise.io",
	"mimagelistpulljob-v1beta1.kb.io /mutate-apps-kruise-io-imagelistpulljob v1alpha1+v1beta1 imagelistpulljobs.apps.kruise.io",
	"vimagelistpulljob-v1beta1.kb.io /validate-apps-kruise-io-imagelistpulljob v1alpha1+v1beta1 imagelistpulljobs.apps.kruise.io",
	"mnodeimage.kb.io /mutate-apps-kruise-io-nodeimage v1alpha1+v1beta1 nodeimages.apps.kruise.io",
	"vnodeimage.kb.io /validate-apps-kruise-io-nodeimage v1alpha1+v1beta1 nodeimages.apps.kruise.io",
	"vresourcedistribution.kb.io /validate-apps-kruise-io-resourcedistribution v1alpha1+v1beta1 resourcedistributions.apps.kruise.io",
	"vpersistentpodstate.kb.io /validate-apps-kruise-io-persistentpodstate v1alpha1+v1beta1 persistentpodstates.apps.kruise.io",
	"vpodprobemarker.kb.io /validate-apps-kruise-io-podprobemarker v1alpha1 podprobemarkers.apps.kruise.io",
	"vephemeraljobs.kb.io /validate-apps-kruise-io-v1alpha1-ephemeraljob v1alpha1 ephemeraljobs.apps.kruise.io",
	"vpodunavailablebudget.kb.io /validate-policy-kruise-io-podunavailablebudget v1alpha1+v1beta1 podunavailablebudgets.policy.kruise.io",
}

func ofKind(entry table.Entry) bool {
	return slices.ContainsFunc(kindEntries, func(row string) bool { return strings.HasPrefix(row, entry.Name+" ") })
}

func TestEntriesOfKinds(t *testing.T) {
	var got []string
	for _, entry := range webhook.Entries(webhook.Deps{
		Gates:    off{},
		Defaults: func(kind string) admission.Handler { return saying("defaults of " + kind) },
		Rules:    func(kind string) admission.Handler { return saying("rules of " + kind) },
	}) {
		if !ofKind(entry) {
			continue
		}
		rule := entry.Rules[0]
		resource := rule.Resources[0] + "." + rule.APIGroups[0]
		got = append(got, strings.Join([]string{entry.Name, entry.Path, strings.Join(rule.APIVersions, "+"), resource}, " "))
		if !slices.Equal(rule.Operations, []admissionv1.OperationType{admissionv1.Create, admissionv1.Update}) || len(entry.Rules) != 1 {
			t.Errorf("%s: %+v", entry.Name, entry.Rules)
		}
		if entry.FailurePolicy != "" || entry.NamespaceSelector != nil || entry.ObjectSelector != nil || entry.Gate != "" {
			t.Errorf("%s: %+v", entry.Name, entry)
		}
		said := entry.Handler.Handle(t.Context(), &admission.Request{}).Warnings[0]
		wanted := "not-being-deleted"
		if !entry.Mutating {
			wanted += " spec-labels-or-annotations-changed"
		}
		if entry.Mutating != strings.HasPrefix(entry.Name, "m") || entry.Mutating != strings.HasPrefix(said, "defaults of ") || wanted != conditions(entry) {
			t.Errorf("%s is answered by the %s, under the conditions %s", entry.Name, said, conditions(entry))
		}
		if kind := said[strings.LastIndex(said, " ")+1:]; strings.ToLower(kind)+"s" != rule.Resources[0] {
			t.Errorf("%s is answered by the %s", entry.Name, said)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(slices.Sorted(slices.Values(kindEntries)), got); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}
