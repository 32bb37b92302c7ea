# METADATA
# title: PersistentPodState
# description: What a PersistentPodState must be, in either version (more-controllers.md §2).
# custom:
#   kinds: [PersistentPodState]
#   code: 400
package fairlead.apps.persistentpodstate

spec := object.get(input.object, "spec", {})

old := object.get(input, ["oldObject", "spec"], {})

namespace := object.get(input.object, ["metadata", "namespace"], "")

name := object.get(input.object, ["metadata", "name"], "")

target := object.get(spec, "targetRef", {})

group(api) := substring(api, 0, indexof(api, "/")) if contains(api, "/")

else := ""

whole_target if {
	every member in ["apiVersion", "kind", "name"] {
		object.get(target, member, "") != ""
	}
}

# listed are the kinds that administrators added.
listed contains [workload.Kind, workload.Group] if {
	configured := fairlead.configuration("PPS_Watch_Custom_Workload_WhiteList")
	json.is_valid(configured)
	some workload in json.unmarshal(configured).workloads
}

known_kind if {
	target.kind == "StatefulSet"
	group(target.apiVersion) in {"apps", "apps.kruise.io"}
}

known_kind if [target.kind, group(target.apiVersion)] in listed

# METADATA
# title: The target is whole
# description: spec.targetRef has apiVersion, kind and name.
# custom:
#   id: persistentpodstate-target
deny contains {"rule": "persistentpodstate-target", "field": sprintf("spec.targetRef.%s", [member]), "type": "required", "message": "name a workload of this namespace whole: apiVersion, kind and name"} if {
	some member in ["apiVersion", "kind", "name"]
	object.get(target, member, "") == ""
}

# METADATA
# title: The kind of target is known
# description: spec.targetRef is a StatefulSet of apps or apps.kruise.io, or a kind that PPS_Watch_Custom_Workload_WhiteList of the ConfigMap kruise-configuration lists.
# custom:
#   id: persistentpodstate-target-kind
deny contains {"rule": "persistentpodstate-target-kind", "field": "spec.targetRef", "type": "invalid", "value": target, "message": "must be a StatefulSet, or a kind that the ConfigMap kruise-configuration lists in PPS_Watch_Custom_Workload_WhiteList"} if {
	whole_target
	not known_kind
}

# METADATA
# title: A topology is kept
# description: spec.requiredPersistentTopology or spec.preferredPersistentTopology is set.
# custom:
#   id: persistentpodstate-topology
deny contains {"rule": "persistentpodstate-topology", "field": "spec.requiredPersistentTopology", "type": "required", "message": "set requiredPersistentTopology or preferredPersistentTopology"} if {
	object.get(spec, "requiredPersistentTopology", null) == null
	count(object.get(spec, "preferredPersistentTopology", [])) == 0
}

# METADATA
# title: Weights are not negative
# description: The weight of every item of spec.preferredPersistentTopology is at least 0.
# custom:
#   id: persistentpodstate-weight
deny contains {"rule": "persistentpodstate-weight", "field": sprintf("spec.preferredPersistentTopology[%d].weight", [i]), "type": "invalid", "value": term.weight, "message": "must not be negative"} if {
	some i, term in spec.preferredPersistentTopology
	term.weight < 0
}

# METADATA
# title: The retention is known
# description: spec.persistentPodStateRetentionPolicy is WhenScaled or WhenDeleted.
# custom:
#   id: persistentpodstate-retention
deny contains {"rule": "persistentpodstate-retention", "field": "spec.persistentPodStateRetentionPolicy", "type": "unsupported", "value": policy, "message": `supported values: "WhenDeleted", "WhenScaled"`} if {
	policy := spec.persistentPodStateRetentionPolicy
	not policy in {"", "WhenDeleted", "WhenScaled"}
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
#   id: persistentpodstate-immutable
deny contains {"rule": "persistentpodstate-immutable", "field": "spec.targetRef", "type": "forbidden", "message": "cannot be changed: delete this PersistentPodState and create another"} if {
	input.operation == "UPDATE"
	not same(object.get(old, "targetRef", {}))
}

# METADATA
# title: Targets have one PersistentPodState
# description: No other PersistentPodState of the namespace has the same target, in whatever version.
# custom:
#   id: persistentpodstate-same-target
deny contains {"rule": "persistentpodstate-same-target", "field": "spec.targetRef", "type": "invalid", "value": target, "message": sprintf("PersistentPodState %q has this target already", [other])} if {
	whole_target
	not same(object.get(old, "targetRef", {}))
	some other in fairlead.same_target("persistentpodstates", namespace, name, target)
}
