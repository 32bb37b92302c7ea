# METADATA
# title: PodUnavailableBudget
# description: What a PodUnavailableBudget must be, in either version (protection.md §5).
# custom:
#   kinds: [PodUnavailableBudget]
#   code: 400
package fairlead.policy.podunavailablebudget

import data.fairlead.shared.selector

spec := object.get(input.object, "spec", {})

old := object.get(input, ["oldObject", "spec"], {})

namespace := object.get(input.object, ["metadata", "namespace"], "")

name := object.get(input.object, ["metadata", "name"], "")

gates := data.inventory.gates

annotations := object.get(input.object, ["metadata", "annotations"], {})

target := spec.targetRef if is_object(spec.targetRef)

updating if input.operation == "UPDATE"

# METADATA
# title: Budgets are switched on
# description: One of the feature gates PodUnavailableBudgetDeleteGate and PodUnavailableBudgetUpdateGate is on.
# custom:
#   id: podunavailablebudget-gate
deny contains {"rule": "podunavailablebudget-gate", "field": "spec", "type": "forbidden", "message": "the feature gates PodUnavailableBudgetDeleteGate and PodUnavailableBudgetUpdateGate are off"} if {
	not gates.PodUnavailableBudgetDeleteGate
	not gates.PodUnavailableBudgetUpdateGate
}

pods := [way | some way in ["selector", "targetRef"]; spec[way] != null]

limits := [limit | some limit in ["maxUnavailable", "minAvailable"]; spec[limit] != null]

# METADATA
# title: Pods are selected in one way
# description: Either spec.selector or spec.targetRef is set.
# custom:
#   id: podunavailablebudget-pods
deny contains {"rule": "podunavailablebudget-pods", "field": "spec.selector", "type": "required", "message": "set either selector or targetRef"} if {
	count(pods) == 0
}

# METADATA
# title: Pods are not selected in two ways
# description: spec.selector and spec.targetRef are not both set.
# custom:
#   id: podunavailablebudget-pods-exclusive
deny contains {"rule": "podunavailablebudget-pods-exclusive", "field": "spec.targetRef", "type": "forbidden", "message": "selector and targetRef cannot be used together: remove one of them"} if {
	count(pods) == 2
}

# METADATA
# title: The selectors select
# description: spec.selector and spec.ignoredPodSelector are valid label selectors that ask for something.
# custom:
#   id: podunavailablebudget-selector
deny contains object.union(problem, {"rule": "podunavailablebudget-selector"}) if {
	some member in ["ignoredPodSelector", "selector"]
	spec[member] != null
	some problem in selector.required(sprintf("spec.%s", [member]), spec[member])
}

# METADATA
# title: The target is whole
# description: spec.targetRef has apiVersion, kind and name.
# custom:
#   id: podunavailablebudget-target
deny contains {"rule": "podunavailablebudget-target", "field": sprintf("spec.targetRef.%s", [member]), "type": "required", "message": "name a workload of this namespace whole: apiVersion, kind and name"} if {
	some member in ["apiVersion", "kind", "name"]
	target
	object.get(target, member, "") == ""
}

# METADATA
# title: The target's version can be read
# description: spec.targetRef.apiVersion is a group and a version, such as apps/v1.
# custom:
#   id: podunavailablebudget-target-version
deny contains {"rule": "podunavailablebudget-target-version", "field": "spec.targetRef.apiVersion", "type": "invalid", "value": target.apiVersion, "message": "must be a group and a version, such as apps/v1"} if {
	target.apiVersion != ""
	count(split(target.apiVersion, "/")) > 2
}

# METADATA
# title: There is a limit
# description: Either spec.maxUnavailable or spec.minAvailable is set.
# custom:
#   id: podunavailablebudget-limit
deny contains {"rule": "podunavailablebudget-limit", "field": "spec.maxUnavailable", "type": "required", "message": "set either maxUnavailable or minAvailable"} if {
	count(limits) == 0
}

# METADATA
# title: There is one limit
# description: spec.maxUnavailable and spec.minAvailable are not both set.
# custom:
#   id: podunavailablebudget-limit-exclusive
deny contains {"rule": "podunavailablebudget-limit-exclusive", "field": "spec.minAvailable", "type": "forbidden", "message": "maxUnavailable and minAvailable cannot be used together: remove one of them"} if {
	count(limits) == 2
}

