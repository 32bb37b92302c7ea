# METADATA
# title: StatefulSet
# description: What a StatefulSet of apps.kruise.io must be, in either version (statefulset.md §5).
# custom:
#   kinds: [StatefulSet]
package fairlead.apps.statefulset

import data.fairlead.shared.rollout
import data.fairlead.shared.selector
import data.fairlead.shared.template as templates

spec := object.get(input.object, "spec", {})

old := object.get(input, ["oldObject", "spec"], {})

template := object.get(spec, "template", {})

claims := object.get(spec, "volumeClaimTemplates", [])

strategy := object.get(spec, "updateStrategy", {})

rolling := object.get(strategy, "rollingUpdate", {})

at := "spec.updateStrategy.rollingUpdate"

policy := object.get(rolling, "podUpdatePolicy", "")

parallel if spec.podManagementPolicy == "Parallel"

# METADATA
# title: Replicas are not negative
# description: spec.replicas is at least 0.
# custom:
#   id: statefulset-replicas
deny contains {"rule": "statefulset-replicas", "field": "spec.replicas", "type": "invalid", "value": spec.replicas, "message": "must not be negative"} if {
	spec.replicas < 0
}

# METADATA
# title: The selector selects
# description: spec.selector is a valid label selector that asks for something.
# custom:
#   id: statefulset-selector
deny contains object.union(problem, {"rule": "statefulset-selector"}) if {
	some problem in selector.required("spec.selector", object.get(spec, "selector", null))
}

# METADATA
# title: The selector selects the template's Pods
# description: spec.selector matches spec.template.metadata.labels.
# custom:
#   id: statefulset-template-labels
deny contains object.union(problem, {"rule": "statefulset-template-labels"}) if {
	some problem in selector.template_labels("spec.template.metadata.labels", object.get(spec, "selector", null), template)
}

# METADATA
# title: Pods run for good
# description: spec.template.spec.restartPolicy is Always, and activeDeadlineSeconds is not set.
# custom:
#   id: statefulset-template-lasting
deny contains object.union(problem, {"rule": "statefulset-template-lasting"}) if {
	some problem in templates.lasting("spec.template", template)
}

judged := templates.judged("spec.template", template, "spec.volumeClaimTemplates", claims, object.get(old, "template", null), object.get(old, "volumeClaimTemplates", []))

warn contains warning if some warning in judged.warnings

# METADATA
# title: The template makes a Pod
# description: spec.template, with a volume for each of spec.volumeClaimTemplates, is judged by the API server as that of a Pod.
# custom:
#   id: statefulset-template
deny contains object.union(problem, {"rule": "statefulset-template"}) if {
	some problem in judged.errors
}

claims_judged := templates.claims_judged("spec.volumeClaimTemplates", claims, object.get(old, "volumeClaimTemplates", []))

warn contains warning if some warning in [w | some answer in claims_judged; some w in answer.warnings]

# METADATA
# title: The claim templates make claims
# description: Each of spec.volumeClaimTemplates is judged by the API server as a claim.
# custom:
#   id: statefulset-claim-template
deny contains object.union(problem, {"rule": "statefulset-claim-template"}) if {
	some answer in claims_judged
	some problem in answer.errors
}

# METADATA
# title: The order of Pods is known
# description: spec.podManagementPolicy is OrderedReady or Parallel.
# custom:
#   id: statefulset-management-policy
deny contains {"rule": "statefulset-management-policy", "field": "spec.podManagementPolicy", "type": "unsupported", "value": spec.podManagementPolicy, "message": `supported values: "OrderedReady", "Parallel"`} if {
	not spec.podManagementPolicy in {"", "OrderedReady", "Parallel"}
}

# METADATA
# title: The update type is known
# description: spec.updateStrategy.type is RollingUpdate or OnDelete.
# custom:
#   id: statefulset-update-type
deny contains {"rule": "statefulset-update-type", "field": "spec.updateStrategy.type", "type": "unsupported", "value": strategy.type, "message": `supported values: "OnDelete", "RollingUpdate"`} if {
	not strategy.type in {"", "OnDelete", "RollingUpdate"}
}

# METADATA
# title: OnDelete rolls nothing out
# description: With updateStrategy.type OnDelete there is no rollingUpdate.
# custom:
#   id: statefulset-on-delete
deny contains {"rule": "statefulset-on-delete", "field": at, "type": "forbidden", "message": "must not be set with type OnDelete: remove it"} if {
	strategy.type == "OnDelete"
	strategy.rollingUpdate != null
}

# METADATA
# title: The partition is not negative
# description: spec.updateStrategy.rollingUpdate.partition is at least 0.
# custom:
#   id: statefulset-partition
deny contains {"rule": "statefulset-partition", "field": sprintf("%s.partition", [at]), "type": "invalid", "value": rolling.partition, "message": "must not be negative"} if {
	rolling.partition < 0
}

