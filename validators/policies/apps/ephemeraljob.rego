# METADATA
# title: EphemeralJob
# description: What an EphemeralJob must be (more-controllers.md §5).
# custom:
#   kinds: [EphemeralJob]
#   code: 400
package fairlead.apps.ephemeraljob

spec := object.get(input.object, "spec", {})

old := object.get(input, ["oldObject", "spec"], {})

namespace := object.get(input.object, ["metadata", "namespace"], "")

name := object.get(input.object, ["metadata", "name"], "")

containers := object.get(spec, ["template", "ephemeralContainers"], [])

at(i) := sprintf("spec.template.ephemeralContainers[%d]", [i])

# METADATA
# title: There are containers
# description: spec.template.ephemeralContainers has at least one.
# custom:
#   id: ephemeraljob-containers
deny contains {"rule": "ephemeraljob-containers", "field": "spec.template.ephemeralContainers", "type": "required", "message": "at least one container"} if {
	count(containers) == 0
}

# METADATA
# title: Defaults are written out
# description: "terminationMessagePolicy and imagePullPolicy of every container are set: ephemeral containers get no defaults here."
# custom:
#   id: ephemeraljob-written-out
deny contains {"rule": "ephemeraljob-written-out", "field": sprintf("%s.%s", [at(i), member]), "type": "required", "message": "must be written out"} if {
	some i, container in containers
	some member in ["imagePullPolicy", "terminationMessagePolicy"]
	object.get(container, member, "") == ""
}

# METADATA
# title: Images have no spaces around
# description: The image of no container begins or ends with a space.
# custom:
#   id: ephemeraljob-image-spaces
deny contains {"rule": "ephemeraljob-image-spaces", "field": sprintf("%s.image", [at(i)]), "type": "invalid", "value": container.image, "message": "must not begin or end with a space"} if {
	some i, container in containers
	container.image != trim_space(container.image)
}

# METADATA
# title: Ephemeral containers do without
# description: "No container has ports, probes, lifecycle or resources: those of running Pods cannot change."
# custom:
#   id: ephemeraljob-forbidden
deny contains {"rule": "ephemeraljob-forbidden", "field": sprintf("%s.%s", [at(i), member]), "type": "forbidden", "message": "ephemeral containers cannot have it"} if {
	some i, container in containers
	some member in ["lifecycle", "livenessProbe", "ports", "readinessProbe", "resources", "startupProbe"]
	not object.get(container, member, null) in [null, {}, []]
}

# METADATA
# title: Mounts are whole volumes
# description: No mount of a container has subPath or subPathExpr.
# custom:
#   id: ephemeraljob-sub-path
deny contains {"rule": "ephemeraljob-sub-path", "field": sprintf("%s.volumeMounts[%d].%s", [at(i), j, member]), "type": "forbidden", "message": "ephemeral containers mount whole volumes"} if {
	some i, container in containers
	some j, mount in container.volumeMounts
	some member in ["subPath", "subPathExpr"]
	object.get(mount, member, "") != ""
}

# pod has the containers as its own, without what only the Pod that they come into can tell.
pod := {"containers": [object.remove(container, ["targetContainerName", "volumeMounts", "volumeDevices", "ports", "resources", "lifecycle", "livenessProbe", "readinessProbe", "startupProbe"]) | some container in containers]}

fields := {sprintf("containers[%d]", [i]): at(i) | some i, _ in containers}

judged := {"errors": [], "warnings": []} if {
	containers == object.get(old, ["template", "ephemeralContainers"], [])
} else := {"errors": [], "warnings": []} if {
	count(containers) == 0
} else := fairlead.pod_spec_problems(pod, fields)

warn contains warning if some warning in judged.warnings

# METADATA
# title: The containers are containers
# description: Names, images, environment and security of containers are judged by the API server as those of a Pod.
# custom:
#   id: ephemeraljob-container
deny contains object.union(problem, {"rule": "ephemeraljob-container"}) if {
	some problem in judged.errors
}
