# METADATA
# title: UnitedDeployment
# description: What a UnitedDeployment must be, in either version (multi-domain.md §A2).
# custom:
#   kinds: [UnitedDeployment]
package fairlead.apps.uniteddeployment

import data.fairlead.shared.list
import data.fairlead.shared.rollout
import data.fairlead.shared.selector
import data.fairlead.shared.template as templates

spec := object.get(input.object, "spec", {})

old := object.get(input, ["oldObject", "spec"], {})

namespace := object.get(input.object, ["metadata", "namespace"], "")

name := object.get(input.object, ["metadata", "name"], "")

subsets := object.get(spec, ["topology", "subsets"], [])

old_subsets := object.get(old, ["topology", "subsets"], [])

# of are the templates of which there is one.
of := {kind: value |
	some kind in ["advancedStatefulSetTemplate", "cloneSetTemplate", "deploymentTemplate", "statefulSetTemplate"]
	value := spec.template[kind]
	value != null
}

at[kind] := sprintf("spec.template.%s", [kind]) if some kind, _ in of

adaptive if spec.topology.scheduleStrategy.type == "Adaptive"

updating if input.operation == "UPDATE"

# METADATA
# title: Replicas are not negative
# description: spec.replicas is at least 0.
# custom:
#   id: uniteddeployment-replicas
deny contains {"rule": "uniteddeployment-replicas", "field": "spec.replicas", "type": "invalid", "value": spec.replicas, "message": "must not be negative"} if {
	spec.replicas < 0
}

# METADATA
# title: The selector selects
# description: spec.selector is a valid label selector that asks for something.
# custom:
#   id: uniteddeployment-selector
deny contains object.union(problem, {"rule": "uniteddeployment-selector"}) if {
	some problem in selector.required("spec.selector", object.get(spec, "selector", null))
}

# METADATA
# title: There is one template
# description: spec.template has one of statefulSetTemplate, advancedStatefulSetTemplate, cloneSetTemplate and deploymentTemplate.
# custom:
#   id: uniteddeployment-one-template
deny contains {"rule": "uniteddeployment-one-template", "field": "spec.template", "type": "invalid", "value": [kind | some kind, _ in of], "message": "must have one of statefulSetTemplate, advancedStatefulSetTemplate, cloneSetTemplate and deploymentTemplate"} if {
	count(of) != 1
}

# METADATA
# title: The selector selects the workloads
# description: spec.selector matches the labels of the template and of its Pods. Those that an update leaves alone are not judged.
# custom:
#   id: uniteddeployment-labels
deny contains object.union(problem, {"rule": "uniteddeployment-labels"}) if {
	some kind, template in of
	some path in [["metadata"], ["spec", "template", "metadata"]]
	metadata := object.get(template, path, {})
	object.get(metadata, "labels", {}) != stored_labels(kind, path)
	some problem in selector.template_labels(sprintf("%s.%s.labels", [at[kind], concat(".", path)]), object.get(spec, "selector", null), {"metadata": metadata})
}

# stored_labels are those that a template of a kind had, null where there was none.
stored_labels(kind, path) := object.get(old.template[kind], array.concat(path, ["labels"]), {}) if old.template[kind]

else := null

# METADATA
# title: Subsets say how many
# description: "The template has no spec.replicas: the subsets decide. One that an update leaves alone is not judged."
# custom:
#   id: uniteddeployment-template-replicas
deny contains {"rule": "uniteddeployment-template-replicas", "field": sprintf("%s.spec.replicas", [at[kind]]), "type": "forbidden", "message": "must not be set: spec.replicas and the subsets decide"} if {
	some kind, template in of
	template.spec.replicas != object.get(old, ["template", kind, "spec", "replicas"], null)
}

