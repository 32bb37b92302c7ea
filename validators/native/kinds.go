package native

import (
	"net/http"
	"slices"
)

// changed is what is said of a field that nothing else may be said of.
const changed = "cannot be changed"

// kinds are those with fields that an update may not change, in the order of their names. What the service fills in before it
// judges is absent here while it is away: where that may be, absent counts as the default, or as no change.
var kinds = []kind{
	{resource: "advancedcronjobs", ofVersion: map[string][]problem{
		"v1alpha1": {jobs("true")},
		// Lists of images may change; that they become something else is for the service to refuse.
		"v1beta1": {jobs("!" + path("oldObject", "spec.template.imageListPullJobTemplate") + ".hasValue()")},
	}},
	{resource: "clonesets", problems: fixed("cloneset-immutable", onlyMayChange("lifecycle", "minReadySeconds", "progressDeadlineSeconds",
		"replicas", "revisionHistoryLimit", "scaleStrategy", "template", "updateStrategy", "volumeClaimTemplates"), "", "spec.selector")},
	{resource: "containerrecreaterequests", code: http.StatusForbidden,
		problems:  []problem{label("crr.apps.kruise.io/node-name"), label("crr.apps.kruise.io/pod-uid"), request},
		ofVersion: map[string][]problem{"v1alpha1": {unready}, "v1beta1": nil}},
	{resource: "daemonsets", problems: fixed("daemonset-immutable", onlyMayChange("burstReplicas", "lifecycle", "minReadySeconds",
		"revisionHistoryLimit", "scaleStrategy", "template", "updateStrategy"), "", "spec.selector")},
	{resource: "imagepulljobs", code: http.StatusForbidden,
		problems: fixed("imagepulljob-secrets-immutable", changed+": create another ImagePullJob", "[]", "spec.pullSecrets")},
	{resource: "persistentpodstates", problems: []problem{target("persistentpodstate-immutable", "PersistentPodState")}},
	{resource: "podprobemarkers", problems: fixed("podprobemarker-selector-immutable", changed+": create another PodProbeMarker", "", "spec.selector")},
	{resource: "podunavailablebudgets", problems: fixed("podunavailablebudget-immutable", changed+": delete this budget and create another", "",
		"spec.selector", "spec.targetRef")},
	{resource: "resourcedistributions", problems: fixed("resourcedistribution-immutable", changed+": create another ResourceDistribution", `""`,
		"spec.resource.apiVersion", "spec.resource.kind", "spec.resource.metadata.name")},
	{resource: "sidecarsets", problems: []problem{base, upgradeType}},
	{resource: "statefulsets", problems: slices.Concat(
		fixed("statefulset-immutable", ofStatefulSets, `"OrderedReady"`, "spec.podManagementPolicy"),
		fixed("statefulset-immutable", ofStatefulSets, "", "spec.selector"),
		fixed("statefulset-immutable", ofStatefulSets, `""`, "spec.serviceName"))},
	{resource: "uniteddeployments", problems: unitedDeployment()},
	{resource: "workloadspreads", problems: []problem{target("workloadspread-immutable", "WorkloadSpread")}},
}

var ofStatefulSets = onlyMayChange("lifecycle", "ordinals", "persistentVolumeClaimRetentionPolicy", "replicas", "reserveOrdinals",
	"revisionHistoryLimit", "scaleStrategy", "template", "updateStrategy", "volumeClaimTemplates", "volumeClaimUpdateStrategy")

// Left are the service's rules about changes that CEL says nothing of, and why.
var Left = map[string]string{
	"advancedcronjob-immutable": "the definition has no other fields than those that may change",
}
