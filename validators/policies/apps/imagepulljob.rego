# METADATA
# title: ImagePullJob
# description: What an ImagePullJob must be, in either version (image-pull.md §3.2).
# custom:
#   kinds: [ImagePullJob]
#   code: 400
package fairlead.apps.imagepulljob

import data.fairlead.shared.pull

spec := object.get(input.object, "spec", {})

old := object.get(input, ["oldObject", "spec"], {})

namespace := object.get(input.object, ["metadata", "namespace"], "")

name := object.get(input.object, ["metadata", "name"], "")

# METADATA
# title: The kind is switched on
# description: The feature gates KruiseDaemon and ImagePullJobGate are on.
# custom:
#   id: imagepulljob-gate
#   code: 403
deny contains {"rule": "imagepulljob-gate", "field": "spec", "type": "forbidden", "message": sprintf("the feature gate %s is off", [gate])} if {
	some gate in ["ImagePullJobGate", "KruiseDaemon"]
	not data.inventory.gates[gate]
}

# METADATA
# title: The image is one
# description: spec.image is a reference to an image.
# custom:
#   id: imagepulljob-image
deny contains {"rule": "imagepulljob-image", "field": "spec.image", "type": "invalid", "value": image, "message": message} if {
	image := object.get(spec, "image", "")
	message := fairlead.image_error(image)
	message != ""
}

# METADATA
# title: Nodes are selected in one way
# description: spec.selector has names or labels, each name once, and is not used together with spec.podSelector; both are valid.
# custom:
#   id: imagepulljob-selectors
deny contains object.union(problem, {"rule": "imagepulljob-selectors"}) if {
	some problem in pull.selectors("spec", spec)
}

# METADATA
# title: Numbers can be counted
# description: spec.parallelism is a number, not a percentage; pullPolicy.timeoutSeconds is greater than 0, and pullPolicy.backoffLimit not negative; spec.imagePullPolicy is Always or IfNotPresent.
# custom:
#   id: imagepulljob-numbers
deny contains object.union(problem, {"rule": "imagepulljob-numbers"}) if {
	some problem in pull.numbers("spec", spec)
}

# METADATA
# title: Completion is well-defined
# description: spec.completionPolicy.type is Always or Never; activeDeadlineSeconds leaves time for an attempt, and with Never neither it nor ttlSecondsAfterFinished is set.
# custom:
#   id: imagepulljob-completion
deny contains object.union(problem, {"rule": "imagepulljob-completion"}) if {
	some problem in pull.completion("spec", spec)
}

# METADATA
# title: Secrets stay
# description: An update does not change spec.pullSecrets.
# custom:
#   id: imagepulljob-secrets-immutable
#   code: 403
deny contains {"rule": "imagepulljob-secrets-immutable", "field": "spec.pullSecrets", "type": "forbidden", "message": "cannot be changed: create another ImagePullJob"} if {
	input.operation == "UPDATE"
	object.get(spec, "pullSecrets", []) != object.get(old, "pullSecrets", [])
}
