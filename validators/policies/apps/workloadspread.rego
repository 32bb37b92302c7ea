# METADATA
# title: WorkloadSpread
# description: What a WorkloadSpread must be, in either version (multi-domain.md §B2).
# custom:
#   kinds: [WorkloadSpread]
#   code: 400
package fairlead.apps.workloadspread

import data.fairlead.shared.list
import data.fairlead.shared.rollout
import data.fairlead.shared.selector
import data.fairlead.shared.template as templates

spec := object.get(input.object, "spec", {})

old := object.get(input, ["oldObject", "spec"], {})

namespace := object.get(input.object, ["metadata", "namespace"], "")

name := object.get(input.object, ["metadata", "name"], "")

target := object.get(spec, "targetRef", {})

subsets := object.get(spec, "subsets", [])

alpha if endswith(input.object.apiVersion, "/v1alpha1")

required := "requiredNodeSelectorTerm" if alpha

else := "requiredNodeSelector"

preferred := "preferredNodeSelectorTerms" if alpha

else := "preferredNodeSelector"

group(api) := substring(api, 0, indexof(api, "/")) if contains(api, "/")

else := ""

whole_target if {
	every member in ["apiVersion", "kind", "name"] {
		object.get(target, member, "") != ""
	}
}

# METADATA
# title: WorkloadSpreads are switched on
# description: The feature gate WorkloadSpread is on.
# custom:
#   id: workloadspread-gate
#   code: 403
deny contains {"rule": "workloadspread-gate", "field": "spec", "type": "forbidden", "message": "the feature gate WorkloadSpread is off"} if {
	not data.inventory.gates.WorkloadSpread
}

# METADATA
# title: The target is whole
# description: spec.targetRef has apiVersion, kind and name.
# custom:
#   id: workloadspread-target
deny contains {"rule": "workloadspread-target", "field": sprintf("spec.targetRef.%s", [member]), "type": "required", "message": "name a workload of this namespace whole: apiVersion, kind and name"} if {
	some member in ["apiVersion", "kind", "name"]
	object.get(target, member, "") == ""
}

spreadable := {
	["CloneSet", "apps.kruise.io"], ["Deployment", "apps"], ["ReplicaSet", "apps"], ["Job", "batch"],
	["StatefulSet", "apps"], ["StatefulSet", "apps.kruise.io"],
}

# listed are the kinds that administrators added.
listed contains [workload.Kind, workload.Group] if {
	configured := fairlead.configuration("WorkloadSpread_Watch_Custom_Workload_WhiteList")
	json.is_valid(configured)
	some workload in json.unmarshal(configured).workloads
}

known_kind if [target.kind, group(target.apiVersion)] in spreadable

known_kind if [target.kind, group(target.apiVersion)] in listed

# METADATA
# title: The kind of target is known
# description: spec.targetRef is a CloneSet or StatefulSet of apps.kruise.io, a Deployment, ReplicaSet or StatefulSet of apps, a Job of batch, or a kind that WorkloadSpread_Watch_Custom_Workload_WhiteList of the ConfigMap kruise-configuration lists.
# custom:
#   id: workloadspread-target-kind
deny contains {"rule": "workloadspread-target-kind", "field": "spec.targetRef", "type": "invalid", "value": target, "message": "must be a CloneSet, StatefulSet, Deployment, ReplicaSet or Job, or a kind that the ConfigMap kruise-configuration lists in WorkloadSpread_Watch_Custom_Workload_WhiteList"} if {
	whole_target
	not known_kind
}

# METADATA
# title: Targets have one WorkloadSpread
# description: No other WorkloadSpread of the namespace has the same target, in whatever version.
# custom:
#   id: workloadspread-same-target
deny contains {"rule": "workloadspread-same-target", "field": "spec.targetRef", "type": "invalid", "value": target, "message": sprintf("WorkloadSpread %q has this target already", [other])} if {
	whole_target
	not same(object.get(old, "targetRef", {}))
	some other in fairlead.same_target("workloadspreads", namespace, name, target)
}

same(before) if {
	before.kind == target.kind
	before.name == target.name
	group(before.apiVersion) == group(target.apiVersion)
}

# METADATA
# title: The target stays
# description: An update changes nothing of spec.targetRef but the version.
# custom:
#   id: workloadspread-immutable
deny contains {"rule": "workloadspread-immutable", "field": "spec.targetRef", "type": "forbidden", "message": "cannot be changed: delete this WorkloadSpread and create another"} if {
	input.operation == "UPDATE"
	not same(object.get(old, "targetRef", {}))
}

# METADATA
# title: There are subsets
# description: spec.subsets has at least one.
# custom:
#   id: workloadspread-subsets
deny contains {"rule": "workloadspread-subsets", "field": "spec.subsets", "type": "required", "message": "at least one subset"} if {
	count(subsets) == 0
}

