package fairlead.apps.cloneset_test

import data.fairlead.apps.cloneset

good := {
	"apiVersion": "apps.kruise.io/v1beta1",
	"metadata": {"name": "web", "namespace": "shop", "uid": "mine"},
	"spec": {
		"replicas": 3,
		"selector": {"matchLabels": {"app": "web"}},
		"template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "a", "image": "i"}]}},
		"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
	},
}

alpha := object.union(object.remove(good, ["apiVersion", "spec"]), {
	"apiVersion": "apps.kruise.io/v1alpha1",
	"spec": object.union(object.remove(good.spec, ["updateStrategy"]), {"updateStrategy": {"type": "ReCreate", "maxUnavailable": 1}}),
})

rules(object) := {denial.rule | some denial in cloneset.deny with input as {"operation": "CREATE", "object": object}}

fields(object) := {denial.field | some denial in cloneset.deny with input as {"operation": "CREATE", "object": object}}

updating(object, old) := {denial.rule | some denial in cloneset.deny with input as {"operation": "UPDATE", "object": object, "oldObject": old}}

specified(change) := object.union(good, {"spec": change})

with_strategy(strategy) := specified({"updateStrategy": strategy})

rolling(change) := with_strategy({"rollingUpdate": change})

# in_alpha is a CloneSet whose strategy has no section.
in_alpha(strategy) := object.union(alpha, {"spec": {"updateStrategy": strategy}})

test_a_cloneset_is_accepted_in_both_versions if {
	rules(good) == set()
	rules(alpha) == set()
}

test_replicas_are_not_negative if {
	rules(specified({"replicas": 0})) == set()
	rules(specified({"replicas": -1})) == {"cloneset-replicas"}
}

test_the_selector_selects[note] if {
	some note, tc in {
		"expressions": {"selector": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]}, "want": set()},
		"empty": {"selector": {}, "want": {"cloneset-selector"}},
		"no operator": {"selector": {"matchExpressions": [{"key": "app", "operator": "Like"}]}, "want": {"cloneset-selector"}},
	}
	rules(object.union(unselected, {"spec": {"selector": tc.selector}})) == tc.want
}

unselected := object.union(object.remove(good, ["spec"]), {"spec": object.remove(good.spec, ["selector"])})

test_there_is_a_selector if rules(unselected) == {"cloneset-selector"}

test_the_selector_selects_the_pods if {
	rules(specified({"template": {"metadata": {"labels": {"more": "x"}}}})) == set()
	rules(specified({"template": {"metadata": {"labels": {"app": "api"}}}})) == {"cloneset-template-labels"}
}

test_pods_run_for_good if {
	rules(specified({"template": {"spec": {"restartPolicy": "Always"}}})) == set()
	rules(specified({"template": {"spec": {"restartPolicy": "OnFailure"}}})) == {"cloneset-template-lasting"}
	rules(specified({"template": {"spec": {"activeDeadlineSeconds": 5}}})) == {"cloneset-template-lasting"}
}

refusing := {"errors": [{"field": "spec.template.spec", "type": "FieldValueRequired", "body": "Required value"}], "warnings": []}

