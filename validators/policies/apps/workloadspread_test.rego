package fairlead.apps.workloadspread_test

import data.fairlead.apps.workloadspread

good := {
	"apiVersion": "apps.kruise.io/v1beta1",
	"metadata": {"name": "web", "namespace": "shop"},
	"spec": {
		"targetRef": {"apiVersion": "apps.kruise.io/v1beta1", "kind": "CloneSet", "name": "web"},
		"subsets": [
			{"name": "ecs", "maxReplicas": 30, "requiredNodeSelector": {"matchExpressions": [{"key": "type", "operator": "NotIn", "values": ["vk"]}]}},
			{"name": "vk", "tolerations": [{"key": "virtual", "operator": "Exists"}]},
		],
	},
}

rules(object) := {denial.rule |
	some denial in workloadspread.deny with input as {"operation": "CREATE", "object": object}
		with data.inventory.gates.WorkloadSpread as true
}

updating(object, old) := {denial.rule |
	some denial in workloadspread.deny with input as {"operation": "UPDATE", "object": object, "oldObject": old}
		with data.inventory.gates.WorkloadSpread as true
}

specified(change) := object.union(good, {"spec": change})

targeting(api, kind, name) := specified({"targetRef": {"apiVersion": api, "kind": kind, "name": name}})

spread(subsets) := specified({"subsets": subsets})

test_a_workloadspread_is_accepted_in_both_versions if {
	rules(good) == set()
	subsets := [{"name": "a", "requiredNodeSelectorTerm": {"matchExpressions": []}}]
	rules(object.union(spread(subsets), {"apiVersion": "apps.kruise.io/v1alpha1"})) == set()
}

test_the_gate_is_on if {
	{denial.rule | some denial in workloadspread.deny} == {"workloadspread-gate"} with input as {"operation": "CREATE", "object": good}
}

test_targets_are_whole if {
	every member in ["apiVersion", "kind", "name"] {
		rules(specified({"targetRef": {member: ""}})) == {"workloadspread-target"}
	}
}

test_kinds_of_targets[note] if {
	some note, tc in {
		"CloneSet": {"api": "apps.kruise.io/v1alpha1", "kind": "CloneSet", "right": true},
		"Deployment": {"api": "apps/v1", "kind": "Deployment", "right": true},
		"ReplicaSet": {"api": "apps/v1", "kind": "ReplicaSet", "right": true},
		"Job": {"api": "batch/v1", "kind": "Job", "right": true},
		"StatefulSet": {"api": "apps/v1", "kind": "StatefulSet", "right": true},
		"Advanced StatefulSet": {"api": "apps.kruise.io/v1beta1", "kind": "StatefulSet", "right": true},
		"a listed kind": {"api": "example.com/v7", "kind": "Game", "right": true},
		"a kind of another group": {"api": "apps/v1", "kind": "CloneSet", "right": false},
		"a kind that does not scale": {"api": "apps/v1", "kind": "DaemonSet", "right": false},
		"a kind without a group": {"api": "v1", "kind": "ReplicationController", "right": false},
	}
	list := `{"workloads": [{"Group": "example.com", "Version": "v1", "Kind": "Game"}]}`
	rules(targeting(tc.api, tc.kind, "web")) == {"workloadspread-target-kind" | not tc.right} with fairlead.configuration as list
}

test_a_list_that_is_none_lists_nothing if {
	every list in ["{", `["Game"]`, `{"workloads": {"a": 1}}`] {
		rules(good) == set() with fairlead.configuration as list
		rules(targeting("example.com/v1", "Game", "web")) == {"workloadspread-target-kind"} with fairlead.configuration as list
	}
}

test_targets_have_one_workloadspread if {
	rules(good) == {"workloadspread-same-target"} with fairlead.same_target as ["other"]
	updating(specified({"targetRef": {"apiVersion": "apps.kruise.io/v1alpha1"}}), good) == set() with fairlead.same_target as ["other"]
}

test_the_target_stays if {
	updating(specified({"targetRef": {"name": "api"}}), good) == {"workloadspread-immutable"}
	updating(targeting("apps/v1", "Deployment", "web"), good) == {"workloadspread-immutable"}
	updating(targeting("apps.kruise.io/v2", "CloneSet", "web"), good) == set()
}

