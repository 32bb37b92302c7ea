# METADATA
# title: AdvancedCronJob
# description: What an AdvancedCronJob must be, in either version (jobs.md §B4).
# custom:
#   kinds: [AdvancedCronJob]
package fairlead.apps.advancedcronjob

import data.fairlead.shared.job
import data.fairlead.shared.pull
import data.fairlead.shared.rollout
import data.fairlead.shared.template as templates

spec := object.get(input.object, "spec", {})

old := object.get(input, ["oldObject", "spec"], {})

# of are the templates of which there is one.
of := {name: value |
	some name in ["broadcastJobTemplate", "imageListPullJobTemplate", "jobTemplate"]
	value := spec.template[name]
	value != null
}

# METADATA
# title: The name leaves room
# description: An AdvancedCronJob's name has letters, digits and '-' only, at most 52 of them, because jobs are called by it, a '-' and ten digits, and have at most 63.
# custom:
#   id: advancedcronjob-name
deny contains {"rule": "advancedcronjob-name", "field": "metadata.name", "type": "invalid", "value": name, "message": "must be at most 52 letters, digits or '-': jobs are called by it and the time"} if {
	input.operation == "CREATE"
	name := input.object.metadata.name
	not regex.match(`^[A-Za-z0-9-]{1,52}$`, name)
}

# METADATA
# title: The schedule can be read
# description: spec.schedule has five fields or is a descriptor such as @hourly.
# custom:
#   id: advancedcronjob-schedule
deny contains {"rule": "advancedcronjob-schedule", "field": "spec.schedule", "type": "invalid", "value": schedule, "message": message} if {
	schedule := object.get(spec, "schedule", "")
	message := fairlead.schedule_error(schedule)
	message != ""
}

# METADATA
# title: There is one time zone
# description: spec.schedule names no zone if spec.timeZone does.
# custom:
#   id: advancedcronjob-one-zone
deny contains {"rule": "advancedcronjob-one-zone", "field": "spec.timeZone", "type": "forbidden", "message": "the schedule has a time zone already: remove one of them"} if {
	spec.timeZone != null
	contains(spec.schedule, "TZ")
}

# METADATA
# title: The time zone is known
# description: spec.timeZone is the name of a zone such as Europe/Berlin.
# custom:
#   id: advancedcronjob-time-zone
deny contains {"rule": "advancedcronjob-time-zone", "field": "spec.timeZone", "type": "invalid", "value": spec.timeZone, "message": message} if {
	message := fairlead.time_zone_error(spec.timeZone)
	is_string(spec.timeZone)
	message != ""
}

# METADATA
# title: Numbers are not negative
# description: startingDeadlineSeconds, successfulJobsHistoryLimit and failedJobsHistoryLimit are at least 0.
# custom:
#   id: advancedcronjob-not-negative
deny contains {"rule": "advancedcronjob-not-negative", "field": sprintf("spec.%s", [name]), "type": "invalid", "value": spec[name], "message": "must not be negative"} if {
	some name in ["failedJobsHistoryLimit", "startingDeadlineSeconds", "successfulJobsHistoryLimit"]
	spec[name] < 0
}

# METADATA
# title: The concurrency policy is known
# description: spec.concurrencyPolicy is Allow, Forbid or Replace; lists of images are not pulled at once, so that Allow is not for them.
# custom:
#   id: advancedcronjob-concurrency
deny contains {"rule": "advancedcronjob-concurrency", "field": "spec.concurrencyPolicy", "type": "unsupported", "value": policy, "message": sprintf("supported values: %s", [concat(", ", [sprintf("%q", [p]) | some p in policies])])} if {
	policy := spec.concurrencyPolicy
	not policy in (policies | {""})
}

policies := {"Forbid", "Replace"} if of.imageListPullJobTemplate

else := {"Allow", "Forbid", "Replace"}

# METADATA
# title: There is one template
# description: spec.template has one of jobTemplate, broadcastJobTemplate and imageListPullJobTemplate.
# custom:
#   id: advancedcronjob-one-template
deny contains {"rule": "advancedcronjob-one-template", "field": "spec.template", "type": "invalid", "value": [name | some name, _ in of], "message": "must have one of jobTemplate, broadcastJobTemplate and imageListPullJobTemplate"} if {
	count(of) != 1
}

at[name] := sprintf("spec.template.%s.spec", [name]) if some name, _ in of

specs[name] := object.get(template, "spec", {}) if some name, template in of

# pods are the templates of Pods.
pods[name] := object.get(specs[name], "template", {}) if some name in ["broadcastJobTemplate", "jobTemplate"]

