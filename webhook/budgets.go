package webhook

import (
	"strconv"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	policyv1beta1 "github.com/fairlead-io/fairlead/api/policy/v1beta1"
	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/webhook/admission"
	"github.com/fairlead-io/fairlead/webhook/table"
)

// disruptions are the entries that see Pods go (pod-admission.md §1). They share a path, as they do in OpenKruise, and hold
// while the service is away, but only for Pods that count: the last deletion of a terminating Pod, and whatever is done to
// one that is not ready, never wait for us.
func disruptions(handler admission.Handler) []table.Entry {
	core, v1 := []string{""}, []string{"v1"}
	entry := func(name string, rules ...admissionv1.RuleWithOperations) table.Entry {
		return table.Entry{
			Name: name, Path: "/validate-pod", Rules: rules, Namespaces: table.TenantNamespaces,
			// A unit is written into the budget's status, a denial told of by an event.
			SideEffects: admissionv1.SideEffectClassNoneOnDryRun,
			Gate:        features.PodWebhook,
			Handler:     handler,
		}
	}
	pods := entry("vpod.kb.io",
		on(core, v1, "pods", admissionv1.Update, admissionv1.Delete),
		on(core, v1, "pods/resize", admissionv1.Update))
	pods.MatchConditions = []admissionv1.MatchCondition{underBudget, serving, disrupting}
	// A request to evict has no Pod in it that a condition could look at.
	return []table.Entry{pods, entry("vpodeviction.kb.io", on(core, v1, "pods/eviction", admissionv1.Create))}
}

// underBudget leaves out Pods that no budget is written on. The Pod as it was decides, so that an update cannot take itself
// out.
var underBudget = admissionv1.MatchCondition{
	Name: "under-a-budget",
	Expression: `oldObject != null && has(oldObject.metadata.annotations) && (` +
		strconv.Quote(policyv1beta1.PubRelatedAnnotation) + ` in oldObject.metadata.annotations || ` +
		strconv.Quote(policyv1beta1.PubRelatedLegacyAnnotation) + ` in oldObject.metadata.annotations)`,
}

// serving leaves out Pods that are not available: losing one costs nothing.
var serving = admissionv1.MatchCondition{
	Name: "running-and-ready",
	Expression: `!has(oldObject.metadata.deletionTimestamp) && has(oldObject.status) && has(oldObject.status.phase) && ` +
		`oldObject.status.phase == "Running" && has(oldObject.status.conditions) && ` +
		`oldObject.status.conditions.exists(c, c.type == "Ready" && c.status == "True")`,
}

// disrupting leaves out updates that change nothing but metadata.
var disrupting = admissionv1.MatchCondition{
	Name: "spec-or-availability-changed",
	Expression: `request.operation != "UPDATE" || object.spec != oldObject.spec || has(object.metadata.labels) && ` +
		`object.metadata.labels.exists(key, key.startsWith(` + strconv.Quote(policyv1beta1.PubUnavailableLabelPrefix) + `))`,
}
