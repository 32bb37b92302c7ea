package fairlead.apps.daemonset_test

import data.fairlead.apps.daemonset

nothing := {"errors": [], "warnings": []}

refusing := {"errors": [{"field": "spec.template.spec.containers[0].image", "type": "FieldValueRequired", "body": "Required value"}], "warnings": []}

good := {
	"apiVersion": "apps.kruise.io/v1beta1",
	"metadata": {"name": "agent", "namespace": "shop"},
	"spec": {
		"selector": {"matchLabels": {"app": "agent"}},
		"template": {"metadata": {"labels": {"app": "agent"}}, "spec": {"containers": [{"name": "a", "image": "i"}]}},
		"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
	},
}

alpha := object.union(good, {"apiVersion": "apps.kruise.io/v1alpha1"})

judged(request, answer) := found if {
	found := {v.rule | some v in daemonset.deny} with input as request
		with fairlead.template_problems as answer
}

created(object) := judged({"operation": "CREATE", "object": object}, nothing)

specified(change) := created(object.union(good, {"spec": change}))

rolling(change) := specified({"updateStrategy": {"rollingUpdate": change}})

updated(change) := judged({"operation": "UPDATE", "object": object.union(good, {"spec": change}), "oldObject": good}, nothing)

test_a_daemonset_is_accepted_in_both_versions if {
	created(good) == set()
	created(alpha) == set()
}

test_the_selector_selects if {
	created(json.remove(good, ["spec/selector"])) == {"daemonset-selector"}
	specified({"selector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}}) == set()
	specified({"selector": {"matchExpressions": [{"key": "app", "operator": "Like"}]}}) == {"daemonset-selector"}
}

test_the_selector_selects_the_pods_of_the_template if {
	specified({"template": {"metadata": {"labels": {"more": "x"}}}}) == set()
	specified({"template": {"metadata": {"labels": {"app": "x"}}}}) == {"daemonset-template-labels"}
}

test_pods_run_for_good if {
	specified({"template": {"spec": {"restartPolicy": "Always"}}}) == set()
	specified({"template": {"spec": {"restartPolicy": "OnFailure"}}}) == {"daemonset-template-lasting"}
	specified({"template": {"spec": {"activeDeadlineSeconds": 1}}}) == {"daemonset-template-lasting"}
}

test_a_template_is_judged_when_it_changes if {
	judged({"operation": "CREATE", "object": good}, refusing) == {"daemonset-template"}
	judged({"operation": "UPDATE", "object": object.union(good, {"spec": {"minReadySeconds": 1}}), "oldObject": good}, refusing) == set()
}

test_numbers_count_from_zero if {
	every member in ["minReadySeconds", "revisionHistoryLimit"] {
		specified({member: 0}) == set()
		specified({member: -1}) == {"daemonset-not-negative"}
	}
}

test_updates_are_rolling_or_on_delete if {
	specified({"updateStrategy": {"type": "OnDelete"}}) == set()
	specified({"updateStrategy": {"type": "ReCreate"}}) == {"daemonset-update-type"}
}

test_a_rolling_update_is_described if {
	bare := json.remove(good, ["spec/updateStrategy/rollingUpdate"])
	created(bare) == {"daemonset-rolling-update"}
	created(object.union(bare, {"spec": {"updateStrategy": {"type": "OnDelete"}}})) == set()
}

test_surging_is_a_word_of_v1alpha1 if {
	surging := {"spec": {"updateStrategy": {"rollingUpdate": {"rollingUpdateType": "Surging", "maxUnavailable": 0, "maxSurge": 1}}}}
	created(object.union(alpha, surging)) == set()
	created(object.union(good, surging)) == {"daemonset-rolling-update-type"}
	rolling({"rollingUpdateType": "Standard"}) == set()
}

test_amounts_are_of_all_nodes_at_most[note] if {
	some note, tc in {
		"all": {"value": "100%", "right": true},
		"more than all": {"value": "101%", "right": false},
		"negative": {"value": -1, "right": false},
		"text": {"value": "abc", "right": false},
	}
	want := {r | some r in ["daemonset-amount"]; not tc.right}
	rolling({"partition": tc.value}) == want
	rolling({"maxUnavailable": tc.value}) == want
	rolling({"maxUnavailable": 0, "maxSurge": tc.value}) == want
}

# A number of 0 counts as not set.
test_one_of_unavailable_and_surge_is_set[note] if {
	some note, tc in {
		"unavailable": {"update": {"maxUnavailable": 1, "maxSurge": "0%"}, "want": set()},
		"surge": {"update": {"maxUnavailable": 0, "maxSurge": "1%"}, "want": set()},
		"neither": {"update": {"maxUnavailable": "0%", "maxSurge": 0}, "want": {"daemonset-no-progress"}},
		"both": {"update": {"maxUnavailable": 1, "maxSurge": 1}, "want": {"daemonset-surge-exclusive"}},
	}
	rolling(tc.update) == tc.want
}

test_surging_interrupts_nothing if {
	surging := {"spec": {"updateStrategy": {"rollingUpdate": {"rollingUpdateType": "Surging", "maxUnavailable": 1, "maxSurge": 1}}}}
	created(object.union(alpha, surging)) == {"daemonset-surging"}
}

test_nothing_surges_in_place if {
	rolling({"rollingUpdateType": "InPlaceIfPossible"}) == set()
	rolling({"rollingUpdateType": "InPlaceIfPossible", "maxUnavailable": 0, "maxSurge": 1}) == {"daemonset-surge-in-place"}
}

test_nodes_of_an_update_can_be_selected if {
	rolling({"selector": {"matchLabels": {"a": "b"}}}) == set()
	rolling({"selector": {"matchLabels": {"a": "b c"}}}) == {"daemonset-node-selector"}
}

test_there_is_no_hook_of_updates if {
	specified({"lifecycle": {"preDelete": {"labelsHandler": {"a": "b"}}}}) == set()
	specified({"lifecycle": {"inPlaceUpdate": {"labelsHandler": {"a": "b"}}}}) == {"daemonset-lifecycle"}
}

test_the_selector_stays if {
	updated({"burstReplicas": 5, "minReadySeconds": 1, "revisionHistoryLimit": 1, "template": {"spec": {"nodeName": "n"}}}) == set()
	updated({"selector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}}) == {"daemonset-immutable"}
}
