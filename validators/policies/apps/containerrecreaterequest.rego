# METADATA
# title: ContainerRecreateRequest
# description: What a ContainerRecreateRequest must be, apart from what only its Pod can tell (container-recreate.md §3, §4).
# custom:
#   kinds: [ContainerRecreateRequest]
#   code: 400
package fairlead.apps.containerrecreaterequest

import data.fairlead.shared.list

spec := object.get(input.object, "spec", {})

containers := object.get(spec, "containers", [])

strategy := object.get(spec, "strategy", {})

creating if input.operation == "CREATE"

updating if input.operation == "UPDATE"

# METADATA
# title: The Pod is named
# description: spec.podName is not empty.
# custom:
#   id: containerrecreaterequest-pod-name
deny contains {"rule": "containerrecreaterequest-pod-name", "field": "spec.podName", "type": "required", "message": "the name of a Pod in this namespace"} if {
	creating
	object.get(spec, "podName", "") == ""
}

# METADATA
# title: Containers are named
# description: spec.containers names at least one container.
# custom:
#   id: containerrecreaterequest-containers
deny contains {"rule": "containerrecreaterequest-containers", "field": "spec.containers", "type": "required", "message": "at least one container to restart"} if {
	creating
	count(containers) == 0
}

# METADATA
# title: Containers are named once
# description: No container is twice in spec.containers.
# custom:
#   id: containerrecreaterequest-container-duplicate
deny contains {"rule": "containerrecreaterequest-container-duplicate", "field": sprintf("spec.containers[%d].name", [i]), "type": "duplicate", "value": containers[i].name} if {
	creating
	some i in list.repeated([object.get(container, "name", "") | some container in containers])
}

# METADATA
# title: Every container has a name
# description: The name of every entry of spec.containers is not empty.
# custom:
#   id: containerrecreaterequest-container-name
deny contains {"rule": "containerrecreaterequest-container-name", "field": sprintf("spec.containers[%d].name", [i]), "type": "required", "message": "the name of a container of the Pod"} if {
	creating
	some i, container in containers
	object.get(container, "name", "") == ""
}

# METADATA
# title: Deadlines leave time to work
# description: spec.activeDeadlineSeconds is at least 3 if it is set.
# custom:
#   id: containerrecreaterequest-deadline
deny contains {"rule": "containerrecreaterequest-deadline", "field": "spec.activeDeadlineSeconds", "type": "invalid", "value": spec.activeDeadlineSeconds, "message": "must be at least 3, or be left out for no deadline"} if {
	creating
	spec.activeDeadlineSeconds < 3
}

# METADATA
# title: Grace periods are not negative
# description: spec.strategy.terminationGracePeriodSeconds and spec.strategy.unreadyGracePeriodSeconds are not negative.
# custom:
#   id: containerrecreaterequest-grace-period
deny contains {"rule": "containerrecreaterequest-grace-period", "field": sprintf("spec.strategy.%s", [period]), "type": "invalid", "value": strategy[period], "message": "must not be negative"} if {
	creating
	some period in ["terminationGracePeriodSeconds", "unreadyGracePeriodSeconds"]
	strategy[period] < 0
}

# METADATA
# title: The failure policy is known
# description: spec.strategy.failurePolicy is Fail or Ignore.
# custom:
#   id: containerrecreaterequest-failure-policy
deny contains {"rule": "containerrecreaterequest-failure-policy", "field": "spec.strategy.failurePolicy", "type": "unsupported", "value": strategy.failurePolicy, "message": `supported values: "Fail", "Ignore"`} if {
	creating
	not strategy.failurePolicy in {"", "Fail", "Ignore"}
}

# said are the values of a spec, by their paths, without those that a client may as well leave out: one that decodes a request
# and encodes it again does not write what is empty or false, and changes nothing by that.
said(of) := {[path, value] |
	walk(of, [path, value])
	not is_object(value)
	not is_array(value)
	not value in {null, false, ""}
	not [path, value] == [["strategy", "minStartedSeconds"], 0]
}

# METADATA
# title: A request does not change
# description: An update leaves spec as it is. What the creation filled in and an update leaves out is put back before.
# custom:
#   id: containerrecreaterequest-spec-immutable
#   code: 403
deny contains {"rule": "containerrecreaterequest-spec-immutable", "field": "spec", "type": "forbidden", "message": "is immutable: delete this request and create another"} if {
	updating
	said(spec) != said(object.get(input.oldObject, "spec", {}))
}

# METADATA
# title: A request stays with its Pod
# description: An update leaves the labels crr.apps.kruise.io/pod-uid and crr.apps.kruise.io/node-name as they are.
# custom:
#   id: containerrecreaterequest-labels-immutable
#   code: 403
deny contains {"rule": "containerrecreaterequest-labels-immutable", "field": sprintf("metadata.labels[%s]", [key]), "type": "forbidden", "message": sprintf("is immutable: put back %q", [old])} if {
	updating
	some key in ["crr.apps.kruise.io/pod-uid", "crr.apps.kruise.io/node-name"]
	old := object.get(input.oldObject, ["metadata", "labels", key], "")
	object.get(input.object, ["metadata", "labels", key], "") != old
}

# METADATA
# title: The time of unreadiness stays
# description: An update in version v1alpha1 leaves the annotation crr.apps.kruise.io/unready-acquired as it is once it is set.
# custom:
#   id: containerrecreaterequest-unready-immutable
#   code: 403
deny contains {"rule": "containerrecreaterequest-unready-immutable", "field": sprintf("metadata.annotations[%s]", [key]), "type": "forbidden", "message": sprintf("is immutable: put back %q", [old])} if {
	updating
	endswith(input.object.apiVersion, "/v1alpha1")
	key := "crr.apps.kruise.io/unready-acquired"
	old := object.get(input.oldObject, ["metadata", "annotations", key], "")
	old != ""
	object.get(input.object, ["metadata", "annotations", key], "") != old
}