# METADATA
# title: Limits are numbers or percentages
# description: spec.maxUnavailable and spec.minAvailable are not negative, or percentages of at most 100%.
# custom:
#   id: podunavailablebudget-amount
deny contains {"rule": "podunavailablebudget-amount", "field": sprintf("spec.%s", [limit]), "type": "invalid", "value": value, "message": `must be a number that is not negative, or a percentage from "0%" to "100%"`} if {
	some limit in limits
	value := spec[limit]
	not amount(value)
}

amount(value) if {
	is_number(value)
	value >= 0
}

amount(value) if {
	is_string(value)
	regex.match(`^[0-9]+%$`, value)
	to_number(trim_suffix(value, "%")) <= 100
}

operations := {"DELETE", "EVICT", "RESIZE", "UPDATE"}

# METADATA
# title: Protected operations are known
# description: spec.protectOperations, or the annotation kruise.io/pub-protect-operations, lists DELETE, UPDATE, EVICT and RESIZE.
# custom:
#   id: podunavailablebudget-operations
deny contains {"rule": "podunavailablebudget-operations", "field": field, "type": "unsupported", "value": operation, "message": `supported values: "DELETE", "EVICT", "RESIZE", "UPDATE"`} if {
	some [field, operation] in protected
	not operation in operations
}

protected contains [sprintf("spec.protectOperations[%d]", [i]), operation] if some i, operation in spec.protectOperations

protected contains ["metadata.annotations[kruise.io/pub-protect-operations]", operation] if {
	some text in split(annotations["kruise.io/pub-protect-operations"], ",")
	operation := trim_space(text)
	operation != ""
}

total_key := "pub.kruise.io/protect-total-replicas"

total := annotations[total_key]

number(text) if {
	regex.match(`^[0-9]{1,10}$`, text)
	to_number(text) <= 2147483647
}

# METADATA
# title: The total is a number
# description: The annotation pub.kruise.io/protect-total-replicas is a number, and the same as spec.protectTotalReplicas if that is set.
# custom:
#   id: podunavailablebudget-total
deny contains {"rule": "podunavailablebudget-total", "field": sprintf("metadata.annotations[%s]", [total_key]), "type": "invalid", "value": total, "message": message} if {
	some message in total_problems
}

total_problems contains "must be a number that is not negative" if {
	total
	not number(total)
}

total_problems contains "must be the same as spec.protectTotalReplicas: remove one of them" if {
	number(total)
	spec.protectTotalReplicas != to_number(total)
}

# METADATA
# title: The total counts something
# description: spec.protectTotalReplicas is at least 1.
# custom:
#   id: podunavailablebudget-total-positive
deny contains {"rule": "podunavailablebudget-total-positive", "field": "spec.protectTotalReplicas", "type": "invalid", "value": spec.protectTotalReplicas, "message": "must be at least 1"} if {
	spec.protectTotalReplicas < 1
}

# METADATA
# title: The Pods stay
# description: An update changes neither spec.selector nor spec.targetRef.
# custom:
#   id: podunavailablebudget-immutable
deny contains {"rule": "podunavailablebudget-immutable", "field": sprintf("spec.%s", [member]), "type": "forbidden", "message": "cannot be changed: delete this budget and create another"} if {
	updating
	some member in ["selector", "targetRef"]
	object.get(spec, member, null) != object.get(old, member, null)
}

# new says that the Pods are selected anew, so that others may be in the way.
new if not updating

new if {
	some member in ["selector", "targetRef"]
	object.get(spec, member, null) != object.get(old, member, null)
}

# METADATA
# title: Targets have one budget
# description: No other PodUnavailableBudget of the namespace has the same spec.targetRef, in whatever version.
# custom:
#   id: podunavailablebudget-same-target
deny contains {"rule": "podunavailablebudget-same-target", "field": "spec.targetRef", "type": "invalid", "value": target, "message": sprintf("PodUnavailableBudget %q has this target already", [other])} if {
	new
	target
	some other in fairlead.same_target("podunavailablebudgets", namespace, name, target)
}

# METADATA
# title: Selectors do not overlap
# description: No other PodUnavailableBudget of the namespace has a selector of the same keys that may select the same Pods.
# custom:
#   id: podunavailablebudget-overlap
deny contains {"rule": "podunavailablebudget-overlap", "field": "spec.selector", "type": "invalid", "value": spec.selector, "message": sprintf("PodUnavailableBudget %q may select the same Pods", [other])} if {
	new
	spec.selector != null
	some other in fairlead.overlapping_budgets(namespace, name, spec.selector)
}
