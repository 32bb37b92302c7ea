package fairlead.apps.resourcedistribution_test

import data.fairlead.apps.resourcedistribution

nothing := {"errors": [], "warnings": []}

refusing := {"errors": [{"field": "spec.resource.data", "type": "FieldValueInvalid", "body": "Invalid value"}], "warnings": []}

good := {
	"apiVersion": "apps.kruise.io/v1beta1",
	"metadata": {"name": "ca"},
	"spec": {
		"resource": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ca"}, "data": {"a": "b"}},
		"targets": {"allNamespaces": true},
	},
}

judged(request, gate, answer) := found if {
	found := {v.rule | some v in resourcedistribution.deny} with input as request
		with data.inventory.gates.ResourceDistributionGate as gate
		with fairlead.object_problems as answer
}

created(object) := judged({"operation": "CREATE", "object": object}, true, nothing)

distributed(change) := created(object.union(good, {"spec": {"resource": change}}))

aimed(targets) := created(object.union(good, {"spec": {"targets": targets}}))

updated(change) := judged({"operation": "UPDATE", "object": object.union(good, {"spec": {"resource": change}}), "oldObject": good}, true, nothing)

test_a_distribution_is_accepted_in_both_versions if {
	created(good) == set()
	created(object.union(good, {"apiVersion": "apps.kruise.io/v1alpha1"})) == set()
}

test_the_gate_is_needed if judged({"operation": "CREATE", "object": good}, false, nothing) == {"resourcedistribution-gate"}

test_secrets_and_configmaps_are_distributed if {
	distributed({"kind": "Secret"}) == set()
	distributed({"kind": "Service"}) == {"resourcedistribution-kind"}
	distributed({"apiVersion": "bank.test/v1"}) == {"resourcedistribution-kind"}
	created(json.remove(good, ["spec/resource"])) == {"resourcedistribution-kind"}
}

test_a_resource_has_a_name if distributed({"metadata": {"name": ""}}) == {"resourcedistribution-name"}

test_a_resource_is_judged_when_it_changes if {
	judged({"operation": "CREATE", "object": good}, true, refusing) == {"resourcedistribution-resource"}
	judged({"operation": "UPDATE", "object": good, "oldObject": good}, true, refusing) == set()
}

test_a_resource_stays_what_it_is if {
	updated({"data": {"a": "c"}}) == set()
	updated({"kind": "Secret"}) == {"resourcedistribution-immutable"}
	updated({"metadata": {"name": "other"}}) == {"resourcedistribution-immutable"}
}

test_namespaces_are_named if {
	aimed({"includedNamespaces": {"list": [{"name": "shop"}]}}) == set()
	every member in ["excludedNamespaces", "includedNamespaces"] {
		aimed({member: {"list": [{"name": "shop"}, {"name": "Shop"}]}}) == {"resourcedistribution-namespace"}
	}
}

test_a_namespace_is_in_or_out if {
	aimed({"includedNamespaces": {"list": [{"name": "a"}]}, "excludedNamespaces": {"list": [{"name": "b"}]}}) == set()
	aimed({"includedNamespaces": {"list": [{"name": "a"}]}, "excludedNamespaces": {"list": [{"name": "a"}]}}) == {"resourcedistribution-both"}
}

test_the_selector_of_namespaces_is_valid if {
	every member in ["namespaceLabelSelector", "namespaceSelector"] {
		aimed({member: {"matchLabels": {"a": "b"}}}) == set()
		aimed({member: {"matchLabels": {"a": "b c"}}}) == {"resourcedistribution-selector"}
	}
}
