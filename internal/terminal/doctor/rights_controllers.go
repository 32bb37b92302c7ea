package doctor

import (
	"slices"

	apiconversion "github.com/fairlead-io/fairlead/api/conversion"
	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/webhook/table"
)

// managerRights are those without which the controllers do not work: all that the chart gives.
func (d *Doctor) managerRights() []right {
	rights := slices.Concat(processRights(d.config.Namespace), workloadRights(), budgetCountRights(), storedVersionRights(), auditRights(d.config.Namespace))
	if d.installation.Settings.Gates.Enabled(features.PodWebhook) {
		rights = append(rights, right{[]string{"get", "create", "patch"}, "", "configmaps", "", "", "ordered containers do not start"})
	}
	return rights
}

// processRights are those of the process as a whole: its Lease, its readiness, its events.
func processRights(own string) []right {
	const (
		leaderless = "no replica leads"
		unready    = "no replica turns ready"
		registered = "admissionregistration.k8s.io"
		silent     = "what the controllers do is not told by events"
	)
	return []right{
		{[]string{"get", "update"}, "coordination.k8s.io", "leases", own, "kruise-manager", leaderless},
		{create, "coordination.k8s.io", "leases", own, "", leaderless},
		{get, registered, "mutatingwebhookconfigurations", "", table.MutatingName, unready},
		{get, registered, "validatingwebhookconfigurations", "", table.ValidatingName, unready},
		{get, registered, "validatingwebhookconfigurations", "", table.AnchorName, "Pods wait for admission even where it was switched off"},
		{create, "", "pods", probeNamespace, "", unready},
		{[]string{"create", "patch"}, "", "events", "", "", silent},
		{[]string{"create", "patch"}, "events.k8s.io", "events", "", "", silent},
	}
}

// workloadRights are for Pods and what they come from.
func workloadRights() []right {
	const cloneSets = "CloneSets stand still"
	return []right{
		{manage, "", "pods", "", "", "ordered containers do not start, and CloneSets stand still"},
		{[]string{"patch"}, "", "pods/status", "", "", "Pods with the gate KruisePodReady do not turn Ready"},
		{[]string{"patch"}, "", "pods/resize", "", "", "resources of Pods are not changed in place"},
		{manage, "", "persistentvolumeclaims", "", "", cloneSets},
		{manage, "apps", "controllerrevisions", "", "", cloneSets},
		{[]string{"get", "list", "watch", "patch"}, "apps.kruise.io", "clonesets", "", "", cloneSets},
		{[]string{"patch"}, "apps.kruise.io", "clonesets/status", "", "", "CloneSets do not say how they are"},
		{update, "apps.kruise.io", "clonesets/finalizers", "", "", cloneSets},
		{[]string{"get", "list", "watch", "create", "delete"}, "apps.kruise.io", "imagepulljobs", "", "", "images are not pulled ahead of an update"},
		{read, "", "nodes", "", "", "CloneSets do not scale down where most of their Pods are"},
	}
}

// budgetCountRights are for counting what PodUnavailableBudgets leave.
func budgetCountRights() []right {
	const counts = "PodUnavailableBudgets are not counted"
	return []right{
		{read, "policy.kruise.io", "podunavailablebudgets", "", "", counts},
		{update, "policy.kruise.io", "podunavailablebudgets/status", "", "", counts},
		{read, "apps", "deployments", "", "", counts},
		{read, "apps", "replicasets", "", "", counts},
		{read, "apps", "statefulsets", "", "", counts},
		{read, "apps.kruise.io", "statefulsets", "", "", counts},
		{get, "apps.kruise.io", "uniteddeployments", "", "", "PodUnavailableBudgets of UnitedDeployments without spec.replicas are not counted"},
		{get, "*", "*/scale", "", "", "PodUnavailableBudgets do not know how many Pods a workload is to have"},
	}
}

// storedVersionRights are for objects that are stored in an old version.
func storedVersionRights() (rights []right) {
	const old = "objects in an old version are not stored anew"
	for _, resource := range apiconversion.Resources() {
		rights = append(rights,
			right{get, "apiextensions.k8s.io", "customresourcedefinitions", "", resource.Definition(), old},
			right{update, "apiextensions.k8s.io", "customresourcedefinitions/status", "", resource.Definition(), old},
			right{[]string{"list", "patch"}, resource.Group, resource.Plural, "", "", old},
		)
	}
	return rights
}

// auditRights are for judging what exists by users' policies; what else these may list is the administrator's choice.
func auditRights(own string) []right {
	return []right{
		{[]string{"list", "patch"}, "", "configmaps", own, "", "users' policies do not judge what exists already"},
		{[]string{"list"}, "", "namespaces", "", "", "users' policies that select namespaces do not judge what exists already"},
	}
}