# METADATA
# title: Pods are ready soon
# description: spec.updateStrategy.rollingUpdate.minReadySeconds is from 0 to 300.
# custom:
#   id: statefulset-min-ready
deny contains {"rule": "statefulset-min-ready", "field": sprintf("%s.minReadySeconds", [at]), "type": "invalid", "value": rolling.minReadySeconds, "message": "must be between 0 and 300"} if {
	not rollout.between(rolling.minReadySeconds, 0, 300)
	rolling.minReadySeconds
}

# limits are both numbers of Pods that may be unavailable, by field.
limits[sprintf("%s.maxUnavailable", [at])] := rolling.maxUnavailable if rolling.maxUnavailable != null

limits["spec.scaleStrategy.maxUnavailable"] := spec.scaleStrategy.maxUnavailable if spec.scaleStrategy.maxUnavailable != null

limit(value) if {
	rollout.whole(value)
	value >= 1
}

limit(value) if {
	is_string(value)
	regex.match(`^[0-9]+%$`, value)
	rollout.resolved(value, 1) >= 1
}

# METADATA
# title: Something may be unavailable
# description: maxUnavailable of the update and of spec.scaleStrategy is at least 1, or a percentage of at least 1%.
# custom:
#   id: statefulset-max-unavailable
deny contains {"rule": "statefulset-max-unavailable", "field": field, "type": "invalid", "value": value, "message": `must be at least 1, or a percentage such as "20%"`} if {
	some field, value in limits
	not limit(value)
}

# METADATA
# title: Several at once are parallel
# description: maxUnavailable of the update and of spec.scaleStrategy is 1 unless podManagementPolicy is Parallel.
# custom:
#   id: statefulset-max-unavailable-parallel
deny contains {"rule": "statefulset-max-unavailable-parallel", "field": field, "type": "forbidden", "message": "must be 1 unless podManagementPolicy is Parallel"} if {
	some field, value in limits
	limit(value)
	value != 1
	not parallel
}

# METADATA
# title: The policy for updates of Pods is known
# description: spec.updateStrategy.rollingUpdate.podUpdatePolicy is ReCreate, InPlaceIfPossible or InPlaceOnly.
# custom:
#   id: statefulset-pod-update-policy
deny contains {"rule": "statefulset-pod-update-policy", "field": sprintf("%s.podUpdatePolicy", [at]), "type": "unsupported", "value": policy, "message": `supported values: "InPlaceIfPossible", "InPlaceOnly", "ReCreate"`} if {
	not policy in {"", "InPlaceIfPossible", "InPlaceOnly", "ReCreate"}
}

gated if {
	some gate in template.spec.readinessGates
	gate.conditionType == "InPlaceUpdateReady"
}

# METADATA
# title: Updates in place hold readiness back
# description: With InPlaceIfPossible and InPlaceOnly the template has the readiness gate InPlaceUpdateReady.
# custom:
#   id: statefulset-readiness-gate
deny contains {"rule": "statefulset-readiness-gate", "field": "spec.template.spec.readinessGates", "type": "invalid", "value": object.get(template, ["spec", "readinessGates"], []), "message": "must have conditionType InPlaceUpdateReady, because Pods are updated in place"} if {
	policy in {"InPlaceIfPossible", "InPlaceOnly"}
	not gated
}

# METADATA
# title: Updates without order are parallel
# description: unorderedUpdate is set only if podManagementPolicy is Parallel.
# custom:
#   id: statefulset-unordered
deny contains {"rule": "statefulset-unordered", "field": sprintf("%s.unorderedUpdate", [at]), "type": "forbidden", "message": "must not be set unless podManagementPolicy is Parallel"} if {
	rolling.unorderedUpdate != null
	not parallel
}

# METADATA
# title: Priorities are well-formed
# description: priorityStrategy has weightPriority, with weights from 0 to 100 and selectors that ask for something, or orderPriority, with keys; not both.
# custom:
#   id: statefulset-priority
deny contains object.union(problem, {"rule": "statefulset-priority"}) if {
	some problem in rollout.priority(sprintf("%s.unorderedUpdate.priorityStrategy", [at]), rolling.unorderedUpdate.priorityStrategy)
}

ordinals(value) if rollout.whole(value)

ordinals(value) if {
	is_string(value)
	found := regex.find_all_string_submatch_n(`^([0-9]+)-([0-9]+)$`, value, 1)
	number(found[0][1]) <= number(found[0][2])
}

# number reads digits, which may begin with zeros.
number(digits) := to_number(regex.replace(digits, `^0+([0-9])`, "$1"))

# METADATA
# title: Reserved ordinals are numbers or ranges
# description: Each of spec.reserveOrdinals is a number that is not negative, or a range such as "2-5".
# custom:
#   id: statefulset-reserve-ordinals
deny contains {"rule": "statefulset-reserve-ordinals", "field": sprintf("spec.reserveOrdinals[%d]", [i]), "type": "invalid", "value": value, "message": `must be a number that is not negative, or a range such as "2-5"`} if {
	some i, value in spec.reserveOrdinals
	not ordinals(value)
}

start := spec.ordinals.start

