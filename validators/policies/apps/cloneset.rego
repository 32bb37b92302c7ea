# METADATA
# title: CloneSet
# description: What a CloneSet must be, in either version (cloneset.md §9).
# custom:
#   kinds: [CloneSet]
package fairlead.apps.cloneset

import data.fairlead.shared.list
import data.fairlead.shared.rollout
import data.fairlead.shared.selector
import data.fairlead.shared.template as templates

spec := object.get(input.object, "spec", {})

old := object.get(input, ["oldObject", "spec"], {})

template := object.get(spec, "template", {})

claims := object.get(spec, "volumeClaimTemplates", [])

strategy := object.get(spec, "updateStrategy", {})

alpha if endswith(input.object.apiVersion, "/v1alpha1")

# rolling has the members that v1alpha1 has one level higher.
rolling := strategy if alpha

else := object.get(strategy, "rollingUpdate", {})

rolling_field := "spec.updateStrategy" if alpha

else := "spec.updateStrategy.rollingUpdate"

# policy says how Pods are updated.
policy := object.get(strategy, "type", "") if alpha

else := object.get(rolling, "podUpdatePolicy", "")

policy_field := "spec.updateStrategy.type" if alpha

else := "spec.updateStrategy.rollingUpdate.podUpdatePolicy"

replicas := object.get(spec, "replicas", 1)

# METADATA
# title: Replicas are not negative
# description: spec.replicas is at least 0.
# custom:
#   id: cloneset-replicas
deny contains {"rule": "cloneset-replicas", "field": "spec.replicas", "type": "invalid", "value": replicas, "message": "must not be negative"} if {
	replicas < 0
}

# METADATA
# title: The selector selects
# description: spec.selector is a valid label selector that asks for something.
# custom:
#   id: cloneset-selector
deny contains object.union(problem, {"rule": "cloneset-selector"}) if {
	some problem in selector.required("spec.selector", object.get(spec, "selector", null))
}

# METADATA
# title: The selector selects the template's Pods
# description: spec.selector matches spec.template.metadata.labels.
# custom:
#   id: cloneset-template-labels
deny contains object.union(problem, {"rule": "cloneset-template-labels"}) if {
	some problem in selector.template_labels("spec.template.metadata.labels", object.get(spec, "selector", null), template)
}

# METADATA
# title: Pods run for good
# description: spec.template.spec.restartPolicy is Always, and activeDeadlineSeconds is not set.
# custom:
#   id: cloneset-template-lasting
deny contains object.union(problem, {"rule": "cloneset-template-lasting"}) if {
	some problem in templates.lasting("spec.template", template)
}

judged := templates.judged("spec.template", template, "spec.volumeClaimTemplates", claims, object.get(old, "template", null), object.get(old, "volumeClaimTemplates", []))

claims_judged := set() if claims == []

else := templates.claims_judged("spec.volumeClaimTemplates", claims, object.get(old, "volumeClaimTemplates", []))

warn contains warning if some warning in judged.warnings

warn contains warning if some warning in [w | some answer in claims_judged; some w in answer.warnings]

# METADATA
# title: The template makes a Pod
# description: spec.template, with a volume for each of spec.volumeClaimTemplates, is judged by the API server as that of a Pod.
# custom:
#   id: cloneset-template
deny contains object.union(problem, {"rule": "cloneset-template"}) if {
	some problem in judged.errors
}

# METADATA
# title: The claim templates make claims
# description: Each of spec.volumeClaimTemplates is judged by the API server as a claim.
# custom:
#   id: cloneset-claim-template
deny contains object.union(problem, {"rule": "cloneset-claim-template"}) if {
	some answer in claims_judged
	some problem in answer.errors
}

to_delete := object.get(spec, ["scaleStrategy", "podsToDelete"], [])

# METADATA
# title: Pods to delete are named once
# description: No name is twice in spec.scaleStrategy.podsToDelete.
# custom:
#   id: cloneset-pods-to-delete-duplicate
deny contains {"rule": "cloneset-pods-to-delete-duplicate", "field": sprintf("spec.scaleStrategy.podsToDelete[%d]", [i]), "type": "duplicate", "value": to_delete[i]} if {
	some i in list.repeated(to_delete)
}

