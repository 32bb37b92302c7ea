package doctor

import (
	"slices"

	apiconversion "github.com/fairlead-io/fairlead/api/conversion"
	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/webhook/table"
)

// webhookRights are those without which admission, as these settings have it, does not work: all that the chart gives. Left
// out are rights whose extent is the administrator's choice: to list what would go with a protected definition, which
// installation.roleListGroups narrows, what users' policies may see, and to read a ClusterIssuer.
func (d *Doctor) webhookRights() []right {
	return slices.Concat(d.injectionRights(), ruleRights(d.config.Namespace), budgetRights(), policyRights(d.config.Namespace), d.certificateRights(), d.protectionRights(), d.registrationRights())
}

func (d *Doctor) injectionRights() []right {
	return []right{
		{read, "apps.kruise.io", "sidecarsets", "", "", "no sidecar is injected, and no replica turns ready"},
		{read, "", "namespaces", "", "", "no replica turns ready"},
		{read, "apps", "controllerrevisions", d.config.Namespace, "", "no replica turns ready"},
		{get, "", "pods", "", "", "ContainerRecreateRequests are refused"},
		{get, "", "nodes", "", "", "ContainerRecreateRequests are refused"},
		{[]string{"patch"}, "", "pods/status", d.config.Namespace, "", "no replica becomes an endpoint of Service " + conversionService + ", and none turns ready"},
	}
}

// ruleRights are for what the rules look up, and have judged by the API server in the namespace of the release.
func ruleRights(own string) []right {
	const (
		spreads = "WorkloadSpreads are not checked against the templates of their targets"
		unready = "no replica turns ready: whose target is whose is not known"
	)
	return []right{
		{create, "", "podtemplates", own, "", "Pod templates are not validated"},
		{create, "", "persistentvolumeclaims", own, "", "templates of claims are not validated"},
		{create, "", "configmaps", own, "", "what ResourceDistributions hold is not validated"},
		{get, "", "configmaps", own, "kruise-configuration", "SidecarSets that patch Pods' metadata are refused"},
		{get, "apps.kruise.io", "clonesets", "", "", spreads},
		{get, "apps.kruise.io", "statefulsets", "", "", spreads},
		{get, "apps", "deployments", "", "", spreads},
		{get, "apps", "replicasets", "", "", spreads},
		{get, "apps", "statefulsets", "", "", spreads},
		{get, "batch", "jobs", "", "", spreads},
		{read, "apps.kruise.io", "workloadspreads", "", "", unready},
		{read, "apps.kruise.io", "persistentpodstates", "", "", unready},
		{[]string{"get", "list"}, "storage.k8s.io", "storageclasses", "", "", "StatefulSets whose claims are to grow are not checked"},
	}
}

func budgetRights() []right {
	const evictions = "Pods under a PodUnavailableBudget cannot be evicted or deleted"
	return []right{
		{read, "policy.kruise.io", "podunavailablebudgets", "", "", "no replica turns ready"},
		{update, "policy.kruise.io", "podunavailablebudgets/status", "", "", evictions},
		{get, "", "pods", "", "", evictions},
		{get, "apps", "replicasets", "", "", evictions},
		{[]string{"create", "patch"}, "", "events", "", "", "denials are not told of by events"},
	}
}

// policyRights are for users' policies; what these may see of a cluster is the administrator's choice.
func policyRights(own string) []right {
	return []right{
		{[]string{"list", "watch"}, "", "configmaps", own, "", "users' policies are not read"},
		{[]string{"patch"}, "", "configmaps", own, "", "statuses of users' policies are not written"},
		{create, "", "configmaps", own, "", "the last good versions of users' policies are not kept for a restart"},
		{[]string{"create", "patch"}, "", "events", own, "", "mistakes in users' policies are not told of by events"},
	}
}

func (d *Doctor) certificateRights() []right {
	own, secret := d.config.Namespace, d.installation.Settings.Secret
	if d.installation.Settings.Gates.Enabled(features.EnableExternalCerts) {
		const silent = "readiness does not say why there is no certificate"
		return []right{
			{read, "", "secrets", own, secret, "no replica has a certificate"},
			{get, "cert-manager.io", "certificates", own, "", silent},
			{get, "cert-manager.io", "issuers", own, "", silent},
		}
	}
	return []right{
		{[]string{"get", "list", "watch", "update"}, "", "secrets", own, secret, "no replica has a certificate"},
		{create, "", "secrets", own, "", "a Secret that somebody deleted is not made again"},
	}
}

func (d *Doctor) protectionRights() []right {
	if !d.installation.Settings.Gates.Enabled(features.ResourcesDeletionProtection) {
		return nil
	}
	return []right{
		{list, "", "pods", "", "", "protected namespaces cannot be deleted at all"},
		{list, "", "persistentvolumeclaims", "", "", "protected namespaces cannot be deleted at all"},
		{[]string{"create", "patch"}, "", "events", "", "", "denials are not told of by events"},
	}
}

func (d *Doctor) registrationRights() []right {
	if !d.installation.Settings.Registers {
		return nil
	}
	const (
		unregistered = "webhooks are not registered"
		registration = "admissionregistration.k8s.io"
	)
	rights := []right{
		{manage, registration, "mutatingwebhookconfigurations", "", table.MutatingName, unregistered},
		{manage, registration, "validatingwebhookconfigurations", "", table.ValidatingName, unregistered},
		{manage, registration, "validatingwebhookconfigurations", "", table.PoliciesName, "users' policies are not registered"},
		{read, registration, "validatingwebhookconfigurations", "", table.AnchorName, unregistered},
		{[]string{"get", "update"}, "coordination.k8s.io", "leases", d.config.Namespace, "kruise-webhook-registration", unregistered},
		{create, "coordination.k8s.io", "leases", d.config.Namespace, "", unregistered},
		{list, "discovery.k8s.io", "endpointslices", d.config.Namespace, "", unregistered},
	}
	for _, resource := range apiconversion.Resources() {
		if resource.Differs {
			rights = append(rights, right{
				[]string{"get", "list", "watch", "patch"}, "apiextensions.k8s.io", "customresourcedefinitions", "", resource.Definition(),
				"webhooks are not registered, and objects are not converted",
			})
		}
	}
	return rights
}
