package allowed_registries_test

import data.allowed_registries as policy

ours := {"registries": ["registry.example.com", "registry.example.com:5000/team", "docker.io/library"]}

pod(image) := {"spec": {"containers": [{"name": "web", "image": image}]}}

created(object_) := {"request": {"operation": "CREATE", "object": object_, "oldObject": null}}

denied(object_) := said if {
	said := policy.deny with input as created(object_) with data.parameters as ours
}

test_every_allowed_image if {
	every image in [
		"registry.example.com/web", "registry.example.com/team/web:1.0", "registry.example.com:5000/team/web:1.0",
		"registry.example.com/web@sha256:0123456789012345678901234567890123456789012345678901234567890123",
		"nginx", "nginx:1.27", "docker.io/library/nginx:1.27",
	] {
		count(denied(pod(image))) == 0
	}
}

test_every_other_image if {
	every image in [
		"registry.example.com.evil.com/web", "registry.example.com:5000/other/web", "registry.example.com:5000/teams/web",
		"registry.example.com:443/web", "bitnami/nginx", "localhost/nginx", "localhost:5000/nginx", "quay.io/a/b:1",
	] {
		count(denied(pod(image))) == 1
	}
}

test_volumes if {
	pods := {"volumes": [{"name": "a", "emptyDir": {}}, {"name": "b", "image": {"reference": "quay.io/data:1"}}, {"name": "c", "image": {"reference": "nginx"}}]}
	{said.field | some said in denied({"spec": {"template": {"spec": pods}}})} == {"spec.template.spec.volumes[1].image.reference"}
}

# Runtimes take a first part with a capital for a registry, as users of docker.io have none.
test_a_capital if {
	hub := {"registries": ["docker.io"]}
	count(policy.deny) == 0 with input as created(pod("evil/nginx")) with data.parameters as hub
	count(policy.deny) == 1 with input as created(pod("Evil/nginx")) with data.parameters as hub
}

test_every_container if {
	spec := {
		"containers": [{"name": "a", "image": "quay.io/a"}],
		"initContainers": [{"name": "b", "image": "nginx"}, {"name": "c", "image": "quay.io/c"}],
		"ephemeralContainers": [{"name": "d", "image": "quay.io/d"}],
	}
	{said.field | some said in denied({"spec": spec})} == {"spec.containers[0].image", "spec.initContainers[1].image", "spec.ephemeralContainers[0].image"}
}

test_templates_of_every_workload if {
	template := {"spec": {"containers": [{"name": "web", "image": "quay.io/web"}]}}
	fields := {field |
		some object_ in [
			{"spec": {"template": template}},
			{"spec": {"jobTemplate": {"spec": {"template": template}}}},
			{"spec": {"template": {"broadcastJobTemplate": {"spec": {"template": template}}}}},
			{"spec": {"template": {"statefulSetTemplate": {"spec": {"template": template}}}}},
		]
		some said in denied(object_)
		field := said.field
	}
	fields == {
		"spec.template.spec.containers[0].image", "spec.jobTemplate.spec.template.spec.containers[0].image",
		"spec.template.broadcastJobTemplate.spec.template.spec.containers[0].image",
		"spec.template.statefulSetTemplate.spec.template.spec.containers[0].image",
	}
}

test_what_was_there_before if {
	update := {"request": {"operation": "UPDATE", "object": pod("quay.io/web"), "oldObject": pod("quay.io/web")}}
	count(policy.deny) == 0 with input as update with data.parameters as ours
}

test_an_update_to_another if {
	update := {"request": {"operation": "UPDATE", "object": pod("quay.io/web:2"), "oldObject": pod("quay.io/web:1")}}
	some said in policy.deny with input as update with data.parameters as ours
	said.message == `the image "quay.io/web:2" does not come from registry.example.com, registry.example.com:5000/team, docker.io/library`
}

test_missing_fields if {
	count(denied({"spec": {"containers": [{"name": "a"}, {"name": "b", "image": ""}]}})) == 0
	count(denied({"spec": {}})) == 0
	count(denied({})) == 0
}

test_without_parameters if {
	count(policy.deny) == 0 with input as created(pod("registry.k8s.io/pause:3.10")) with data.parameters as {}
	count(policy.deny) == 1 with input as created(pod("quay.io/pause:3.10")) with data.parameters as {}
}
