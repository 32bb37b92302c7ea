package resource_limits_test

import data.resource_limits as policy

whole := {"limits": {"memory": "1Gi"}, "requests": {"cpu": "100m", "memory": "1Gi"}}

pod(resources) := {"spec": {"containers": [{"name": "web", "resources": resources}]}}

created(object_) := {"request": {"operation": "CREATE", "object": object_, "oldObject": null}}

denied(object_, parameters) := {said.field | some said in all} if {
	all := policy.deny with input as created(object_) with data.parameters as parameters
}

test_whole if denied(pod(whole), {}) == set()

test_nothing if {
	every object_ in [{"spec": {"containers": [{"name": "web"}]}}, pod({})] {
		denied(object_, {}) == {
			"spec.containers[0].resources.limits.memory", "spec.containers[0].resources.requests.cpu",
			"spec.containers[0].resources.requests.memory",
		}
	}
}

test_a_limit_is_a_request if denied(pod({"limits": {"memory": "1Gi", "cpu": 1}}), {}) == set()

test_init_containers_too if {
	spec := {"containers": [{"name": "web", "resources": whole}], "initContainers": [{"name": "a", "resources": whole}, {"name": "b", "resources": {"limits": whole.limits}}]}
	denied({"spec": spec}, {}) == {"spec.initContainers[1].resources.requests.cpu"}
}

test_ephemeral_containers_can_have_none if {
	denied({"spec": {"containers": [{"name": "web", "resources": whole}], "ephemeralContainers": [{"name": "debug"}]}}, {}) == set()
}

test_templates if {
	denied({"spec": {"jobTemplate": {"spec": {"template": pod({"requests": whole.requests})}}}}, {}) == {"spec.jobTemplate.spec.template.spec.containers[0].resources.limits.memory"}
}

test_maximum if {
	maximum := {"maximum": {"memory": "2Gi", "cpu": "4"}}
	every limits in [{"memory": "2Gi"}, {"memory": "2048Mi", "cpu": "4000m"}, {"memory": 2147483648, "cpu": 4}] {
		denied(pod({"limits": limits, "requests": whole.requests}), maximum) == set()
	}
	every limits in [{"memory": "3Gi"}, {"memory": "2147483649"}, {"memory": 2147483649}, {"memory": "1Gi", "cpu": "4001m"}] {
		count(denied(pod({"limits": limits, "requests": whole.requests}), maximum)) == 1
	}
}

test_message if {
	some said in policy.deny with input as created(pod({"limits": {"memory": "3Gi"}, "requests": whole.requests})) with data.parameters as {"maximum": {"memory": "2Gi"}}
	said == {"field": "spec.containers[0].resources.limits.memory", "message": `the container "web" has 3Gi, more than 2Gi`}
}

test_parameters if {
	denied(pod({}), {"limits": [], "requests": []}) == set()
	denied(pod({}), {"limits": ["cpu"], "requests": []}) == {"spec.containers[0].resources.limits.cpu"}
}

test_what_an_update_leaves_alone if {
	old := pod({})
	count(policy.deny) == 0 with input as {"request": {"operation": "UPDATE", "object": old, "oldObject": old}} with data.parameters as {}
	count(policy.deny) == 3 with input as {"request": {"operation": "UPDATE", "object": old, "oldObject": pod(whole)}} with data.parameters as {}
}

test_nothing_to_judge if {
	denied({"spec": {}}, {}) == set()
	denied({}, {}) == set()
}
