# METADATA
# title: BroadcastJob
# description: What a BroadcastJob must be, in either version (jobs.md §A3).
# custom:
#   kinds: [BroadcastJob]
package fairlead.apps.broadcastjob

import data.fairlead.shared.job
import data.fairlead.shared.template as templates

spec := object.get(input.object, "spec", {})

old := object.get(input, ["oldObject", "spec"], {})

template := object.get(spec, "template", {})

# METADATA
# title: The name is short and plain
# description: A BroadcastJob's name has letters, digits and '-' only, at most 63 of them, because it becomes a label's value.
# custom:
#   id: broadcastjob-name
deny contains {"rule": "broadcastjob-name", "field": "metadata.name", "type": "invalid", "value": name, "message": "must be at most 63 letters, digits or '-'"} if {
	name := input.object.metadata.name
	not regex.match(`^[A-Za-z0-9-]{1,63}$`, name)
}

# METADATA
# title: Completion is well-defined
# description: spec.completionPolicy.type is Always or Never; with Never there is neither activeDeadlineSeconds nor ttlSecondsAfterFinished, and neither is negative.
# custom:
#   id: broadcastjob-completion
deny contains object.union(problem, {"rule": "broadcastjob-completion"}) if {
	some problem in job.completion("spec", spec)
}

# METADATA
# title: The failure policy is known
# description: spec.failurePolicy.type is FailFast, Continue or Pause, and restartLimit is not negative.
# custom:
#   id: broadcastjob-failure
deny contains object.union(problem, {"rule": "broadcastjob-failure"}) if {
	some problem in job.failure("spec", spec)
}

# METADATA
# title: Parallelism is a number or a percentage
# description: spec.parallelism is not negative, or a percentage such as "20%".
# custom:
#   id: broadcastjob-parallelism
deny contains object.union(problem, {"rule": "broadcastjob-parallelism"}) if {
	some problem in job.parallelism("spec", spec)
}

# METADATA
# title: Pods end
# description: spec.template.spec.restartPolicy is OnFailure, its default here, or Never.
# custom:
#   id: broadcastjob-restart-policy
deny contains object.union(problem, {"rule": "broadcastjob-restart-policy"}) if {
	some problem in job.restart("spec", spec)
}

# METADATA
# title: The controller's labels are its own
# description: The template has neither of the labels broadcastjob-name and broadcastjob-controller-uid.
# custom:
#   id: broadcastjob-labels
deny contains object.union(problem, {"rule": "broadcastjob-labels"}) if {
	some problem in job.labels("spec", spec)
}

judged := templates.judged("spec.template", template, "", [], object.get(old, "template", null), [])

warn contains warning if some warning in judged.warnings

# METADATA
# title: The template makes a Pod
# description: spec.template is judged by the API server as that of a Pod.
# custom:
#   id: broadcastjob-template
deny contains object.union(problem, {"rule": "broadcastjob-template"}) if {
	some problem in judged.errors
}