# METADATA
# title: Subsets have names
# description: The name of every subset is not empty.
# custom:
#   id: workloadspread-subset-name
deny contains {"rule": "workloadspread-subset-name", "field": sprintf("spec.subsets[%d].name", [i]), "type": "required", "message": "the name of the subset"} if {
	some i, subset in subsets
	object.get(subset, "name", "") == ""
}

# METADATA
# title: Subsets differ
# description: No two subsets have the same name.
# custom:
#   id: workloadspread-subset-duplicate
deny contains {"rule": "workloadspread-subset-duplicate", "field": sprintf("spec.subsets[%d].name", [i]), "type": "duplicate", "value": subsets[i].name} if {
	some i in list.repeated([object.get(subset, "name", "") | some subset in subsets])
	subsets[i].name != ""
}

# placement is a Pod with the terms and the tolerations of all subsets, and fields says whose they are.
terms := [i | some i, subset in subsets; object.get(subset, required, null) != null]

preferences := [[i, j] | some i, subset in subsets; some j, _ in subset[preferred]]

tolerations := [[i, j] | some i, subset in subsets; some j, _ in subset.tolerations]

affinities := {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [subsets[i][required] | some i in terms]}} if count(terms) > 0

else := {}

placement := {
	"containers": [{"name": "a", "image": "a"}],
	"affinity": {"nodeAffinity": object.union(affinities, {"preferredDuringSchedulingIgnoredDuringExecution": [subsets[i][preferred][j] | some [i, j] in preferences]})},
	"tolerations": [subsets[i].tolerations[j] | some [i, j] in tolerations],
}

fields := object.union_n([
	{sprintf("affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[%d]", [n]): sprintf("spec.subsets[%d].%s", [i, required]) | some n, i in terms},
	{sprintf("affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[%d]", [n]): sprintf("spec.subsets[%d].%s[%d]", [i, preferred, j]) | some n, [i, j] in preferences},
	{sprintf("tolerations[%d]", [n]): sprintf("spec.subsets[%d].tolerations[%d]", pair) | some n, pair in tolerations},
])

placed := templates.nothing if {
	places(subsets) == places(object.get(old, "subsets", []))
} else := templates.nothing if {
	count(fields) == 0
} else := fairlead.pod_spec_problems(placement, fields)

places(of_) := [[object.get(subset, member, null) | some member in [required, preferred, "tolerations"]] | some subset in of_]

warn contains warning if some warning in placed.warnings

# METADATA
# title: Nodes can be selected
# description: Terms and tolerations of every subset are judged by the API server as those of a Pod.
# custom:
#   id: workloadspread-placement
deny contains object.union(problem, {"rule": "workloadspread-placement"}) if {
	some problem in placed.errors
}

workload := fairlead.workload(namespace, target) if {
	some subset in subsets
	subset.patch != null
} else := {"found": false}

old_patches := {before.patch | some before in object.get(old, "subsets", [])}

# changed are the subsets whose patch is to be tried. One that an update leaves alone is not tried again.
changed := [i |
	workload.found
	some i, subset in subsets
	subset.patch != null
	not subset.patch in old_patches
]

tries := array.slice(changed, 0, templates.most_asked)

# patched are the templates that the patches of subsets make, each with its index.
patched contains [i, merged] if {
	some i in tries
	merged := fairlead.strategic_merge(workload.template, subsets[i].patch, count(tries))
}

warn contains sprintf("only the first %d patches of subsets were tried", [templates.most_asked]) if count(changed) > templates.most_asked

warn contains sprintf("spec.subsets[%d].patch was not tried: with so many patches the lists of each must be shorter", [i]) if {
	some [i, merged] in patched
	merged.skipped
}

tried[i] := templates.judged(sprintf("spec.subsets[%d].patch", [i]), merged.template, sprintf("spec.subsets[%d].patch", [i]), workload.claims, null, []) if {
	some [i, merged] in patched
	merged.error == ""
	not merged.skipped
}

warn contains warning if some warning in [w | some answer in tried; some w in answer.warnings]

# METADATA
# title: Patches fit the target
# description: If the target exists, the patch of every subset can be merged into its template.
# custom:
#   id: workloadspread-patch
deny contains {"rule": "workloadspread-patch", "field": sprintf("spec.subsets[%d].patch", [i]), "type": "invalid", "value": subsets[i].patch, "message": sprintf("must be a strategic merge patch of the target's template: %s", [merged.error])} if {
	some [i, merged] in patched
	merged.error != ""
}

# METADATA
# title: Patches make a Pod
# description: If the target exists, its template with the patch of a subset, and volumes for its claims, is judged by the API server as that of a Pod.
# custom:
#   id: workloadspread-patched
deny contains object.union(problem, {"rule": "workloadspread-patched"}) if {
	some i, answer in tried
	some problem in answer.errors
}

