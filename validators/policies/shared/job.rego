# METADATA
# title: BroadcastJobs
# description: What a BroadcastJob is asked, on its own or below an AdvancedCronJob. Each function answers the set of mistakes below the field of a spec.
package fairlead.shared.job

import data.fairlead.shared.rollout
import data.fairlead.shared.template as templates

completion(field, spec) := {problem |
	type := object.get(spec, ["completionPolicy", "type"], "")
	not type in {"", "Always", "Never"}
	problem := {"field": sprintf("%s.completionPolicy.type", [field]), "type": "unsupported", "value": type, "message": `supported values: "Always", "Never"`}
} | {problem |
	spec.completionPolicy.type == "Never"
	some name in ["activeDeadlineSeconds", "ttlSecondsAfterFinished"]
	spec.completionPolicy[name] != null
	problem := {"field": sprintf("%s.completionPolicy.%s", [field, name]), "type": "forbidden", "message": "must not be set with type Never: such a job has no end"}
} | {problem |
	object.get(spec, ["completionPolicy", "type"], "") != "Never"
	some name in ["activeDeadlineSeconds", "ttlSecondsAfterFinished"]
	value := spec.completionPolicy[name]
	value < 0
	problem := {"field": sprintf("%s.completionPolicy.%s", [field, name]), "type": "invalid", "value": value, "message": "must not be negative"}
}

failure(field, spec) := {problem |
	type := object.get(spec, ["failurePolicy", "type"], "")
	not type in {"", "Continue", "FailFast", "Pause"}
	problem := {"field": sprintf("%s.failurePolicy.type", [field]), "type": "unsupported", "value": type, "message": `supported values: "Continue", "FailFast", "Pause"`}
} | {problem |
	limit := spec.failurePolicy.restartLimit
	limit < 0
	problem := {"field": sprintf("%s.failurePolicy.restartLimit", [field]), "type": "invalid", "value": limit, "message": "must not be negative"}
}

labels(field, spec) := {problem |
	some key in ["broadcastjob-controller-uid", "broadcastjob-name"]
	object.get(spec, ["template", "metadata", "labels", key], "") != ""
	problem := {"field": sprintf("%s.template.metadata.labels[%s]", [field, key]), "type": "forbidden", "message": "is set by the controller: remove it"}
}

parallelism(field, spec) := rollout.amounts(field, spec, ["parallelism"])

restart(field, spec) := templates.ending(sprintf("%s.template", [field]), object.get(spec, "template", {}))