# METADATA
# title: Partitions are given by subset
# description: "A template of StatefulSets has no partition: spec.updateStrategy.manualUpdate.partitions decides."
# custom:
#   id: uniteddeployment-template-partition
deny contains {"rule": "uniteddeployment-template-partition", "field": sprintf("%s.spec.updateStrategy.rollingUpdate.partition", [at[kind]]), "type": "forbidden", "message": "must not be set: spec.updateStrategy.manualUpdate.partitions decides"} if {
	some kind in ["advancedStatefulSetTemplate", "statefulSetTemplate"]
	object.get(of[kind], ["spec", "updateStrategy", "type"], "") in {"", "RollingUpdate"}
	of[kind].spec.updateStrategy.rollingUpdate.partition != null
}

# METADATA
# title: Pods run for good
# description: The restartPolicy of the template's Pods is Always, and activeDeadlineSeconds is not set.
# custom:
#   id: uniteddeployment-template-lasting
deny contains object.union(problem, {"rule": "uniteddeployment-template-lasting"}) if {
	some kind, template in of
	some problem in templates.lasting(sprintf("%s.spec.template", [at[kind]]), object.get(template, ["spec", "template"], {}))
}

judged[kind] := templates.judged(
	sprintf("%s.spec.template", [at[kind]]), object.get(template, ["spec", "template"], {}),
	sprintf("%s.spec.volumeClaimTemplates", [at[kind]]), object.get(template, ["spec", "volumeClaimTemplates"], []),
	object.get(old, ["template", kind, "spec", "template"], null), object.get(old, ["template", kind, "spec", "volumeClaimTemplates"], []),
) if some kind, template in of

warn contains warning if some warning in [w | some answer in judged; some w in answer.warnings]

# METADATA
# title: The template makes a Pod
# description: The template of the workloads' Pods, with volumes for its claims, is judged by the API server.
# custom:
#   id: uniteddeployment-template
deny contains object.union(problem, {"rule": "uniteddeployment-template"}) if {
	some kind, _ in of
	some problem in judged[kind].errors
}

claims_judged[kind] := templates.claims_judged(
	sprintf("%s.spec.volumeClaimTemplates", [at[kind]]), object.get(template, ["spec", "volumeClaimTemplates"], []),
	object.get(old, ["template", kind, "spec", "volumeClaimTemplates"], []),
) if some kind, template in of

warn contains warning if some warning in [w | some answers in claims_judged; some answer in answers; some w in answer.warnings]

# METADATA
# title: The claim templates make claims
# description: Each of the template's volumeClaimTemplates is judged by the API server as a claim.
# custom:
#   id: uniteddeployment-claim-template
deny contains object.union(problem, {"rule": "uniteddeployment-claim-template"}) if {
	some kind, _ in of
	some answer in claims_judged[kind]
	some problem in answer.errors
}

native := object.get(of, ["statefulSetTemplate", "spec"], {})

old_native := object.get(old, ["template", "statefulSetTemplate", "spec"], {})

native_field := "spec.template.statefulSetTemplate.spec"

# native_problems are what the API server would say of the StatefulSets, by field.
native_problems contains {"field": sprintf("%s.podManagementPolicy", [native_field]), "type": "unsupported", "value": native.podManagementPolicy, "message": `supported values: "OrderedReady", "Parallel"`} if {
	not native.podManagementPolicy in {null, "", "OrderedReady", "Parallel"}
}

native_problems contains {"field": sprintf("%s.updateStrategy.type", [native_field]), "type": "unsupported", "value": native.updateStrategy.type, "message": `supported values: "OnDelete", "RollingUpdate"`} if {
	not native.updateStrategy.type in {null, "", "OnDelete", "RollingUpdate"}
}

native_problems contains {"field": sprintf("%s.updateStrategy.rollingUpdate", [native_field]), "type": "forbidden", "message": "must not be set with type OnDelete: remove it"} if {
	native.updateStrategy.type == "OnDelete"
	native.updateStrategy.rollingUpdate != null
}

native_problems contains {"field": sprintf("%s.updateStrategy.rollingUpdate.maxUnavailable", [native_field]), "type": "invalid", "value": value, "message": `must be at least 1, or a percentage from "1%" to "100%"`} if {
	value := native.updateStrategy.rollingUpdate.maxUnavailable
	value != null
	not positive(value)
}

positive(value) if {
	amount(value)
	rollout.resolved(value, 1) >= 1
}