test_subsets_have_names_of_their_own[note] if {
	some note, tc in {
		"two": {"names": ["a", "b"], "want": set()},
		"none": {"names": [], "want": {"workloadspread-subsets"}},
		"empty": {"names": ["", ""], "want": {"workloadspread-subset-name"}},
		"the same": {"names": ["a", "b", "a"], "want": {"workloadspread-subset-duplicate"}},
	}
	rules(spread([{"name": name} | some name in tc.names])) == tc.want
}

refusing := {"errors": [{"field": "x", "type": "FieldValueRequired", "body": "Required value"}], "warnings": []}

test_nodes_are_judged_when_they_change if {
	rules(good) == {"workloadspread-placement"} with fairlead.pod_spec_problems as refusing
	rules(spread([{"name": "a"}])) == set() with fairlead.pod_spec_problems as refusing
	updating(specified({"scheduleStrategy": {"type": "Fixed"}}), good) == set() with fairlead.pod_spec_problems as refusing
	preferring := spread([{"name": "a", "preferredNodeSelector": [{"weight": 1, "preference": {}}]}])
	updating(preferring, good) == {"workloadspread-placement"} with fairlead.pod_spec_problems as refusing
}

# What a version does not know is no part of it.
test_terms_have_the_names_of_their_version if {
	alpha := {"apiVersion": "apps.kruise.io/v1alpha1"}
	every subset in [{"name": "a", "requiredNodeSelectorTerm": {}}, {"name": "a", "preferredNodeSelectorTerms": [{"weight": 1}]}] {
		rules(object.union(spread([subset]), alpha)) == {"workloadspread-placement"} with fairlead.pod_spec_problems as refusing
		rules(spread([subset])) == set() with fairlead.pod_spec_problems as refusing
	}
}

found := {"found": true, "claims": [], "template": {"spec": {"containers": [{"name": "main", "image": "i"}]}}}

patched(patch) := spread([{"name": "a"}, {"name": "b", "patch": patch}])

test_patches_fit_the_target if {
	rules(patched({"spec": {"containers": {"name": "main"}}})) == {"workloadspread-patch"} with fairlead.workload as found
	rules(patched({"metadata": {"labels": {"a": "b"}}})) == set() with fairlead.workload as found
	rules(patched({"spec": {"containers": {"name": "main"}}})) == set() with fairlead.workload as {"found": false}
}

test_patches_make_a_pod if {
	rules(patched({"spec": {"nodeName": "n"}})) == {"workloadspread-patched"} with fairlead.workload as found
		with fairlead.template_problems as refusing
	rules(spread([{"name": "a"}])) == set() with fairlead.workload as found
		with fairlead.template_problems as refusing
	rules(patched({"spec": {"nodeName": "n"}})) == set() with fairlead.workload as found
		with fairlead.template_problems as {"errors": [], "warnings": []}
}

test_a_patch_that_is_there_is_left_alone if {
	wrong := patched({"spec": {"containers": {"name": "main"}}})
	updating(object.union(wrong, {"spec": {"scheduleStrategy": {"type": "Fixed"}}}), wrong) == set() with fairlead.workload as found
}

test_warnings_pass if {
	warned := {"errors": [], "warnings": ["not asked"]}
	workloadspread.warn == {"not asked"} with input as {"operation": "CREATE", "object": good}
		with fairlead.pod_spec_problems as warned
	workloadspread.warn == {"not asked"} with input as {"operation": "CREATE", "object": patched({})}
		with fairlead.workload as found
		with fairlead.template_problems as warned
}

limited(maximums) := [{"name": sprintf("s%d", [i]), "maxReplicas": value} | some i, value in maximums]

test_maximums[note] if {
	some note, tc in {
		"none": {"value": 0, "want": set()},
		"whole": {"value": "100%", "want": set()},
		"negative": {"value": -1, "want": {"workloadspread-amount"}},
		"text": {"value": "abc", "want": {"workloadspread-amount"}},
		"a number as text": {"value": "5", "want": {"workloadspread-amount"}},
		"more than a whole": {"value": "150%", "want": {"workloadspread-sum"}},
	}
	rules(spread(limited([tc.value]))) == tc.want
}

test_maximums_are_of_one_kind if {
	rules(spread(array.concat(limited(["30%", "20%"]), [{"name": "rest"}]))) == set()
	rules(spread(array.concat(limited(["30%", 2]), [{"name": "rest"}]))) == {"workloadspread-amount-kind"}
}