# METADATA
# title: Ordinals are not negative
# description: spec.ordinals.start is at least 0. One that an update leaves alone is not judged.
# custom:
#   id: statefulset-ordinals
deny contains {"rule": "statefulset-ordinals", "field": "spec.ordinals.start", "type": "invalid", "value": start, "message": "must not be negative"} if {
	start < 0
	start != object.get(old, ["ordinals", "start"], null)
}

# METADATA
# title: Claims are retained or deleted
# description: whenDeleted and whenScaled of spec.persistentVolumeClaimRetentionPolicy are Retain or Delete.
# custom:
#   id: statefulset-retention
deny contains {"rule": "statefulset-retention", "field": sprintf("spec.persistentVolumeClaimRetentionPolicy.%s", [name]), "type": "unsupported", "value": value, "message": `supported values: "Delete", "Retain"`} if {
	some name in ["whenDeleted", "whenScaled"]
	value := spec.persistentVolumeClaimRetentionPolicy[name]
	not value in {"", "Delete", "Retain"}
}

mutable := {"lifecycle", "ordinals", "persistentVolumeClaimRetentionPolicy", "replicas", "reserveOrdinals", "revisionHistoryLimit", "scaleStrategy", "template", "updateStrategy", "volumeClaimTemplates", "volumeClaimUpdateStrategy"}

# METADATA
# title: Selector, Service and order stay
# description: An update changes nothing of spec but lifecycle, ordinals, persistentVolumeClaimRetentionPolicy, replicas, reserveOrdinals, revisionHistoryLimit, scaleStrategy, template, updateStrategy, volumeClaimTemplates, volumeClaimUpdateStrategy.
# custom:
#   id: statefulset-immutable
deny contains object.union(problem, {"rule": "statefulset-immutable"}) if {
	input.operation == "UPDATE"
	some problem in rollout.immutable("spec", rollout.ordered(old), rollout.ordered(spec), mutable)
}

# METADATA
# title: In place means images
# description: With InPlaceOnly an update changes nothing of spec.template.spec but images of containers.
# custom:
#   id: statefulset-in-place-only
deny contains object.union(problem, {"rule": "statefulset-in-place-only"}) if {
	input.operation == "UPDATE"
	policy == "InPlaceOnly"
	some problem in rollout.in_place("spec.template.spec", object.get(old, ["template", "spec"], {}), object.get(template, "spec", {}))
}

# resizing says that claims of existing Pods follow their templates.
resizing if {
	data.inventory.gates.StatefulSetAutoResizePVCGate
	input.operation == "UPDATE"
	spec.volumeClaimUpdateStrategy.type == "OnPodRollingUpdate"
}

old_claims := object.get(old, "volumeClaimTemplates", [])

# METADATA
# title: Claims that are resized stay
# description: With volumeClaimUpdateStrategy OnPodRollingUpdate an update adds, removes and renames no claim template.
# custom:
#   id: statefulset-claims-stay
deny contains {"rule": "statefulset-claims-stay", "field": "spec.volumeClaimTemplates", "type": "forbidden", "message": "with OnPodRollingUpdate no claim template can be added, removed or renamed"} if {
	resizing
	templates.names(claims) != templates.names(old_claims)
}

# sized are claim templates with what they were.
sized contains [i, claim, before] if {
	resizing
	some i, claim in claims
	before := old_claims[i]
	claim.metadata.name == before.metadata.name
}

# fixed is what stays of a claim template, with the default that it may have got before.
fixed(claim) := object.union({"volumeMode": "Filesystem"}, object.remove(object.get(claim, "spec", {}), ["resources", "storageClassName"]))

# METADATA
# title: Claims change in size only
# description: With volumeClaimUpdateStrategy OnPodRollingUpdate an update changes nothing of a claim template but the storage that it asks for.
# custom:
#   id: statefulset-claim-size
deny contains {"rule": "statefulset-claim-size", "field": sprintf("spec.volumeClaimTemplates[%d].spec", [i]), "type": "forbidden", "message": "with OnPodRollingUpdate nothing but resources may change"} if {
	some [i, claim, before] in sized
	other(claim, before)
}

other(claim, before) if fixed(claim) != fixed(before)

other(claim, before) if claim.spec.storageClassName != before.spec.storageClassName

# METADATA
# title: The storage can be resized
# description: With volumeClaimUpdateStrategy OnPodRollingUpdate the StorageClass of a claim template whose size changes exists and allows expansion.
# custom:
#   id: statefulset-claim-grows
deny contains {"rule": "statefulset-claim-grows", "field": sprintf("spec.volumeClaimTemplates[%d].spec.resources", [i]), "type": "forbidden", "message": message} if {
	some [i, claim, before] in sized
	object.get(claim.spec, "resources", {}) != object.get(before.spec, "resources", {})
	class := fairlead.storage_class(object.get(claim.spec, "storageClassName", ""))
	message := rigid(class)
}

rigid(class) := sprintf("there is no StorageClass %q", [class.name]) if {
	not class.found
	class.name != ""
}

rigid(class) := sprintf("StorageClass %q does not allow volumes to be expanded", [class.name]) if class.fixed