native_problems contains {"field": sprintf("%s.%s", [native_field, concat(".", path)]), "type": "invalid", "value": value, "message": "must not be negative"} if {
	some path in [["minReadySeconds"], ["ordinals", "start"]]
	value := object.get(native, path, 0)
	is_number(value)
	value < 0
}

native_problems contains {"field": sprintf("%s.persistentVolumeClaimRetentionPolicy.%s", [native_field, name]), "type": "unsupported", "value": value, "message": `supported values: "Delete", "Retain"`} if {
	some name in ["whenDeleted", "whenScaled"]
	value := native.persistentVolumeClaimRetentionPolicy[name]
	not value in {null, "", "Delete", "Retain"}
}

# A name that was stored when nobody judged it cannot be put right, for it must not change.
native_problems contains {"field": sprintf("%s.serviceName", [native_field]), "type": "invalid", "value": native.serviceName, "message": message} if {
	not native.serviceName in {"", object.get(old_native, "serviceName", null)}
	message := fairlead.dns_label_error(native.serviceName)
	message != ""
}

# METADATA
# title: The template makes a StatefulSet
# description: "statefulSetTemplate.spec has what a StatefulSet of apps may have: podManagementPolicy, serviceName, updateStrategy, minReadySeconds, ordinals and persistentVolumeClaimRetentionPolicy are right. What an update leaves alone is not judged."
# custom:
#   id: uniteddeployment-statefulset
deny contains object.union(problem, {"rule": "uniteddeployment-statefulset"}) if {
	object.remove(native, ["template"]) != object.remove(old_native, ["template"])
	some problem in native_problems
}

# The API server takes it, and says this.
warn contains sprintf("%s.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended", [native_field]) if {
	native.revisionHistoryLimit < 0
	native.revisionHistoryLimit != object.get(old_native, "revisionHistoryLimit", null)
}

stateless := object.get(of, ["deploymentTemplate", "spec"], {})

stateless_field := "spec.template.deploymentTemplate.spec"

# stateless_problems are what the API server would say of the Deployments, by field.
stateless_problems contains {"field": sprintf("%s.%s", [stateless_field, name_]), "type": "invalid", "value": stateless[name_], "message": "must not be negative"} if {
	some name_ in ["minReadySeconds", "revisionHistoryLimit"]
	stateless[name_] < 0
}

stateless_problems contains {"field": sprintf("%s.progressDeadlineSeconds", [stateless_field]), "type": "invalid", "value": deadline, "message": sprintf("must be greater than minReadySeconds, which is %d", [ready])} if {
	deadline := object.get(stateless, "progressDeadlineSeconds", 600)
	ready := object.get(stateless, "minReadySeconds", 0)
	deadline <= ready
}

stateless_problems contains {"field": sprintf("%s.strategy.type", [stateless_field]), "type": "unsupported", "value": stateless.strategy.type, "message": `supported values: "Recreate", "RollingUpdate"`} if {
	not stateless.strategy.type in {"", "Recreate", "RollingUpdate"}
}

stateless_rolling := object.get(stateless, ["strategy", "rollingUpdate"], {})

stateless_problems contains {"field": sprintf("%s.strategy.rollingUpdate", [stateless_field]), "type": "forbidden", "message": "must not be set with type Recreate: remove it"} if {
	stateless.strategy.type == "Recreate"
	stateless.strategy.rollingUpdate != null
}

stateless_problems contains {"field": sprintf("%s.strategy.rollingUpdate.%s", [stateless_field, name_]), "type": "invalid", "value": value, "message": `must be a number that is not negative, or a percentage such as "20%", of maxUnavailable at most "100%"`} if {
	some name_, judge in {"maxSurge": "any", "maxUnavailable": "share"}
	value := stateless_rolling[name_]
	not fits(judge, value)
}

fits("any", value) if rollout.whole(value)

fits("any", value) if regex.match(`^[0-9]+%$`, value)

fits("share", value) if amount(value)