test_maximums_of_statefulsets_are_numbers if {
	every api in ["apps/v1", "apps.kruise.io/v1beta1"] {
		numbered := object.union(targeting(api, "StatefulSet", "db"), {"spec": {"subsets": [{"name": "a", "maxReplicas": 1}, {"name": "b"}]}})
		rules(numbered) == set()
		shared := object.union(targeting(api, "StatefulSet", "db"), {"spec": {"subsets": [{"name": "a", "maxReplicas": "10%"}, {"name": "b"}]}})
		rules(shared) == {"workloadspread-amount-kind"}
	}
}

test_percentages_make_a_whole[note] if {
	some note, tc in {
		"whole": {"maximums": ["60%", "40%"], "rest": [], "want": set()},
		"less": {"maximums": ["60%", "30%"], "rest": [], "want": {"workloadspread-sum"}},
		"less, and a rest": {"maximums": ["60%", "30%"], "rest": [{"name": "rest"}], "want": set()},
		"more": {"maximums": ["60%", "50%"], "rest": [{"name": "rest"}], "want": {"workloadspread-sum"}},
	}
	rules(spread(array.concat(limited(tc.maximums), tc.rest))) == tc.want
}

scheduled(strategy, subsets) := specified({"scheduleStrategy": strategy, "subsets": subsets})

test_ways_to_schedule_are_known if {
	every type in ["", "Adaptive", "Fixed"] {
		rules(scheduled({"type": type}, [{"name": "a"}])) == set()
	}
	rules(scheduled({"type": "Random"}, [{"name": "a"}])) == {"workloadspread-schedule-type"}
}

test_adaptive_settings_are_for_adaptive if {
	rules(scheduled({"type": "Adaptive", "adaptive": {}}, [{"name": "a"}])) == set()
	rules(scheduled({"type": "Fixed", "adaptive": {}}, [{"name": "a"}])) == {"workloadspread-adaptive-type"}
	rules(scheduled({"adaptive": {}}, [{"name": "a"}])) == {"workloadspread-adaptive-type"}
}

test_the_last_subset_takes_the_rest if {
	rules(scheduled({"type": "Adaptive"}, limited([1, 2]))) == {"workloadspread-adaptive-last"}
	rules(scheduled({"type": "Adaptive"}, array.concat(limited([1, 2]), [{"name": "rest"}]))) == set()
	rules(scheduled({"type": "Adaptive"}, limited([1]))) == set()
	rules(scheduled({"type": "Fixed"}, limited([1, 2]))) == set()
}

test_rescheduling_is_in_time[note] if {
	some note, tc in {
		"at once": {"seconds": 0, "subsets": 2, "want": set()},
		"two subsets": {"seconds": 295, "subsets": 2, "want": set()},
		"three subsets": {"seconds": 147, "subsets": 3, "want": set()},
		"three subsets, too long": {"seconds": 148, "subsets": 3, "want": {"workloadspread-critical-seconds"}},
		"one subset": {"seconds": 295, "subsets": 1, "want": set()},
		"negative": {"seconds": -1, "subsets": 1, "want": {"workloadspread-critical-seconds"}},
	}
	subsets := [{"name": sprintf("s%d", [i])} | some i in numbers.range(1, tc.subsets)]
	rules(scheduled({"type": "Adaptive", "adaptive": {"rescheduleCriticalSeconds": tc.seconds}}, subsets)) == tc.want
}

test_filters_are_valid if {
	every selector in [{}, {"matchLabels": {"a": "b"}}] {
		rules(specified({"targetFilter": {"selector": selector}})) == set()
	}
	rules(specified({"targetFilter": {"selector": {"matchExpressions": [{"key": "a", "operator": "Like"}]}}})) == {"workloadspread-filter"}
}

test_of_many_patches_the_first_are_tried if {
	many := spread([{"name": sprintf("s%d", [i]), "patch": {"metadata": {"labels": {"a": sprintf("%d", [i])}}}} | some i in numbers.range(1, 51)])
	workloadspread.warn == {"only the first 50 patches of subsets were tried"} with input as {"operation": "CREATE", "object": many}
		with fairlead.workload as found
}

test_patches_that_take_too_long_are_not_tried if {
	warnings := workloadspread.warn with input as {"operation": "CREATE", "object": patched({"spec": {"nodeName": "n"}})}
		with fairlead.workload as found
		with fairlead.strategic_merge as {"error": "", "skipped": true}
	warnings == {"spec.subsets[1].patch was not tried: with so many patches the lists of each must be shorter"}
}