# METADATA
# title: Pods end
# description: The restartPolicy of jobs' templates is OnFailure or Never.
# custom:
#   id: advancedcronjob-restart-policy
deny contains object.union(problem, {"rule": "advancedcronjob-restart-policy"}) if {
	some name, template in pods
	some problem in templates.ending(sprintf("%s.template", [at[name]]), template)
}

judged[name] := templates.judged(sprintf("%s.template", [at[name]]), template, "", [], object.get(old, ["template", name, "spec", "template"], null), []) if some name, template in pods

warn contains warning if some warning in [w | some answer in judged; some w in answer.warnings]

# METADATA
# title: The template makes a Pod
# description: The template of a job's Pods is judged by the API server.
# custom:
#   id: advancedcronjob-template
deny contains object.union(problem, {"rule": "advancedcronjob-template"}) if {
	some name, _ in pods
	some problem in judged[name].errors
}

# METADATA
# title: BroadcastJobs are well-defined
# description: spec.template.broadcastJobTemplate.spec has policies, parallelism and labels as those of a BroadcastJob.
# custom:
#   id: advancedcronjob-broadcast
deny contains object.union(problem, {"rule": "advancedcronjob-broadcast"}) if {
	broadcast := specs.broadcastJobTemplate
	some problem in ((job.completion(at.broadcastJobTemplate, broadcast) | job.failure(at.broadcastJobTemplate, broadcast)) | job.parallelism(at.broadcastJobTemplate, broadcast)) | job.labels(at.broadcastJobTemplate, broadcast)
}

# METADATA
# title: Lists of images can be pulled
# description: spec.template.imageListPullJobTemplate.spec has images, selectors and numbers as those of an ImageListPullJob.
# custom:
#   id: advancedcronjob-pull
deny contains object.union(problem, {"rule": "advancedcronjob-pull"}) if {
	list := specs.imageListPullJobTemplate
	some problem in ((pull.selectors(at.imageListPullJobTemplate, list) | pull.numbers(at.imageListPullJobTemplate, list)) | pull.images(at.imageListPullJobTemplate, list)) | pull.completion(at.imageListPullJobTemplate, list)
}

# METADATA
# title: Lists of images come to an end
# description: Of lists of images completionPolicy.type is Always, ttlSecondsAfterFinished is not set, and activeDeadlineSeconds is at most a day.
# custom:
#   id: advancedcronjob-pull-ends
deny contains {"rule": "advancedcronjob-pull-ends", "field": sprintf("%s.completionPolicy.%s", [at.imageListPullJobTemplate, name]), "type": "invalid", "value": value, "message": message} if {
	some [name, value, message] in endless
}

completion := object.get(specs, ["imageListPullJobTemplate", "completionPolicy"], {})

endless contains ["type", completion.type, "must be Always"] if completion.type == "Never"

endless contains ["ttlSecondsAfterFinished", completion.ttlSecondsAfterFinished, "must not be set: the limits of the history decide"] if {
	completion.ttlSecondsAfterFinished != null
	object.get(completion, "type", "") != "Never"
}

endless contains ["activeDeadlineSeconds", completion.activeDeadlineSeconds, "must be at most 86400, a day"] if completion.activeDeadlineSeconds > 86400

mutable := {"concurrencyPolicy", "failedJobsHistoryLimit", "paused", "schedule", "startingDeadlineSeconds", "successfulJobsHistoryLimit", "template", "timeZone"}

# METADATA
# title: Little changes
# description: An update changes nothing of spec but concurrencyPolicy, failedJobsHistoryLimit, paused, schedule, startingDeadlineSeconds, successfulJobsHistoryLimit, template, timeZone. The template is for another rule.
# custom:
#   id: advancedcronjob-immutable
deny contains object.union(problem, {"rule": "advancedcronjob-immutable"}) if {
	input.operation == "UPDATE"
	some problem in rollout.immutable("spec", old, spec, mutable)
}

# of_jobs is a template without a list of images.
of_jobs(template) := object.remove(template, ["imageListPullJobTemplate"])

# METADATA
# title: Templates of jobs stay
# description: An update changes spec.template only in imageListPullJobTemplate, and neither adds nor removes one.
# custom:
#   id: advancedcronjob-template-immutable
deny contains {"rule": "advancedcronjob-template-immutable", "field": "spec.template", "type": "forbidden", "message": "cannot be changed: create another AdvancedCronJob"} if {
	input.operation == "UPDATE"
	other(old.template, spec.template)
}

other(before, now) if {
	of_jobs(before) != of_jobs(now)
	not fairlead.same_but(of_jobs(before), of_jobs(now), [null, false, ""])
}

other(before, now) if lists(before) != lists(now)

lists(template) if template.imageListPullJobTemplate

else := false