stateless_problems contains {"field": sprintf("%s.strategy.rollingUpdate.maxUnavailable", [stateless_field]), "type": "invalid", "value": stateless_rolling.maxUnavailable, "message": "maxUnavailable and maxSurge are both 0: no Pod could ever be updated"} if {
	rollout.resolved(stateless_rolling.maxUnavailable, 1) == 0
	rollout.resolved(stateless_rolling.maxSurge, 1) == 0
}

# METADATA
# title: The template makes a Deployment
# description: "deploymentTemplate.spec has what a Deployment of apps may have: strategy, minReadySeconds, revisionHistoryLimit and progressDeadlineSeconds are right. What an update leaves alone is not judged."
# custom:
#   id: uniteddeployment-deployment
deny contains object.union(problem, {"rule": "uniteddeployment-deployment"}) if {
	object.remove(stateless, ["template"]) != object.remove(object.get(old, ["template", "deploymentTemplate", "spec"], {}), ["template"])
	some problem in stateless_problems
}

# METADATA
# title: Subsets have names
# description: "The name of every subset is that of a label's value and part of names: lower-case letters, digits and '-', at most 63."
# custom:
#   id: uniteddeployment-subset-name
deny contains {"rule": "uniteddeployment-subset-name", "field": sprintf("spec.topology.subsets[%d].name", [i]), "type": "invalid", "value": object.get(subset, "name", ""), "message": message} if {
	some i, subset in subsets
	message := fairlead.dns_label_error(object.get(subset, "name", ""))
	message != ""
}

# METADATA
# title: Subsets differ
# description: No two subsets have the same name.
# custom:
#   id: uniteddeployment-subset-duplicate
deny contains {"rule": "uniteddeployment-subset-duplicate", "field": sprintf("spec.topology.subsets[%d].name", [i]), "type": "duplicate", "value": subsets[i].name} if {
	some i in list.repeated([object.get(subset, "name", "") | some subset in subsets])
}

# placement is a Pod with the terms and the tolerations of all subsets, and fields says whose they are.
terms := [i | some i, subset in subsets; count(object.get(subset, "nodeSelectorTerm", {})) > 0]

tolerations := [[i, j] | some i, subset in subsets; some j, _ in subset.tolerations]

placement := {
	"containers": [{"name": "a", "image": "a"}],
	"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [subsets[i].nodeSelectorTerm | some i in terms]}}},
	"tolerations": [subsets[i].tolerations[j] | some [i, j] in tolerations],
} if {
	count(terms) > 0
} else := {"containers": [{"name": "a", "image": "a"}], "tolerations": [subsets[i].tolerations[j] | some [i, j] in tolerations]}

fields := object.union(
	{sprintf("affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[%d]", [n]): sprintf("spec.topology.subsets[%d].nodeSelectorTerm", [i]) | some n, i in terms},
	{sprintf("tolerations[%d]", [n]): sprintf("spec.topology.subsets[%d].tolerations[%d]", pair) | some n, pair in tolerations},
)

placed := templates.nothing if {
	places(subsets) == places(old_subsets)
} else := templates.nothing if {
	count(fields) == 0
} else := fairlead.pod_spec_problems(placement, fields)

places(of_) := [[object.get(subset, "nodeSelectorTerm", {}), object.get(subset, "tolerations", [])] | some subset in of_]

warn contains warning if some warning in placed.warnings

# METADATA
# title: Nodes can be selected
# description: nodeSelectorTerm and tolerations of every subset are judged by the API server as those of a Pod.
# custom:
#   id: uniteddeployment-placement
deny contains object.union(problem, {"rule": "uniteddeployment-placement"}) if {
	some problem in placed.errors
}

# METADATA
# title: Partitions are those of subsets
# description: The keys of spec.updateStrategy.manualUpdate.partitions are names of subsets.
# custom:
#   id: uniteddeployment-partitions
deny contains {"rule": "uniteddeployment-partitions", "field": sprintf("spec.updateStrategy.manualUpdate.partitions[%s]", [key]), "type": "notfound", "value": key, "message": "there is no such subset"} if {
	some key, _ in spec.updateStrategy.manualUpdate.partitions
	not key in names
}

names := {subset.name | some subset in subsets}

