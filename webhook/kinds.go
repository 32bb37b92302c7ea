package webhook

import (
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/fairlead-io/fairlead/webhook/admission"
	"github.com/fairlead-io/fairlead/webhook/table"
)

// kind has a mutating entry for its defaults, a validating entry for its rules, or both, by the names and paths that users
// know (webhook-server.md §1).
type kind struct {
	name, resource string
	// suffix is what the names of its entries have behind the kind's own.
	suffix string
	// defaults and rules say which entries there are.
	defaults, rules bool
	// versions are both unless there is one only.
	versions []string
}

// alphaOnly is for kinds that have no other version.
var alphaOnly = []string{"v1alpha1"}

// kinds are those that have nothing else at admission. SidecarSets and ContainerRecreateRequests are in the table itself.
var kinds = []kind{
	{name: "CloneSet", resource: "clonesets", defaults: true, rules: true},
	{name: "StatefulSet", resource: "statefulsets", defaults: true, rules: true},
	{name: "DaemonSet", resource: "daemonsets", defaults: true, rules: true},
	{name: "BroadcastJob", resource: "broadcastjobs", defaults: true, rules: true},
	{name: "AdvancedCronJob", resource: "advancedcronjobs", defaults: true, rules: true},
	{name: "UnitedDeployment", resource: "uniteddeployments", defaults: true, rules: true},
	{name: "WorkloadSpread", resource: "workloadspreads", rules: true},
	{name: "PodUnavailableBudget", resource: "podunavailablebudgets", rules: true},
	{name: "ImagePullJob", resource: "imagepulljobs", suffix: "-v1beta1", defaults: true, rules: true},
	{name: "ImageListPullJob", resource: "imagelistpulljobs", suffix: "-v1beta1", defaults: true, rules: true},
	{name: "NodeImage", resource: "nodeimages", defaults: true, rules: true},
	{name: "ResourceDistribution", resource: "resourcedistributions", rules: true},
	{name: "PersistentPodState", resource: "persistentpodstates", rules: true},
	{name: "PodProbeMarker", resource: "podprobemarkers", rules: true, versions: alphaOnly},
	{name: "EphemeralJob", resource: "ephemeraljobs", suffix: "s", rules: true, versions: alphaOnly},
}

// ofKinds are the entries of all kinds. Their deletion is for other entries to judge: spec decision 4.
func (d Deps) ofKinds() (entries []table.Entry) {
	for _, k := range kinds {
		if k.defaults {
			entries = append(entries, k.entry("m", "/mutate-", d.Defaults, living))
		}
	}
	for _, k := range kinds {
		if k.rules {
			entries = append(entries, k.entry("v", "/validate-", d.Rules, living, changed))
		}
	}
	return entries
}

func (k kind) entry(letter, verb string, handler func(kind string) admission.Handler, conditions ...admissionv1.MatchCondition) table.Entry {
	group, versions := k.group(), k.versions
	if versions == nil {
		versions = bothVersions
	}
	entry := table.Entry{
		Name: letter + strings.ToLower(k.name) + k.suffix + ".kb.io", Mutating: verb == "/mutate-",
		Path:            verb + strings.ReplaceAll(group, ".", "-") + "-" + k.path(),
		Rules:           []admissionv1.RuleWithOperations{on([]string{group}, versions, k.resource, admissionv1.Create, admissionv1.Update)},
		MatchConditions: conditions,
	}
	if handler != nil {
		entry.Handler = handler(k.name)
	}
	return entry
}

func (k kind) group() string {
	if k.name == "PodUnavailableBudget" {
		return "policy.kruise.io"
	}
	return appsGroup[0]
}

// path is the end of the paths. That of EphemeralJobs has a version in it.
func (k kind) path() string {
	if k.name == "EphemeralJob" {
		return "v1alpha1-ephemeraljob"
	}
	return strings.ToLower(k.name)
}