# added are the names that an update adds. A CloneSet that is being created has no Pods yet, so that names do no harm.
added := {name |
	input.operation == "UPDATE"
	some name in to_delete
	not name in old_to_delete
}

old_to_delete := {name | some name in object.get(old, ["scaleStrategy", "podsToDelete"], [])}

strangers := fairlead.not_own_pods(input.object.metadata.namespace, [name | some name in added], object.get(input.oldObject, ["metadata", "uid"], "")) if {
	count(added) > 0
} else := {}

# METADATA
# title: Pods to delete are its own
# description: A name that an update adds to spec.scaleStrategy.podsToDelete is that of a Pod which this CloneSet controls and which is not being deleted.
# custom:
#   id: cloneset-pods-to-delete-own
deny contains {"rule": "cloneset-pods-to-delete-own", "field": sprintf("spec.scaleStrategy.podsToDelete[%d]", [i]), "type": "invalid", "value": name, "message": strangers[name]} if {
	some i, name in to_delete
	strangers[name]
}

# METADATA
# title: The update type is known
# description: spec.updateStrategy.type is RollingUpdate or OnDelete, and in v1alpha1 ReCreate, InPlaceIfPossible, InPlaceOnly or OnDelete.
# custom:
#   id: cloneset-update-type
deny contains {"rule": "cloneset-update-type", "field": "spec.updateStrategy.type", "type": "unsupported", "value": strategy.type, "message": sprintf("supported values: %s", [concat(", ", [sprintf("%q", [t]) | some t in types])])} if {
	strategy.type != ""
	not strategy.type in types
}

types := {"InPlaceIfPossible", "InPlaceOnly", "OnDelete", "ReCreate"} if alpha

else := {"OnDelete", "RollingUpdate"}

# METADATA
# title: The policy for updates of Pods is known
# description: spec.updateStrategy.rollingUpdate.podUpdatePolicy is ReCreate, InPlaceIfPossible or InPlaceOnly.
# custom:
#   id: cloneset-pod-update-policy
deny contains {"rule": "cloneset-pod-update-policy", "field": policy_field, "type": "unsupported", "value": policy, "message": `supported values: "InPlaceIfPossible", "InPlaceOnly", "ReCreate"`} if {
	not alpha
	not policy in {"", "InPlaceIfPossible", "InPlaceOnly", "ReCreate"}
}

# METADATA
# title: Numbers of Pods are numbers or percentages
# description: partition, maxUnavailable and maxSurge of the update strategy are not negative, or percentages such as "20%".
# custom:
#   id: cloneset-amount
deny contains object.union(problem, {"rule": "cloneset-amount"}) if {
	some problem in rollout.amounts(rolling_field, rolling, ["maxSurge", "maxUnavailable", "partition"])
}

# METADATA
# title: Pods are added by a number or a percentage
# description: spec.scaleStrategy.maxUnavailable is not negative, or a percentage such as "20%". One that an update leaves alone is not judged.
# custom:
#   id: cloneset-scale-amount
deny contains object.union(problem, {"rule": "cloneset-scale-amount"}) if {
	scaling := spec.scaleStrategy
	scaling.maxUnavailable != object.get(old, ["scaleStrategy", "maxUnavailable"], null)
	some problem in rollout.amounts("spec.scaleStrategy", scaling, ["maxUnavailable"])
}

# METADATA
# title: Updates can go on
# description: maxUnavailable or maxSurge allows for at least one Pod, if there are replicas.
# custom:
#   id: cloneset-no-progress
deny contains {"rule": "cloneset-no-progress", "field": sprintf("%s.maxUnavailable", [rolling_field]), "type": "invalid", "value": rolling.maxUnavailable, "message": "maxUnavailable and maxSurge are both 0: no Pod could ever be updated"} if {
	replicas > 0
	rollout.resolved(rolling.maxUnavailable, replicas) == 0
	rollout.resolved(object.get(rolling, "maxSurge", 0), replicas) == 0
}

