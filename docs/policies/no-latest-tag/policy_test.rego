package no_latest_tag_test

import data.no_latest_tag as policy

digest := "sha256:0123456789012345678901234567890123456789012345678901234567890123"

pod(image) := {"spec": {"containers": [{"name": "web", "image": image}]}}

created(object_) := {"request": {"operation": "CREATE", "object": object_, "oldObject": null}}

denied(object_) := said if {
	said := policy.deny with input as created(object_) with data.parameters as {}
}

test_moving if {
	every image in ["nginx", "nginx:latest", "team/nginx", "registry.example.com:5000/nginx", "registry.example.com:5000/nginx:latest", "localhost:5000/a/b"] {
		count(denied(pod(image))) == 1
	}
}

test_staying if {
	every image in [
		"nginx:1.27", "registry.example.com:5000/nginx:1.27", "registry.example.com:5000/a/nginx:v1", "nginx:latest-stable",
		sprintf("nginx@%s", [digest]), sprintf("nginx:latest@%s", [digest]), sprintf("registry.example.com:5000/nginx@%s", [digest]),
	] {
		count(denied(pod(image))) == 0
	}
}

test_every_container if {
	spec := {
		"containers": [{"name": "a", "image": "nginx:1"}, {"name": "b", "image": "nginx"}],
		"initContainers": [{"name": "c", "image": "nginx"}],
		"ephemeralContainers": [{"name": "d", "image": "busybox:latest"}],
	}
	{said.field | some said in denied({"spec": spec})} == {"spec.containers[1].image", "spec.initContainers[0].image", "spec.ephemeralContainers[0].image"}
}

test_volumes if {
	pods := {"volumes": [{"name": "a", "emptyDir": {}}, {"name": "b", "image": {"reference": "data"}}, {"name": "c", "image": {"reference": "data:1"}}]}
	{said.field | some said in denied({"spec": {"template": {"spec": pods}}})} == {"spec.template.spec.volumes[1].image.reference"}
}

test_templates if {
	some said in denied({"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "nginx"}]}}}})
	said.field == "spec.template.spec.containers[0].image"
	said.message == `the image "nginx" has the tag latest, which means another image tomorrow: give it a version or a digest`
}

test_tags_of_parameters if {
	count(policy.deny) == 1 with input as created(pod("nginx:main")) with data.parameters as {"tags": ["latest", "main"]}
	count(policy.deny) == 0 with input as created(pod("nginx:main")) with data.parameters as {"tags": ["latest"]}
}

test_what_was_there_before if {
	count(policy.deny) == 0 with input as {"request": {"operation": "UPDATE", "object": pod("nginx"), "oldObject": pod("nginx")}}
	count(policy.deny) == 1 with input as {"request": {"operation": "UPDATE", "object": pod("nginx"), "oldObject": pod("nginx:1")}}
}

test_missing_fields if {
	count(denied({"spec": {"containers": [{"name": "a"}]}})) == 0
	count(denied({})) == 0
}
