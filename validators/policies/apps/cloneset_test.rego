package fairlead.apps.cloneset_test

import data.fairlead.apps.cloneset

good := {
	"apiVersion": "apps.kruise.io/v1beta1",
	"metadata": {"name": "web", "namespace": "shop"},
	"spec": {
		"replicas": 3,
		"selector": {"matchLabels": {"app": "web"}},
		"template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "a", "image": "i"}]}},
		"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
	},
}

rules(object) := {denial.rule | some denial in cloneset.deny with input as {"operation": "CREATE", "object": object}}

updating(object, old) := {denial.rule | some denial in cloneset.deny with input as {"operation": "UPDATE", "object": object, "oldObject": old}}

with_strategy(strategy) := object.union(good, {"spec": {"updateStrategy": strategy}})

test_a_cloneset_is_accepted if rules(good) == set()

test_surge_lets_an_update_go_on if rules(with_strategy({"rollingUpdate": {"maxUnavailable": 0, "maxSurge": "1%"}})) == set()

test_without_replicas_nothing_has_to_go_on if {
	object_ := object.union(with_strategy({"rollingUpdate": {"maxUnavailable": 0}}), {"spec": {"replicas": 0}})
	rules(object_) == set()
}

test_percentages_round_up if rules(with_strategy({"rollingUpdate": {"maxUnavailable": "1%"}})) == set()

test_an_alpha_strategy_has_no_section if {
	object_ := object.union(good, {"apiVersion": "apps.kruise.io/v1alpha1", "spec": {"updateStrategy": {"type": "InPlaceOnly", "maxSurge": 1}}})
	rules(object_) == {"cloneset-surge-in-place"}
}

test_a_new_image_is_in_place if {
	old := with_strategy({"rollingUpdate": {"podUpdatePolicy": "InPlaceOnly"}})
	now := object.union(old, {"spec": {"template": {"spec": {"containers": [{"name": "a", "image": "j"}]}}}})
	updating(now, old) == set()
}

test_a_second_container_is_not if {
	old := with_strategy({"rollingUpdate": {"podUpdatePolicy": "InPlaceOnly"}})
	now := object.union(old, {"spec": {"template": {"spec": {"containers": [{"name": "a", "image": "i"}, {"name": "b", "image": "i"}]}}}})
	updating(now, old) == {"cloneset-in-place-only"}
}
