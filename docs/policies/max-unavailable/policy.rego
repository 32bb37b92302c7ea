# METADATA
# title: CloneSets keep enough Pods while they roll out
# description: >-
#   The maxUnavailable of a CloneSet is at most the share of its replicas in parameters; one Pod is always allowed.
# custom:
#   match:
#     - apiGroups: [apps.kruise.io]
#       apiVersions: [v1alpha1, v1beta1]
#       resources: [clonesets]
package max_unavailable

object_ := input.request.object

# most is the cap in percent.
most := object.get(data.parameters, "percent", 25)

replicas := object.get(object_, ["spec", "replicas"], 1)

strategy := object.get(object_, ["spec", "updateStrategy"], {})

# written is where each version has it. What is left out is 20%, in both.
written := {
	"apps.kruise.io/v1alpha1": {"field": "spec.updateStrategy.maxUnavailable", "value": object.get(strategy, "maxUnavailable", "20%")},
	"apps.kruise.io/v1beta1": {
		"field": "spec.updateStrategy.rollingUpdate.maxUnavailable",
		"value": object.get(strategy, ["rollingUpdate", "maxUnavailable"], "20%"),
	},
}

# METADATA
# title: maxUnavailable is capped
# custom:
#   id: max-unavailable
deny contains {"field": here.field, "message": message} if {
	here := written[object_.apiVersion]
	share(here.value) > most
	not pods(here.value) <= 1
	message := sprintf("%v of %d replicas is more than %v%%", [here.value, replicas, most])
}

# share is a number of Pods or a percentage, in percent of the replicas.
share(value) := to_number(trim_suffix(value, "%")) if is_string(value)

share(value) := (100 * value) / replicas if {
	is_number(value)
	replicas > 0
}

# pods is how many that are; a percentage is rounded up.
pods(value) := ceil((replicas * share(value)) / 100) if is_string(value)

pods(value) := value if is_number(value)