# METADATA
# title: Partitions are not negative
# description: The values of spec.updateStrategy.manualUpdate.partitions are at least 0. One that an update leaves alone is not judged.
# custom:
#   id: uniteddeployment-partition-negative
deny contains {"rule": "uniteddeployment-partition-negative", "field": sprintf("spec.updateStrategy.manualUpdate.partitions[%s]", [key]), "type": "invalid", "value": value, "message": "must not be negative"} if {
	some key, value in spec.updateStrategy.manualUpdate.partitions
	value < 0
	value != object.get(old, ["updateStrategy", "manualUpdate", "partitions", key], null)
}

# METADATA
# title: The way to schedule is known
# description: spec.topology.scheduleStrategy.type is Fixed or Adaptive.
# custom:
#   id: uniteddeployment-schedule-type
deny contains {"rule": "uniteddeployment-schedule-type", "field": "spec.topology.scheduleStrategy.type", "type": "unsupported", "value": type, "message": `supported values: "Adaptive", "Fixed"`} if {
	type := spec.topology.scheduleStrategy.type
	not type in {"", "Adaptive", "Fixed"}
}

# METADATA
# title: Adaptive subsets have bounds
# description: With scheduleStrategy Adaptive no subset has replicas, only minReplicas and maxReplicas.
# custom:
#   id: uniteddeployment-adaptive-replicas
deny contains {"rule": "uniteddeployment-adaptive-replicas", "field": sprintf("spec.topology.subsets[%d].replicas", [i]), "type": "forbidden", "message": "must not be set with scheduleStrategy Adaptive: use minReplicas and maxReplicas"} if {
	adaptive
	some i, subset in subsets
	subset.replicas != null
}

# METADATA
# title: Reserved Pods have no ordinals
# description: reserveUnschedulablePods is not for StatefulSets.
# custom:
#   id: uniteddeployment-reserve
deny contains {"rule": "uniteddeployment-reserve", "field": "spec.topology.scheduleStrategy.adaptive.reserveUnschedulablePods", "type": "forbidden", "message": "is not for StatefulSets"} if {
	spec.topology.scheduleStrategy.adaptive.reserveUnschedulablePods
	some kind in ["advancedStatefulSetTemplate", "statefulSetTemplate"]
	of[kind]
}

# METADATA
# title: Numbers of Pods are numbers or percentages
# description: replicas, minReplicas and maxReplicas of subsets are not negative, or percentages of at most 100%.
# custom:
#   id: uniteddeployment-amount
deny contains {"rule": "uniteddeployment-amount", "field": sprintf("spec.topology.subsets[%d].%s", [i, member]), "type": "invalid", "value": value, "message": `must be a number that is not negative, or a percentage from "0%" to "100%"`} if {
	some i, subset in subsets
	some member in ["maxReplicas", "minReplicas", "replicas"]
	value := subset[member]
	value != null
	not amount(value)
}

amount(value) if rollout.whole(value)

amount(value) if {
	is_string(value)
	regex.match(`^[0-9]+%$`, value)
	to_number(trim_suffix(value, "%")) <= 100
}

total := spec.replicas

# number is an amount of the total; halves are rounded up.
number(value) := value if rollout.whole(value)

number(value) := floor(((to_number(trim_suffix(value, "%")) * total) / 100) + 0.5) if {
	is_string(value)
	amount(value)
}

numbered := [i | some i, subset in subsets; subset.replicas != null]

bounded := [i | some i, subset in subsets; some member in ["maxReplicas", "minReplicas"]; subset[member] != null]

# METADATA
# title: Subsets have numbers or bounds
# description: replicas and minReplicas or maxReplicas are not mixed in one UnitedDeployment.
# custom:
#   id: uniteddeployment-mixed
deny contains {"rule": "uniteddeployment-mixed", "field": "spec.topology.subsets", "type": "forbidden", "message": "replicas cannot be used together with minReplicas or maxReplicas, not even of another subset"} if {
	count(numbered) > 0
	count(bounded) > 0
}

