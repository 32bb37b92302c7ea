# METADATA
# title: Pulling images
# description: What ImagePullJobs, ImageListPullJobs and AdvancedCronJobs that make them ask for. Each function answers the set of mistakes below the field of a spec.
package fairlead.shared.pull

import data.fairlead.shared.list
import data.fairlead.shared.rollout
import data.fairlead.shared.selector

# selectors: nodes are selected by names, by labels or by Pods, not by two of them.
selectors(field, spec) := {problem |
	some problem in named(sprintf("%s.selector", [field]), spec.selector)
} | {problem |
	some problem in selector.valid(sprintf("%s.podSelector", [field]), spec.podSelector)
} | {problem |
	spec.selector != null
	spec.podSelector != null
	problem := {"field": sprintf("%s.podSelector", [field]), "type": "forbidden", "message": "selector and podSelector cannot be used together: remove one of them"}
}

named(field, nodes) := {problem |
	nodes.names != null
	not selector.empty(nodes)
	problem := {"field": field, "type": "forbidden", "message": "names cannot be used together with matchLabels or matchExpressions: remove one of them"}
} | {problem |
	some i in list.repeated(nodes.names)
	problem := {"field": sprintf("%s.names[%d]", [field, i]), "type": "duplicate", "value": nodes.names[i]}
} | {problem |
	nodes.names == []
	problem := {"field": sprintf("%s.names", [field]), "type": "invalid", "value": [], "message": "must name a node: without names, labels and expressions all nodes are meant"}
} | {problem |
	some problem in selector.valid(field, object.remove(nodes, ["names"]))
}

# numbers of a job and of its attempts.
numbers(field, spec) := {problem |
	value := spec.parallelism
	not rollout.parallelism(value)
	problem := {"field": sprintf("%s.parallelism", [field]), "type": "invalid", "value": value, "message": "must be a number that is not negative, not a percentage"}
} | {problem |
	value := spec.pullPolicy.timeoutSeconds
	value <= 0
	problem := {"field": sprintf("%s.pullPolicy.timeoutSeconds", [field]), "type": "invalid", "value": value, "message": "must be greater than 0"}
} | {problem |
	value := spec.pullPolicy.backoffLimit
	value < 0
	problem := {"field": sprintf("%s.pullPolicy.backoffLimit", [field]), "type": "invalid", "value": value, "message": "must not be negative"}
} | {problem |
	policy := spec.imagePullPolicy
	not policy in {"", "Always", "IfNotPresent"}
	problem := {"field": sprintf("%s.imagePullPolicy", [field]), "type": "unsupported", "value": policy, "message": `supported values: "Always", "IfNotPresent"`}
}

# completion: a job that ends may have a deadline that leaves time for an attempt; one that never does has neither deadline
# nor end.
completion(field, spec) := {problem |
	type := object.get(spec, ["completionPolicy", "type"], "")
	not type in {"", "Always", "Never"}
	problem := {"field": sprintf("%s.completionPolicy.type", [field]), "type": "unsupported", "value": type, "message": `supported values: "Always", "Never"`}
} | {problem |
	spec.completionPolicy.type == "Never"
	some name in ["activeDeadlineSeconds", "ttlSecondsAfterFinished"]
	spec.completionPolicy[name] != null
	problem := {"field": sprintf("%s.completionPolicy.%s", [field, name]), "type": "forbidden", "message": "must not be set with type Never"}
} | {problem |
	object.get(spec, ["completionPolicy", "type"], "") in {"", "Always"}
	deadline := spec.completionPolicy.activeDeadlineSeconds
	timeout := object.get(spec, ["pullPolicy", "timeoutSeconds"], 600)
	deadline < timeout
	problem := {"field": sprintf("%s.completionPolicy.activeDeadlineSeconds", [field]), "type": "invalid", "value": deadline, "message": sprintf("must leave time for an attempt: pullPolicy.timeoutSeconds is %d", [timeout])}
} | {problem |
	ttl := spec.completionPolicy.ttlSecondsAfterFinished
	ttl < 0
	problem := {"field": sprintf("%s.completionPolicy.ttlSecondsAfterFinished", [field]), "type": "invalid", "value": ttl, "message": "must not be negative"}
}

# images of a list: some, not too many, each once and well-formed.
images(field, spec) := {problem |
	n := count(object.get(spec, "images", []))
	not rollout.between(n, 1, 255)
	problem := {"field": sprintf("%s.images", [field]), "type": "invalid", "value": n, "message": "must be between 1 and 255 images"}
} | {problem |
	some i, image in spec.images
	message := fairlead.image_error(image)
	message != ""
	problem := {"field": sprintf("%s.images[%d]", [field, i]), "type": "invalid", "value": image, "message": message}
} | {problem |
	some i in list.repeated(spec.images)
	problem := {"field": sprintf("%s.images[%d]", [field, i]), "type": "duplicate", "value": spec.images[i]}
}
