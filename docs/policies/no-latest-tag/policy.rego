# METADATA
# title: Images have a tag that stays
# description: >-
#   Every image of a Pod, of a workload's template or of a SidecarSet has a digest, or a tag that is not one of those in
#   parameters. An image without a tag has the tag latest. What was there before an update is not judged again.
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
package no_latest_tag

request := input.request

moving := object.get(data.parameters, "tags", ["latest"])

# METADATA
# title: The tag stays
# custom:
#   id: no-latest-tag
deny contains {"field": image.field, "message": message} if {
	some image in images(request.object)
	not image.name in before
	tag(image.name) in moving
	message := sprintf("the image %q has the tag %s, which means another image tomorrow: give it a version or a digest", [image.name, tag(image.name)])
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

# tag is that of an image without a digest. A colon before the last slash is that of a port.
tag(image) := split(name, ":")[1] if {
	not contains(image, "@")
	name := base(image)
	contains(name, ":")
}

tag(image) := "latest" if {
	not contains(image, "@")
	not contains(base(image), ":")
}

# base is what is behind the last slash.
base(image) := parts[count(parts) - 1] if parts := split(image, "/")
