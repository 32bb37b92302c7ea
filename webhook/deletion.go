package webhook

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1beta1 "github.com/fairlead-io/fairlead/api/policy/v1beta1"
	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/webhook/admission"
	"github.com/fairlead-io/fairlead/webhook/table"
)

// deletions are the entries of deletion protection (protection.md §1).
//
// CloneSets, StatefulSets and UnitedDeployments of apps.kruise.io have entries of their own for it, so that their other
// entries see every object and these see labelled ones only. Like those others they hold when the service is away.
func deletions(handler admission.Handler) []table.Entry {
	entries := []table.Entry{
		deletion("vbuiltindeployment.kb.io", "/validate-apps-deployment", []string{"apps"}, []string{"v1"}, "deployments"),
		deletion("vbuiltinreplicaset.kb.io", "/validate-apps-replicaset", []string{"apps"}, []string{"v1"}, "replicasets"),
		deletion("vbuiltinstatefulset.kb.io", "/validate-apps-statefulset", []string{"apps"}, []string{"v1"}, "statefulsets"),
		deletion("vcustomresourcedefinition.kb.io", "/validate-customresourcedefinition",
			[]string{"apiextensions.k8s.io"}, []string{"v1", "v1beta1"}, "customresourcedefinitions"),
		deletion("vnamespace.kb.io", "/validate-namespace", []string{""}, []string{"v1"}, "namespaces"),
		deletion("vservice.kb.io", "/validate-service", []string{""}, []string{"v1"}, "services"),
		deletion("vingress.kb.io", "/validate-ingress", []string{"networking.k8s.io"}, []string{"v1", "v1beta1"}, "ingresses"),
		workloadDeletion("vclonesetdeletion.kb.io", "cloneset"),
		workloadDeletion("vstatefulsetdeletion.kb.io", "statefulset"),
		workloadDeletion("vuniteddeploymentdeletion.kb.io", "uniteddeployment"),
	}
	for i := range entries {
		entries[i].Handler = handler
	}
	return entries
}

// deletion is the entry of a kind that is not ours: it must not depend on us more than its users asked for, so the
// failure policy is Ignore, and kube-system is left out.
func deletion(name, path string, groups, versions []string, resource string) table.Entry {
	return table.Entry{
		Name: name, Path: path,
		Rules:         []admissionv1.RuleWithOperations{on(groups, versions, resource, admissionv1.Delete)},
		FailurePolicy: admissionv1.Ignore,
		NamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpNotIn, Values: []string{metav1.NamespaceSystem},
		}}},
		ObjectSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: policyv1beta1.DeletionProtectionLabel, Operator: metav1.LabelSelectorOpExists,
		}}},
		// A denial writes an event and a line of the audit log.
		SideEffects: admissionv1.SideEffectClassNoneOnDryRun,
		Gate:        features.ResourcesDeletionProtection,
	}
}

func workloadDeletion(name, singular string) table.Entry {
	entry := deletion(name, "/validate-apps-kruise-io-"+singular+"-deletion", appsGroup, bothVersions, singular+"s")
	entry.FailurePolicy, entry.NamespaceSelector = admissionv1.Fail, nil
	return entry
}
