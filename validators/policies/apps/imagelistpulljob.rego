# METADATA
# title: ImageListPullJob
# description: What an ImageListPullJob must be, in either version (image-pull.md §5).
# custom:
#   kinds: [ImageListPullJob]
#   code: 400
package fairlead.apps.imagelistpulljob

import data.fairlead.shared.pull

spec := object.get(input.object, "spec", {})

old := object.get(input, ["oldObject", "spec"], {})

namespace := object.get(input.object, ["metadata", "namespace"], "")

name := object.get(input.object, ["metadata", "name"], "")

# METADATA
# title: The kind is switched on
# description: The feature gates KruiseDaemon and ImagePullJobGate are on.
# custom:
#   id: imagelistpulljob-gate
#   code: 403
deny contains {"rule": "imagelistpulljob-gate", "field": "spec", "type": "forbidden", "message": sprintf("the feature gate %s is off", [gate])} if {
	some gate in ["ImagePullJobGate", "KruiseDaemon"]
	not data.inventory.gates[gate]
}

# METADATA
# title: The images are some
# description: spec.images has between 1 and 255 references to images, each once.
# custom:
#   id: imagelistpulljob-images
deny contains object.union(problem, {"rule": "imagelistpulljob-images"}) if {
	some problem in pull.images("spec", spec)
}

# METADATA
# title: Nodes are selected in one way
# description: spec.selector has names or labels, each name once, and is not used together with spec.podSelector; both are valid.
# custom:
#   id: imagelistpulljob-selectors
deny contains object.union(problem, {"rule": "imagelistpulljob-selectors"}) if {
	some problem in pull.selectors("spec", spec)
}

# METADATA
# title: Numbers can be counted
# description: spec.parallelism is a number, not a percentage; pullPolicy.timeoutSeconds is greater than 0, and pullPolicy.backoffLimit not negative; spec.imagePullPolicy is Always or IfNotPresent.
# custom:
#   id: imagelistpulljob-numbers
deny contains object.union(problem, {"rule": "imagelistpulljob-numbers"}) if {
	some problem in pull.numbers("spec", spec)
}

# METADATA
# title: Completion is well-defined
# description: spec.completionPolicy.type is Always or Never; activeDeadlineSeconds leaves time for an attempt, and with Never neither it nor ttlSecondsAfterFinished is set.
# custom:
#   id: imagelistpulljob-completion
deny contains object.union(problem, {"rule": "imagelistpulljob-completion"}) if {
	some problem in pull.completion("spec", spec)
}
