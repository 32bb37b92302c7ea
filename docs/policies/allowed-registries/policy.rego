# METADATA
# title: Images come from allowed registries
# description: >-
#   Every image of a Pod, of a workload's template or of a SidecarSet comes from one of the places in parameters. What was
#   there before an update is not judged again.
# custom:
#   match:
#     - apiGroups: [""]
#       apiVersions: [v1]
#       resources: [pods, pods/ephemeralcontainers]
#     - apiGroups: [apps]
#       apiVersions: [v1]
#       resources: [deployments, statefulsets, daemonsets, replicasets]
#     - apiGroups: [batch]
#       apiVersions: [v1]
#       resources: [jobs, cronjobs]
#     - apiGroups: [apps.kruise.io]
#       apiVersions: [v1alpha1, v1beta1]
#       resources: [clonesets, statefulsets, daemonsets, uniteddeployments, broadcastjobs, advancedcronjobs, sidecarsets]
package allowed_registries

request := input.request

# allowed are registries, perhaps with a path: registry.example.com, registry.example.com:5000/team, docker.io/library.
allowed := object.get(data.parameters, "registries", ["docker.io", "registry.k8s.io"])

# METADATA
# title: The registry is allowed
# custom:
#   id: allowed-registries
deny contains {"field": image.field, "message": message} if {
	some image in images(request.object)
	not image.name in before
	not comes_from_allowed(image.name)
	message := sprintf("the image %q does not come from %s", [image.name, concat(", ", allowed)])
}

before := {image.name | some image in images(request.oldObject)}

# images are those of all containers and volumes, wherever in an object they are.
images(object_) := of_containers(object_) | of_volumes(object_)

of_containers(object_) := {{"field": concat(".", where), "name": container.image} |
	is_object(object_)
	walk(object_.spec, [path, pod])
	some kind in ["containers", "initContainers", "ephemeralContainers"]
	some i, container in pod[kind]
	is_string(container.image)
	container.image != ""
	where := array.concat(["spec"], array.concat([sprintf("%v", [part]) | some part in path], [sprintf("%s[%d]", [kind, i]), "image"]))
}

of_volumes(object_) := {{"field": concat(".", where), "name": volume.image.reference} |
	is_object(object_)
	walk(object_.spec, [path, pod])
	some i, volume in pod.volumes
	is_string(volume.image.reference)
	where := array.concat(["spec"], array.concat([sprintf("%v", [part]) | some part in path], [sprintf("volumes[%d]", [i]), "image", "reference"]))
}

comes_from_allowed(image) if {
	some place in allowed
	startswith(full(image), sprintf("%s/", [trim_suffix(place, "/")]))
}

# full is an image with the registry that container runtimes add: nginx is docker.io/library/nginx.
full(image) := image if has_registry(image)

full(image) := sprintf("docker.io/%s", [image]) if {
	not has_registry(image)
	contains(image, "/")
}

full(image) := sprintf("docker.io/library/%s", [image]) if not contains(image, "/")

# has_registry is so when what is before the first slash cannot be a user of docker.io: it has a dot, a port or a capital, or is
# localhost.
has_registry(image) if {
	contains(image, "/")
	regex.match(`[.:A-Z]|^localhost$`, split(image, "/")[0])
}
