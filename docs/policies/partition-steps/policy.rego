# METADATA
# title: Rollouts go step by step
# description: >-
#   An update of a CloneSet, StatefulSet or DaemonSet of apps.kruise.io releases at most a step of its Pods to the new version: a new
#   template comes with a partition that keeps the others, and a partition shrinks by no more than a step at a time.
# custom:
#   match:
#     - apiGroups: [apps.kruise.io]
#       apiVersions: [v1alpha1, v1beta1]
#       resources: [clonesets, statefulsets, daemonsets]
#       operations: [UPDATE]
package partition_steps

request := input.request

# step is how many Pods one update may release: a percentage of all, or a number.
step := object.get(data.parameters, "step", "25%")

# total is how many Pods there are to be. DaemonSets say so in their status.
total := object.get(request.oldObject, ["status", "desiredNumberScheduled"], 0) if request.kind.kind == "DaemonSet"

total := object.get(request.object, ["spec", "replicas"], 1) if request.kind.kind != "DaemonSet"

# A step releases one Pod at least, or nothing would ever be released.
pods_of_step := max([1, pods(step)])

# before is how many Pods an update finds kept on the version before: all of them, when the template is new.
before := total if new_template

before := kept(request.oldObject) if not new_template

new_template if object.get(request.object, ["spec", "template"], {}) != object.get(request.oldObject, ["spec", "template"], {})

# METADATA
# title: An update releases a step at most
# custom:
#   id: partition-steps
deny contains {"field": where(request.object), "message": message} if {
	now := kept(request.object)
	before - now > pods_of_step
	message := sprintf("releases %d of %d Pods at once, and %d may be: a partition of %d or more does that", [before - now, total, pods_of_step, before - pods_of_step])
}

# where each version has its partition.
where(object_) := "spec.updateStrategy.partition" if {
	request.kind.kind == "CloneSet"
	endswith(object_.apiVersion, "/v1alpha1")
}

else := "spec.updateStrategy.rollingUpdate.partition"

# kept is how many Pods the partition of an object keeps on the version before. What is left out keeps none.
kept(object_) := min([total, pods(object.get(object_, split(where(object_), "."), 0))])

# pods is a number of Pods or a percentage of all, which is rounded up.
pods(value) := value if is_number(value)

pods(value) := ceil((total * to_number(trim_suffix(value, "%"))) / 100) if is_string(value)