# METADATA
# title: Bounds are of a number
# description: With minReplicas or maxReplicas spec.replicas is set.
# custom:
#   id: uniteddeployment-bounds-total
deny contains {"rule": "uniteddeployment-bounds-total", "field": "spec.replicas", "type": "required", "message": "because subsets have minReplicas or maxReplicas"} if {
	count(bounded) > 0
	object.get(spec, "replicas", null) == null
}

# METADATA
# title: Minimums are below maximums
# description: minReplicas of a subset is at most its maxReplicas.
# custom:
#   id: uniteddeployment-bounds-order
deny contains {"rule": "uniteddeployment-bounds-order", "field": sprintf("spec.topology.subsets[%d].minReplicas", [i]), "type": "invalid", "value": subset.minReplicas, "message": "must not be greater than maxReplicas"} if {
	some i, subset in subsets
	number(subset.minReplicas) > number(subset.maxReplicas)
}

# METADATA
# title: One subset is open
# description: With minReplicas or maxReplicas at least one subset has no maxReplicas.
# custom:
#   id: uniteddeployment-bounds-open
deny contains {"rule": "uniteddeployment-bounds-open", "field": "spec.topology.subsets", "type": "invalid", "message": "at least one subset must have no maxReplicas, or some Pods have no place"} if {
	count(bounded) > 0
	every subset in subsets {
		object.get(subset, "maxReplicas", null) != null
	}
}

# METADATA
# title: Numbers do not exceed the total
# description: replicas of subsets add up to at most spec.replicas, and to just as many if every subset has them.
# custom:
#   id: uniteddeployment-sum
deny contains {"rule": "uniteddeployment-sum", "field": "spec.topology.subsets", "type": "invalid", "message": sprintf("replicas of subsets add up to %d, and spec.replicas is %d", [sum_, total])} if {
	count(numbered) > 0
	sum_ := sum([number(subsets[i].replicas) | some i in numbered])
	unfit(sum_)
}

unfit(sum_) if sum_ > total

unfit(sum_) if {
	sum_ < total
	count(numbered) == count(subsets)
}

# earlier are the subsets before an update, by name.
earlier := object.union_n([{before.name: before} | some before in old_subsets])

# METADATA
# title: Subsets stay where they are
# description: An update leaves nodeSelectorTerm and tolerations of a subset alone; subsets may be added, removed and moved.
# custom:
#   id: uniteddeployment-subset-immutable
deny contains {"rule": "uniteddeployment-subset-immutable", "field": sprintf("spec.topology.subsets[%d].%s", [i, member]), "type": "forbidden", "message": "cannot be changed: add a subset of another name"} if {
	updating
	some i, subset in subsets
	before := earlier[subset.name]
	some member, nothing in {"nodeSelectorTerm": {}, "tolerations": []}
	object.get(subset, member, nothing) != object.get(before, member, nothing)
}

# METADATA
# title: The selector stays
# description: An update does not change spec.selector.
# custom:
#   id: uniteddeployment-selector-immutable
deny contains {"rule": "uniteddeployment-selector-immutable", "field": "spec.selector", "type": "forbidden", "message": "cannot be changed"} if {
	updating
	object.get(spec, "selector", null) != object.get(old, "selector", null)
}

# METADATA
# title: Little of a StatefulSet changes
# description: An update changes nothing of statefulSetTemplate.spec but template, updateStrategy, minReadySeconds, ordinals and persistentVolumeClaimRetentionPolicy, and of advancedStatefulSetTemplate.spec but template and updateStrategy.
# custom:
#   id: uniteddeployment-template-immutable
deny contains object.union(problem, {"rule": "uniteddeployment-template-immutable"}) if {
	updating
	some kind, mutable in mutables
	before := rollout.ordered(object.get(old, ["template", kind, "spec"], {}))
	some problem in rollout.immutable(sprintf("%s.spec", [at[kind]]), before, rollout.ordered(object.get(of[kind], "spec", {})), mutable)
	old.template[kind]
}

mutables := {
	"advancedStatefulSetTemplate": {"template", "updateStrategy"},
	"statefulSetTemplate": {"minReadySeconds", "ordinals", "persistentVolumeClaimRetentionPolicy", "template", "updateStrategy"},
}
