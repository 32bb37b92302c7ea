package max_unavailable_test

import data.max_unavailable as policy

alpha(replicas, most) := {"apiVersion": "apps.kruise.io/v1alpha1", "spec": {"replicas": replicas, "updateStrategy": {"maxUnavailable": most}}}

beta(replicas, most) := {"apiVersion": "apps.kruise.io/v1beta1", "spec": {"replicas": replicas, "updateStrategy": {"rollingUpdate": {"maxUnavailable": most}}}}

denied(object_, parameters) := all if {
	all := policy.deny with input as {"request": {"operation": "CREATE", "object": object_}} with data.parameters as parameters
}

test_allowed if {
	every value in [1, 2, "0%", "20%", "25%", 0] {
		count(denied(alpha(8, value), {})) == 0
		count(denied(beta(8, value), {})) == 0
	}
}

test_too_many if {
	every value in [3, 8, "26%", "100%", "25.5%"] {
		{said.field | some said in denied(alpha(8, value), {})} == {"spec.updateStrategy.maxUnavailable"}
		{said.field | some said in denied(beta(8, value), {})} == {"spec.updateStrategy.rollingUpdate.maxUnavailable"}
	}
}

test_one_is_always_allowed if {
	every object_ in [alpha(1, 1), beta(2, 1), beta(2, "50%"), beta(3, "30%"), alpha(0, 1), beta(1, "100%")] {
		count(denied(object_, {})) == 0
	}
}

test_none_of_none if {
	count(denied(beta(0, 5), {})) == 0
	count(denied(beta(0, "80%"), {})) == 0
}

test_missing_fields if {
	every object_ in [
		{"apiVersion": "apps.kruise.io/v1beta1", "spec": {"replicas": 10}},
		{"apiVersion": "apps.kruise.io/v1alpha1", "spec": {"replicas": 10, "updateStrategy": {}}},
		{"apiVersion": "apps.kruise.io/v1beta1", "spec": {"replicas": 10, "updateStrategy": {"type": "OnDelete"}}},
		{"apiVersion": "apps.kruise.io/v1beta1"},
	] {
		count(denied(object_, {})) == 0
	}
}

# Without the field there are 20%, which a lower cap refuses.
test_the_default_counts if {
	count(denied({"apiVersion": "apps.kruise.io/v1beta1", "spec": {"replicas": 100}}, {"percent": 10})) == 1
}

test_message if {
	some said in denied(beta(8, 4), {"percent": 30})
	said.message == "4 of 8 replicas is more than 30%"
}

test_parameters if count(denied(beta(8, 4), {"percent": 50})) == 0