maximums[i] := subset.maxReplicas if {
	some i, subset in subsets
	subset.maxReplicas != null
}

# METADATA
# title: Maximums are numbers or percentages
# description: maxReplicas of subsets are not negative, or percentages such as "20%".
# custom:
#   id: workloadspread-amount
deny contains {"rule": "workloadspread-amount", "field": sprintf("spec.subsets[%d].maxReplicas", [i]), "type": "invalid", "value": value, "message": rollout.amount_message} if {
	some i, value in maximums
	not rollout.amount(value)
}

# METADATA
# title: Maximums are of one kind
# description: All maxReplicas are numbers, or all are percentages; those of StatefulSets are numbers.
# custom:
#   id: workloadspread-amount-kind
deny contains {"rule": "workloadspread-amount-kind", "field": sprintf("spec.subsets[%d].maxReplicas", [i]), "type": "invalid", "value": value, "message": message} if {
	some [i, value, message] in mixed
}

mixed contains [i, value, "must be a number, because the target is a StatefulSet"] if {
	target.kind == "StatefulSet"
	some i, value in maximums
	rollout.percentage(value)
}

mixed contains [i, value, "must be a number like the others, or all must be percentages"] if {
	target.kind != "StatefulSet"
	count({i | some i, value in maximums; rollout.whole(value)}) > 0
	some i, value in maximums
	rollout.percentage(value)
}

percents := [to_number(trim_suffix(value, "%")) | some value in maximums; rollout.percentage(value)]

# METADATA
# title: Percentages make a whole
# description: Percentages of subsets add up to at most 100%, and to 100% if the last subset has one.
# custom:
#   id: workloadspread-sum
deny contains {"rule": "workloadspread-sum", "field": "spec.subsets", "type": "invalid", "message": sprintf("maxReplicas add up to %v%%: must be at most 100%%, and just as much if the last subset has one", [sum(percents)])} if {
	count(percents) > 0
	unfit(sum(percents))
}

unfit(sum_) if sum_ > 100

unfit(sum_) if {
	sum_ < 100
	rollout.percentage(maximums[count(subsets) - 1])
}

strategy := object.get(spec, "scheduleStrategy", {})

adaptive := strategy.adaptive if strategy.adaptive != null

# METADATA
# title: The way to schedule is known
# description: spec.scheduleStrategy.type is Fixed or Adaptive.
# custom:
#   id: workloadspread-schedule-type
deny contains {"rule": "workloadspread-schedule-type", "field": "spec.scheduleStrategy.type", "type": "unsupported", "value": strategy.type, "message": `supported values: "Adaptive", "Fixed"`} if {
	not strategy.type in {"", "Adaptive", "Fixed"}
}

# METADATA
# title: Adaptive settings are for Adaptive
# description: spec.scheduleStrategy.adaptive is set only with type Adaptive.
# custom:
#   id: workloadspread-adaptive-type
deny contains {"rule": "workloadspread-adaptive-type", "field": "spec.scheduleStrategy.adaptive", "type": "forbidden", "message": "must not be set unless type is Adaptive"} if {
	adaptive
	object.get(strategy, "type", "") != "Adaptive"
}

# METADATA
# title: The last subset takes the rest
# description: With scheduleStrategy Adaptive and several subsets the last one has no maxReplicas.
# custom:
#   id: workloadspread-adaptive-last
deny contains {"rule": "workloadspread-adaptive-last", "field": sprintf("spec.subsets[%d].maxReplicas", [count(subsets) - 1]), "type": "forbidden", "message": "must not be set with type Adaptive: the last subset takes the rest"} if {
	strategy.type == "Adaptive"
	count(subsets) > 1
	maximums[count(subsets) - 1] != null
}

# METADATA
# title: Rescheduling is in time
# description: spec.scheduleStrategy.adaptive.rescheduleCriticalSeconds is not negative, and so small that all subsets are tried within 295 s.
# custom:
#   id: workloadspread-critical-seconds
deny contains {"rule": "workloadspread-critical-seconds", "field": "spec.scheduleStrategy.adaptive.rescheduleCriticalSeconds", "type": "invalid", "value": seconds, "message": sprintf("must be between 0 and %d, so that all subsets can be tried", [limit])} if {
	seconds := adaptive.rescheduleCriticalSeconds
	limit := floor(295 / max([1, count(subsets) - 1]))
	not rollout.between(seconds, 0, limit)
}

# METADATA
# title: The filter is valid
# description: spec.targetFilter.selector is a valid label selector.
# custom:
#   id: workloadspread-filter
deny contains object.union(problem, {"rule": "workloadspread-filter"}) if {
	some problem in selector.valid("spec.targetFilter.selector", spec.targetFilter.selector)
}
