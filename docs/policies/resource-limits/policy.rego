# METADATA
# title: Containers say what they need
# description: >-
#   Containers and init containers of Pods, and of workloads' templates, have the limits and requests that parameters ask for, and
#   no limit above their maximum. Ephemeral containers can have none. What an update does not change is not judged again.
# custom:
#   match:
#     - apiGroups: [""]
#       apiVersions: [v1]
#       resources: [pods]
#       operations: [CREATE]
#     - apiGroups: [""]
#       apiVersions: [v1]
#       resources: [pods/resize]
#       operations: [UPDATE]
#     - apiGroups: [apps]
#       apiVersions: [v1]
#       resources: [deployments, statefulsets, daemonsets]
#     - apiGroups: [batch]
#       apiVersions: [v1]
#       resources: [jobs, cronjobs]
#     - apiGroups: [apps.kruise.io]
#       apiVersions: [v1alpha1, v1beta1]
#       resources: [clonesets, statefulsets, daemonsets, uniteddeployments, broadcastjobs, advancedcronjobs]
package resource_limits

request := input.request

required := {
	"limits": object.get(data.parameters, "limits", ["memory"]),
	"requests": object.get(data.parameters, "requests", ["cpu", "memory"]),
}

maximum := object.get(data.parameters, "maximum", {})

# METADATA
# title: Limits and requests are there
# custom:
#   id: resource-limits-required
deny contains {"field": sprintf("%s.resources.%s.%s", [container.field, kind, resource]), "message": message} if {
	some container in judged
	some kind, resources in required
	some resource in resources
	not given(container, kind, resource)
	message := sprintf("the container %q must have one", [container.name])
}

# METADATA
# title: Limits are not above the maximum
# custom:
#   id: resource-limits-maximum
deny contains {"field": sprintf("%s.resources.limits.%s", [container.field, resource]), "message": message} if {
	some container in judged
	some resource, most in maximum
	limit := container.resources.limits[resource]
	amount(limit) > amount(most)
	message := sprintf("the container %q has %v, more than %v", [container.name, limit, most])
}

# given is also a request that the limit stands in for, as the API server has it.
given(container, kind, resource) if container.resources[kind][resource]

given(container, "requests", resource) if container.resources.limits[resource]

judged := {container |
	some container in containers(request.object)
	not container in containers(object.get(request, "oldObject", null))
}

# containers are all that can have resources, wherever in an object they are.
containers(object_) := {container |
	is_object(object_)
	walk(object_.spec, [path, pod])
	some kind in ["containers", "initContainers"]
	some i, written in pod[kind]
	at := concat(".", array.concat(["spec"], [sprintf("%v", [part]) | some part in path]))
	container := {
		"field": sprintf("%s.%s[%d]", [at, kind, i]), "name": object.get(written, "name", ""),
		"resources": object.get(written, "resources", {}),
	}
}

# amount is a quantity as a number, which a client may write as one.
amount(quantity) := units.parse(quantity) if is_string(quantity)

amount(quantity) := quantity if is_number(quantity)
