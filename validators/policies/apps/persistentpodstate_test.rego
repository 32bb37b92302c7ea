package fairlead.apps.persistentpodstate_test

import data.fairlead.apps.persistentpodstate

good := {
	"apiVersion": "apps.kruise.io/v1beta1",
	"metadata": {"name": "keep", "namespace": "shop"},
	"spec": {
		"targetRef": {"apiVersion": "apps.kruise.io/v1beta1", "kind": "StatefulSet", "name": "db"},
		"requiredPersistentTopology": {"keys": ["zone"]},
	},
}

judged(request, configured, others) := found if {
	found := {v.rule | some v in persistentpodstate.deny} with input as request
		with fairlead.configuration as configured
		with fairlead.same_target as others
}

created(object) := judged({"operation": "CREATE", "object": object}, "", [])

specified(change) := created(object.union(good, {"spec": change}))

updated(change) := judged({"operation": "UPDATE", "object": object.union(good, {"spec": change}), "oldObject": good}, "", [])

test_a_state_is_accepted_in_both_versions if {
	created(good) == set()
	created(object.union(good, {"apiVersion": "apps.kruise.io/v1alpha1"})) == set()
}

test_a_target_is_whole if {
	every member in ["apiVersion", "kind", "name"] {
		created(json.remove(good, [sprintf("spec/targetRef/%s", [member])])) == {"persistentpodstate-target"}
	}
}

test_statefulsets_of_two_groups_are_targets[note] if {
	some note, tc in {
		"native": {"target": {"apiVersion": "apps/v1"}, "want": set()},
		"advanced": {"target": {"apiVersion": "apps.kruise.io/v1alpha1"}, "want": set()},
		"another group": {"target": {"apiVersion": "bank.test/v1"}, "want": {"persistentpodstate-target-kind"}},
		"another kind": {"target": {"kind": "CloneSet"}, "want": {"persistentpodstate-target-kind"}},
	}
	specified({"targetRef": tc.target}) == tc.want
}

test_administrators_add_kinds[note] if {
	some note, tc in {
		"listed": {"list": `{"workloads":[{"Group":"bank.test","Kind":"Ledger"}]}`, "want": set()},
		"of another group": {"list": `{"workloads":[{"Group":"shop.test","Kind":"Ledger"}]}`, "want": {"persistentpodstate-target-kind"}},
		"unreadable": {"list": "{", "want": {"persistentpodstate-target-kind"}},
	}
	ledger := object.union(good, {"spec": {"targetRef": {"apiVersion": "bank.test/v1", "kind": "Ledger"}}})
	judged({"operation": "CREATE", "object": ledger}, tc.list, []) == tc.want
}

test_a_topology_is_kept if {
	none := json.remove(good, ["spec/requiredPersistentTopology"])
	created(none) == {"persistentpodstate-topology"}
	created(object.union(none, {"spec": {"preferredPersistentTopology": [{"weight": 0, "preference": {"keys": ["zone"]}}]}})) == set()
}

test_weights_count_from_zero if {
	specified({"preferredPersistentTopology": [{"weight": 0}]}) == set()
	specified({"preferredPersistentTopology": [{"weight": -1}]}) == {"persistentpodstate-weight"}
}

test_states_last_until_scaled_or_deleted if {
	every policy in ["", "WhenDeleted", "WhenScaled"] {
		specified({"persistentPodStateRetentionPolicy": policy}) == set()
	}
	specified({"persistentPodStateRetentionPolicy": "Forever"}) == {"persistentpodstate-retention"}
}

test_the_target_stays if {
	updated({"targetRef": {"apiVersion": "apps.kruise.io/v1alpha1"}}) == set()
	updated({"targetRef": {"name": "other"}}) == {"persistentpodstate-immutable"}
	updated({"targetRef": {"apiVersion": "apps/v1"}}) == {"persistentpodstate-immutable"}
}

test_targets_have_one_state if {
	judged({"operation": "CREATE", "object": good}, "", ["first"]) == {"persistentpodstate-same-target"}
	judged({"operation": "UPDATE", "object": good, "oldObject": good}, "", ["first"]) == set()
}
