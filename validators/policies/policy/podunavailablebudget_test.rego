package fairlead.policy.podunavailablebudget_test

import data.fairlead.policy.podunavailablebudget

on := {"PodUnavailableBudgetDeleteGate": true, "PodUnavailableBudgetUpdateGate": true}

bare := {"apiVersion": "policy.kruise.io/v1beta1", "metadata": {"name": "web", "namespace": "shop"}, "spec": {}}

by_labels := {"selector": {"matchLabels": {"app": "web"}}}

by_target := {"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}

good := object.union(bare, {"spec": object.union(by_labels, {"maxUnavailable": 1})})

judged(request, gates, targets, overlaps) := found if {
	found := {v.rule | some v in podunavailablebudget.deny} with input as request
		with data.inventory.gates as gates
		with fairlead.same_target as targets
		with fairlead.overlapping_budgets as overlaps
}

created(object) := judged({"operation": "CREATE", "object": object}, on, [], [])

changed(change) := created(object.union(good, change))

specified(spec) := created(object.union(bare, {"spec": spec}))

selecting(pods) := specified(object.union(pods, {"maxUnavailable": 1}))

limited(limits) := specified(object.union(by_labels, limits))

updated(change) := judged({"operation": "UPDATE", "object": object.union(good, {"spec": change}), "oldObject": good}, on, [], [])

test_a_budget_is_accepted_in_both_versions if {
	created(good) == set()
	changed({"apiVersion": "policy.kruise.io/v1alpha1"}) == set()
	selecting(by_target) == set()
}

test_one_gate_is_enough if {
	request := {"operation": "CREATE", "object": good}
	judged(request, object.union(on, {"PodUnavailableBudgetDeleteGate": false}), [], []) == set()
	judged(request, object.union(on, {"PodUnavailableBudgetUpdateGate": false}), [], []) == set()
	judged(request, {"PodUnavailableBudgetDeleteGate": false, "PodUnavailableBudgetUpdateGate": false}, [], []) == {"podunavailablebudget-gate"}
}

test_pods_are_selected_in_one_way if {
	selecting({}) == {"podunavailablebudget-pods"}
	selecting(object.union(by_labels, by_target)) == {"podunavailablebudget-pods-exclusive"}
}

test_selectors_select if {
	selecting({"selector": {}}) == {"podunavailablebudget-selector"}
	selecting({"selector": {"matchLabels": {"a": "b c"}}}) == {"podunavailablebudget-selector"}
	changed({"spec": {"ignoredPodSelector": {}}}) == {"podunavailablebudget-selector"}
	changed({"spec": {"ignoredPodSelector": {"matchLabels": {"a": "b"}}}}) == set()
}

test_a_target_is_whole if {
	every member in ["apiVersion", "kind", "name"] {
		selecting(json.remove(by_target, [sprintf("targetRef/%s", [member])])) == {"podunavailablebudget-target"}
	}
}

test_the_version_of_a_target_is_one if {
	selecting(object.union(by_target, {"targetRef": {"apiVersion": "v1"}})) == set()
	selecting(object.union(by_target, {"targetRef": {"apiVersion": "a/b/c"}})) == {"podunavailablebudget-target-version"}
}

test_there_is_one_limit if {
	limited({"minAvailable": "50%"}) == set()
	limited({}) == {"podunavailablebudget-limit"}
	limited({"maxUnavailable": 1, "minAvailable": 1}) == {"podunavailablebudget-limit-exclusive"}
}

test_limits_are_of_all_at_most if {
	every limit in ["maxUnavailable", "minAvailable"] {
		every value in [0, 5, "0%", "100%"] {
			limited({limit: value}) == set()
		}
		every value in [-1, "101%", "-1%", "5", "half"] {
			limited({limit: value}) == {"podunavailablebudget-amount"}
		}
	}
}

test_operations_are_four if {
	changed({"spec": {"protectOperations": ["DELETE", "EVICT", "RESIZE", "UPDATE"]}}) == set()
	changed({"spec": {"protectOperations": ["CREATE"]}}) == {"podunavailablebudget-operations"}
	annotated("kruise.io/pub-protect-operations", "DELETE,EVICT") == set()
	annotated("kruise.io/pub-protect-operations", "DELETE,CREATE") == {"podunavailablebudget-operations"}
}

annotated(key, value) := changed({"metadata": {"annotations": {key: value}}})

test_a_total_is_an_int32_that_both_places_agree_on[note] if {
	some note, tc in {
		"greatest": {"text": "2147483647", "spec": {}, "right": true},
		"too great": {"text": "2147483648", "spec": {}, "right": false},
		"text": {"text": "all", "spec": {}, "right": false},
		"the same": {"text": "5", "spec": {"protectTotalReplicas": 5}, "right": true},
		"another": {"text": "5", "spec": {"protectTotalReplicas": 6}, "right": false},
	}
	annotations := {"pub.kruise.io/protect-total-replicas": tc.text}
	changed({"metadata": {"annotations": annotations}, "spec": tc.spec}) == {r | some r in ["podunavailablebudget-total"]; not tc.right}
}

test_a_total_counts_something if {
	changed({"spec": {"protectTotalReplicas": 1}}) == set()
	changed({"spec": {"protectTotalReplicas": 0}}) == {"podunavailablebudget-total-positive"}
}

test_the_pods_stay if {
	updated({"maxUnavailable": 2}) == set()
	updated({"selector": {"matchLabels": {"app": "shop"}}}) == {"podunavailablebudget-immutable"}
}

test_a_target_has_one_budget if {
	object_ := object.union(bare, {"spec": object.union(by_target, {"maxUnavailable": 1})})
	judged({"operation": "CREATE", "object": object_}, on, ["first"], []) == {"podunavailablebudget-same-target"}
	judged({"operation": "UPDATE", "object": object_, "oldObject": object_}, on, ["first"], []) == set()
}

test_selectors_do_not_overlap if {
	judged({"operation": "CREATE", "object": good}, on, [], ["first"]) == {"podunavailablebudget-overlap"}
	judged({"operation": "UPDATE", "object": good, "oldObject": good}, on, [], ["first"]) == set()
}