# METADATA
# title: Nothing surges in place
# description: maxSurge is 0 with InPlaceOnly.
# custom:
#   id: cloneset-surge-in-place
deny contains {"rule": "cloneset-surge-in-place", "field": sprintf("%s.maxSurge", [rolling_field]), "type": "invalid", "value": rolling.maxSurge, "message": "must be 0 with InPlaceOnly: no Pod is ever created for an update"} if {
	policy == "InPlaceOnly"
	rollout.resolved(rolling.maxSurge, replicas) > 0
}

# METADATA
# title: Priorities are well-formed
# description: priorityStrategy has weightPriority, with weights from 0 to 100 and selectors that ask for something, or orderPriority, with keys; not both.
# custom:
#   id: cloneset-priority
deny contains object.union(problem, {"rule": "cloneset-priority"}) if {
	priorities := rolling.priorityStrategy
	some problem in rollout.priority(sprintf("%s.priorityStrategy", [rolling_field]), priorities)
}

# METADATA
# title: Scattered terms are well-formed
# description: Every term of scatterStrategy has a key, and no two have the same key and value.
# custom:
#   id: cloneset-scatter
deny contains object.union(problem, {"rule": "cloneset-scatter"}) if {
	terms := rolling.scatterStrategy
	some problem in rollout.scatter(sprintf("%s.scatterStrategy", [rolling_field]), terms)
}

# METADATA
# title: Images are pulled ahead by numbers
# description: imagePreDownloadParallelism is a number, not a percentage, and with imagePreDownloadTimeoutSeconds and imagePreDownloadMinUpdatedReadyPods not negative. In v1alpha1 they mean nothing; its annotations may say more, so that what an update leaves alone is not judged.
# custom:
#   id: cloneset-predownload
deny contains object.union(problem, {"rule": "cloneset-predownload"}) if {
	not alpha
	in_place := rolling.inPlaceUpdateStrategy
	before := object.get(old, ["updateStrategy", "rollingUpdate", "inPlaceUpdateStrategy"], {})
	some problem in rollout.predownload(sprintf("%s.inPlaceUpdateStrategy", [rolling_field]), in_place)
	some name, value in in_place
	endswith(problem.field, name)
	value != object.get(before, name, null)
}

# METADATA
# title: Deadlines leave time
# description: spec.progressDeadlineSeconds is greater than spec.minReadySeconds; 2147483647 is no deadline. What an update leaves alone is not judged.
# custom:
#   id: cloneset-progress-deadline
deny contains {"rule": "cloneset-progress-deadline", "field": "spec.progressDeadlineSeconds", "type": "invalid", "value": spec.progressDeadlineSeconds, "message": sprintf("must not be negative, and greater than minReadySeconds, which is %d", [minimum])} if {
	minimum := object.get(spec, "minReadySeconds", 0)
	[spec.progressDeadlineSeconds, minimum] != [object.get(old, "progressDeadlineSeconds", null), object.get(old, "minReadySeconds", 0)]
	spec.progressDeadlineSeconds != 2147483647
	too_short(spec.progressDeadlineSeconds, minimum)
}

too_short(deadline, _) if deadline < 0

too_short(deadline, minimum) if deadline <= minimum

mutable := {"lifecycle", "minReadySeconds", "progressDeadlineSeconds", "replicas", "revisionHistoryLimit", "scaleStrategy", "template", "updateStrategy", "volumeClaimTemplates"}

# METADATA
# title: The selector stays
# description: An update changes nothing of spec but replicas, template, volumeClaimTemplates, scaleStrategy, updateStrategy, minReadySeconds, lifecycle, revisionHistoryLimit and progressDeadlineSeconds.
# custom:
#   id: cloneset-immutable
deny contains object.union(problem, {"rule": "cloneset-immutable"}) if {
	input.operation == "UPDATE"
	some problem in rollout.immutable("spec", old, spec, mutable)
}

# METADATA
# title: In place means images
# description: With InPlaceOnly an update changes nothing of spec.template.spec but images of containers.
# custom:
#   id: cloneset-in-place-only
deny contains object.union(problem, {"rule": "cloneset-in-place-only"}) if {
	input.operation == "UPDATE"
	policy == "InPlaceOnly"
	some problem in rollout.in_place("spec.template.spec", object.get(old, ["template", "spec"], {}), object.get(template, "spec", {}))
}
