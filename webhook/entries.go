// Package webhook has the one table of webhooks. Everything that must agree about them is made from it: the router,
// the two configurations, the RBAC and the docs.
package webhook

import (
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/webhook/admission"
	"github.com/fairlead-io/fairlead/webhook/table"
)

// Deps are the handlers of the table's entries and what decides which entries there are.
type Deps struct {
	// Pods mutates Pods on creation (pod-admission.md §2).
	Pods admission.Handler
	// SidecarSetDefaults fills in the defaults and the hashes of SidecarSets (sidecarset.md §2).
	SidecarSetDefaults admission.Handler
	// Defaults makes the handler that fills in the defaults of any other kind; nil where entries are only named.
	Defaults func(kind string) admission.Handler
	// Rules makes the handler that judges a kind by its rules in Rego; nil where entries are only named.
	Rules func(kind string) admission.Handler
	// ContainerRecreate captures what a ContainerRecreateRequest is to stop (container-recreate.md §3).
	ContainerRecreate admission.Handler
	// Budgets keeps Pods available that have a PodUnavailableBudget (protection.md §3).
	Budgets admission.Handler
	// Deletion keeps protected objects from being deleted (protection.md §1).
	Deletion admission.Handler
	// Gates switch entries.
	Gates table.Gates
}

// Entries is the table of webhooks whose gates are on, with names, paths and rules as users know them
// (webhook-server.md §1). Webhooks of features that are still to come are absent, not switched off.
func Entries(deps Deps) []table.Entry { return table.Enabled(All(deps), deps.Gates) }

// Retired are the entries whose gates are off. An earlier replica may have registered them, so requests come until the
// registration has caught up, and a 404 would refuse them.
func Retired(deps Deps) []table.Entry { return table.Disabled(All(deps), deps.Gates) }

// All is the table without regard to gates.
func All(deps Deps) []table.Entry {
	return slices.Concat([]table.Entry{
		{
			// No object selector or match condition narrows this one: which Pods concern us is decided by SidecarSets,
			// launch priorities and owners together, and static, Job and DaemonSet Pods are injected like all others
			// (sidecarset.md §4.1). A subresource of Pods matches no rule without a slash.
			Name: "mpod.kb.io", Mutating: true, Path: "/mutate-pod",
			Rules:      []admissionv1.RuleWithOperations{on([]string{""}, []string{"v1"}, "pods", admissionv1.Create)},
			Namespaces: table.TenantNamespaces,
			// Another webhook may rename or drop our sidecar after us, or add a container that a launch priority must
			// see; injection is idempotent, so being asked again costs nothing but time (spec decision 14).
			ReinvocationPolicy: admissionv1.IfNeededReinvocationPolicy,
			Gate:               features.PodWebhook,
			Handler:            deps.Pods,
		},
		{
			Name: "msidecarset.kb.io", Mutating: true, Path: "/mutate-apps-kruise-io-sidecarset",
			Rules:           []admissionv1.RuleWithOperations{on(appsGroup, bothVersions, "sidecarsets", admissionv1.Create, admissionv1.Update)},
			MatchConditions: []admissionv1.MatchCondition{living},
			Handler:         deps.SidecarSetDefaults,
		},
		{
			// It has no gate: without daemons it is there to say so.
			Name: "mcontainerrecreaterequest.kb.io", Mutating: true, Path: "/mutate-apps-kruise-io-containerrecreaterequest",
			Rules:           []admissionv1.RuleWithOperations{on(appsGroup, bothVersions, "containerrecreaterequests", admissionv1.Create, admissionv1.Update)},
			MatchConditions: []admissionv1.MatchCondition{living},
			Handler:         deps.ContainerRecreate,
		},
		deps.judged("vsidecarset.kb.io", "SidecarSet", "sidecarsets"),
		// The reference has no such webhook. Ours judges what its mutating one did, beside what only the Pod can tell.
		deps.judged("vcontainerrecreaterequest.kb.io", "ContainerRecreateRequest", "containerrecreaterequests"),
	}, deps.ofKinds(), disruptions(deps.Budgets), deletions(deps.Deletion))
}

// judged is the validating entry of a kind that has rules in Rego.
func (d Deps) judged(name, kind, resource string) table.Entry {
	entry := table.Entry{
		Name: name, Path: "/validate-apps-kruise-io-" + strings.ToLower(kind),
		Rules:           []admissionv1.RuleWithOperations{on(appsGroup, bothVersions, resource, admissionv1.Create, admissionv1.Update)},
		MatchConditions: []admissionv1.MatchCondition{living, changed},
	}
	if d.Rules != nil {
		entry.Handler = d.Rules(kind)
	}
	return entry
}

var (
	appsGroup    = []string{"apps.kruise.io"}
	bothVersions = []string{"v1alpha1", "v1beta1"}
)

func on(groups, versions []string, resource string, operations ...admissionv1.OperationType) admissionv1.RuleWithOperations {
	return admissionv1.RuleWithOperations{
		Operations: operations,
		Rule:       admissionv1.Rule{APIGroups: groups, APIVersions: versions, Resources: []string{resource}},
	}
}