claiming := specified({"volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}]})

test_a_template_is_judged_when_it_changes if {
	rules(good) == {"cloneset-template"} with fairlead.template_problems as refusing
	updating(specified({"replicas": 4}), good) == set() with fairlead.template_problems as refusing
	updating(specified({"template": {"spec": {"nodeName": "n"}}}), good) == {"cloneset-template"} with fairlead.template_problems as refusing
}

test_new_volumes_are_judged_with_the_template if {
	updating(claiming, good) == {"cloneset-template"} with fairlead.template_problems as refusing
	updating(claiming, claiming) == set() with fairlead.template_problems as refusing
}

test_claims_are_judged_when_they_change if {
	rules(claiming) == {"cloneset-claim-template"} with fairlead.claim_problems as refusing
	updating(claiming, claiming) == set() with fairlead.claim_problems as refusing
	rules(good) == set() with fairlead.claim_problems as refusing
}

test_warnings_pass if {
	warned := {"errors": [], "warnings": ["not asked"]}
	cloneset.warn == {"not asked"} with input as {"operation": "CREATE", "object": claiming}
		with fairlead.template_problems as warned
	cloneset.warn == {"not asked"} with input as {"operation": "CREATE", "object": claiming}
		with fairlead.claim_problems as warned
}

deleting(names) := specified({"scaleStrategy": {"podsToDelete": names}})

test_pods_to_delete_are_named_once if {
	rules(deleting(["a", "b"])) == set()
	rules(deleting(["a", "b", "a"])) == {"cloneset-pods-to-delete-duplicate"}
}

test_pods_to_delete_are_its_own if {
	strangers := {"b": "there is no such Pod"}
	updating(deleting(["a", "b"]), deleting(["a"])) == {"cloneset-pods-to-delete-own"} with fairlead.not_own_pods as strangers
	updating(deleting(["a", "c"]), deleting(["a"])) == set() with fairlead.not_own_pods as strangers
	updating(deleting(["b"]), deleting(["b", "a"])) == set() with fairlead.not_own_pods as strangers
	rules(deleting(["b"])) == set() with fairlead.not_own_pods as strangers
}

test_update_types[note] if {
	some note, tc in {
		"beta rolls": {"object": with_strategy({"type": "RollingUpdate"}), "want": set()},
		"beta waits": {"object": with_strategy({"type": "OnDelete"}), "want": set()},
		"beta has a default": {"object": with_strategy({"type": ""}), "want": set()},
		"beta has a policy elsewhere": {"object": with_strategy({"type": "ReCreate"}), "want": {"cloneset-update-type"}},
		"alpha goes in place": {"object": in_alpha({"type": "InPlaceIfPossible"}), "want": set()},
		"alpha waits": {"object": in_alpha({"type": "OnDelete"}), "want": set()},
		"alpha does not roll": {"object": in_alpha({"type": "RollingUpdate"}), "want": {"cloneset-update-type"}},
	}
	rules(tc.object) == tc.want
}

test_policies_are_known if {
	every policy in ["", "ReCreate", "InPlaceIfPossible", "InPlaceOnly"] {
		rules(rolling({"podUpdatePolicy": policy})) == set()
	}
	rules(rolling({"podUpdatePolicy": "InPlace"})) == {"cloneset-pod-update-policy"}
}

test_numbers_of_pods[note] if {
	some note, tc in {
		"number": {"value": 5, "right": true},
		"percentage": {"value": "12.5%", "right": true},
		"more than all": {"value": "150%", "right": true},
		"negative": {"value": -1, "right": false},
		"negative percentage": {"value": "-5%", "right": false},
		"a number as text": {"value": "5", "right": false},
		"text": {"value": "abc", "right": false},
		"nothing": {"value": "", "right": false},
	}
	every name in ["maxSurge", "maxUnavailable", "partition"] {
		(rules(rolling({name: tc.value})) == set()) == tc.right
		fields(rolling({name: tc.value})) == {field | not tc.right; field := sprintf("spec.updateStrategy.rollingUpdate.%s", [name])}
		fields(in_alpha({name: tc.value})) == {field | not tc.right; field := sprintf("spec.updateStrategy.%s", [name])}
	}
	(rules(specified({"scaleStrategy": {"maxUnavailable": tc.value}})) == set()) == tc.right
}

test_mistakes_in_numbers_of_pods_are_named if {
	rules(rolling({"partition": "abc"})) == {"cloneset-amount"}
	rules(specified({"scaleStrategy": {"maxUnavailable": "abc"}})) == {"cloneset-scale-amount"}
}

test_numbers_that_are_not_set_are_defaults if rules(specified({"updateStrategy": {"type": "OnDelete", "rollingUpdate": {"paused": true}}})) == set()

test_a_stored_scale_amount_is_left_alone if {
	stored := specified({"scaleStrategy": {"maxUnavailable": "5"}})
	updating(object.union(stored, {"spec": {"replicas": 4}}), stored) == set()
	updating(stored, specified({"scaleStrategy": {"maxUnavailable": 5}})) == {"cloneset-scale-amount"}
}

test_updates_can_go_on[note] if {
	some note, tc in {
		"surge": {"change": {"maxUnavailable": 0, "maxSurge": "1%"}, "want": set()},
		"rounded up": {"change": {"maxUnavailable": "1%"}, "want": set()},
		"neither": {"change": {"maxUnavailable": 0, "maxSurge": 0}, "want": {"cloneset-no-progress"}},
		"no surge": {"change": {"maxUnavailable": "0%"}, "want": {"cloneset-no-progress"}},
		"negative": {"change": {"maxUnavailable": -1}, "want": {"cloneset-amount"}},
	}
	rules(rolling(tc.change)) == tc.want
	rules(in_alpha(tc.change)) == tc.want
}

test_without_replicas_nothing_has_to_go_on if {
	object_ := object.union(rolling({"maxUnavailable": 0}), {"spec": {"replicas": 0}})
	rules(object_) == set()
}

test_nothing_surges_in_place if {
	every surge, want in {"0%": set(), "1%": {"cloneset-surge-in-place"}} {
		rules(rolling({"podUpdatePolicy": "InPlaceOnly", "maxSurge": surge})) == want
		rules(in_alpha({"type": "InPlaceOnly", "maxSurge": surge})) == want
	}
	rules(rolling({"podUpdatePolicy": "InPlaceIfPossible", "maxSurge": 1})) == set()
}

test_priorities_are_well_formed if {
	right := {"priorityStrategy": {"weightPriority": [{"weight": 100, "matchSelector": {"matchLabels": {"a": "b"}}}]}}
	rules(rolling(right)) == set()
	wrong := {"priorityStrategy": {"orderPriority": [{"orderedKey": ""}]}}
	rules(rolling(wrong)) == {"cloneset-priority"}
	fields(in_alpha(wrong)) == {"spec.updateStrategy.priorityStrategy.orderPriority[0].orderedKey"}
}

test_scattered_terms_are_well_formed if {
	rules(rolling({"scatterStrategy": [{"key": "a", "value": "b"}, {"key": "a"}]})) == set()
	wrong := {"scatterStrategy": [{"key": "a"}, {"key": "a", "value": ""}]}
	rules(rolling(wrong)) == {"cloneset-scatter"}
	fields(in_alpha(wrong)) == {"spec.updateStrategy.scatterStrategy[1]"}
}

test_images_are_pulled_ahead_by_numbers if {
	right := {"inPlaceUpdateStrategy": {"imagePreDownloadParallelism": "3", "imagePreDownloadTimeoutSeconds": 0}}
	rules(rolling(right)) == set()
	wrong := {"inPlaceUpdateStrategy": {"imagePreDownloadParallelism": "30%"}}
	rules(rolling(wrong)) == {"cloneset-predownload"}
	rules(in_alpha(wrong)) == set()
}

test_deadlines_leave_time[note] if {
	some note, tc in {
		"longer": {"ready": 10, "deadline": 11, "want": set()},
		"as long": {"ready": 10, "deadline": 10, "want": {"cloneset-progress-deadline"}},
		"none": {"ready": 2147483647, "deadline": 2147483647, "want": set()},
		"negative": {"ready": -2, "deadline": -1, "want": {"cloneset-progress-deadline"}},
	}
	every version in [good, alpha] {
		rules(object.union(version, {"spec": {"minReadySeconds": tc.ready, "progressDeadlineSeconds": tc.deadline}})) == tc.want
	}
}

test_a_stored_deadline_is_left_alone if {
	stored := specified({"minReadySeconds": 10, "progressDeadlineSeconds": 5})
	updating(object.union(stored, {"spec": {"replicas": 4}}), stored) == set()
	updating(object.union(stored, {"spec": {"minReadySeconds": 11}}), stored) == {"cloneset-progress-deadline"}
}

test_the_selector_stays if {
	every change in [
		{"replicas": 4}, {"minReadySeconds": 1}, {"lifecycle": {"preDelete": {}}}, {"revisionHistoryLimit": 1}, {"progressDeadlineSeconds": 60},
		{"scaleStrategy": {"maxUnavailable": 1}}, {"volumeClaimTemplates": []}, {"template": {"spec": {"nodeName": "n"}}}, {"updateStrategy": {"type": "OnDelete"}},
	] {
		updating(specified(change), good) == set()
	}
	selecting := {"selector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}}
	updating(specified(selecting), good) == {"cloneset-immutable"}
}

in_place := rolling({"podUpdatePolicy": "InPlaceOnly"})

with_containers(containers) := object.union(in_place, {"spec": {"template": {"spec": {"containers": containers}}}})

test_in_place_means_images[note] if {
	some note, tc in {
		"image": {"containers": [{"name": "a", "image": "j"}], "want": set()},
		"image and what says nothing": {"containers": [{"name": "a", "image": "j", "resources": {}}], "want": set()},
		"name": {"containers": [{"name": "b", "image": "i"}], "want": {"cloneset-in-place-only"}},
		"no image": {"containers": [{"name": "a"}], "want": {"cloneset-in-place-only"}},
		"second container": {"containers": [{"name": "a", "image": "i"}, {"name": "b", "image": "i"}], "want": {"cloneset-in-place-only"}},
	}
	updating(with_containers(tc.containers), in_place) == tc.want
}

test_in_place_is_for_the_new_policy if {
	changed := specified({"template": {"spec": {"nodeName": "n"}}})
	updating(changed, in_place) == set()
	updating(object.union(in_place, {"spec": {"template": {"spec": {"nodeName": "n"}}}}), good) == {"cloneset-in-place-only"}
	updating(object.union(in_place, {"spec": {"template": {"metadata": {"labels": {"more": "x"}}}}}), in_place) == set()
}

with_init(image) := object.union(in_place, {"spec": {"template": {"spec": {"initContainers": [{"name": "s", "image": image}]}}}})

test_init_containers_do_not_change_in_place if updating(with_init("j"), with_init("i")) == {"cloneset-in-place-only"}
