package fairlead.apps.statefulset_test

import data.fairlead.apps.statefulset

good := {
	"apiVersion": "apps.kruise.io/v1beta1",
	"metadata": {"name": "db", "namespace": "shop"},
	"spec": {
		"replicas": 3,
		"selector": {"matchLabels": {"app": "db"}},
		"serviceName": "db",
		"podManagementPolicy": "Parallel",
		"template": {
			"metadata": {"labels": {"app": "db"}},
			"spec": {"readinessGates": [{"conditionType": "InPlaceUpdateReady"}], "containers": [{"name": "a", "image": "i"}]},
		},
		"volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}],
		"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
	},
}

without(member) := object.union(object.remove(good, ["spec"]), {"spec": object.remove(good.spec, [member])})

with_member(member, value) := object.union(without(member), {"spec": {member: value}})

in_order := with_member("podManagementPolicy", "OrderedReady")

rules(object) := {denial.rule | some denial in statefulset.deny with input as {"operation": "CREATE", "object": object}}

fields(object) := {denial.field | some denial in statefulset.deny with input as {"operation": "CREATE", "object": object}}

updating(object, old) := {denial.rule | some denial in statefulset.deny with input as {"operation": "UPDATE", "object": object, "oldObject": old}}

specified(change) := object.union(good, {"spec": change})

rolling(change) := specified({"updateStrategy": {"rollingUpdate": change}})

test_a_statefulset_is_accepted_in_both_versions if {
	rules(good) == set()
	rules(object.union(good, {"apiVersion": "apps.kruise.io/v1alpha1"})) == set()
}

# What a StatefulSet of apps/v1 says is enough.
test_a_native_one_is_accepted if {
	every member in ["podManagementPolicy", "replicas", "serviceName", "updateStrategy", "volumeClaimTemplates"] {
		rules(without(member)) == set()
	}
}

test_replicas_are_not_negative if {
	rules(specified({"replicas": 0})) == set()
	rules(specified({"replicas": -1})) == {"statefulset-replicas"}
}

test_the_selector_selects if {
	rules(with_member("selector", {"matchExpressions": [{"key": "app", "operator": "Exists"}]})) == set()
	rules(with_member("selector", {})) == {"statefulset-selector"}
	rules(with_member("selector", {"matchLabels": {"app": "a b"}})) == {"statefulset-selector"}
	rules(without("selector")) == {"statefulset-selector"}
}

test_the_selector_selects_the_pods if {
	rules(specified({"template": {"metadata": {"labels": {"more": "x"}}}})) == set()
	rules(specified({"template": {"metadata": {"labels": {"app": "api"}}}})) == {"statefulset-template-labels"}
}

test_pods_run_for_good if {
	rules(specified({"template": {"spec": {"restartPolicy": "Always"}}})) == set()
	rules(specified({"template": {"spec": {"restartPolicy": "Never"}}})) == {"statefulset-template-lasting"}
	rules(specified({"template": {"spec": {"activeDeadlineSeconds": 5}}})) == {"statefulset-template-lasting"}
}

refusing := {"errors": [{"field": "spec.template.spec", "type": "FieldValueRequired", "body": "Required value"}], "warnings": []}

test_a_template_is_judged_when_it_changes if {
	rules(good) == {"statefulset-template"} with fairlead.template_problems as refusing
	updating(specified({"replicas": 4}), good) == set() with fairlead.template_problems as refusing
	updating(specified({"template": {"spec": {"nodeName": "n"}}}), good) == {"statefulset-template"} with fairlead.template_problems as refusing
}

test_claims_are_judged_when_they_change if {
	rules(good) == {"statefulset-claim-template"} with fairlead.claim_problems as refusing
	updating(specified({"replicas": 4}), good) == set() with fairlead.claim_problems as refusing
	rules(without("volumeClaimTemplates")) == set() with fairlead.claim_problems as refusing
}

test_warnings_pass if {
	warned := {"errors": [], "warnings": ["not asked"]}
	statefulset.warn == {"not asked"} with input as {"operation": "CREATE", "object": good}
		with fairlead.template_problems as warned
	statefulset.warn == {"not asked"} with input as {"operation": "CREATE", "object": good}
		with fairlead.claim_problems as warned
}

test_the_order_of_pods_is_known if {
	every order in ["", "OrderedReady", "Parallel"] {
		rules(specified({"podManagementPolicy": order})) == set()
	}
	rules(specified({"podManagementPolicy": "Serial"})) == {"statefulset-management-policy"}
}

test_update_types_are_known if {
	rules(with_member("updateStrategy", {"type": "OnDelete"})) == set()
	rules(with_member("updateStrategy", {"type": "ReCreate"})) == {"statefulset-update-type"}
	rules(with_member("updateStrategy", {"type": "OnDelete", "rollingUpdate": {}})) == {"statefulset-on-delete"}
}

test_partitions_are_not_negative if {
	rules(rolling({"partition": 100})) == set()
	rules(rolling({"partition": -1})) == {"statefulset-partition"}
}

test_pods_are_ready_soon if {
	every seconds, want in {0: set(), 300: set(), -1: {"statefulset-min-ready"}, 301: {"statefulset-min-ready"}} {
		rules(rolling({"minReadySeconds": seconds})) == want
	}
}

test_something_may_be_unavailable[note] if {
	some note, tc in {
		"one": {"value": 1, "right": true},
		"some": {"value": "1%", "right": true},
		"more than all": {"value": "200%", "right": true},
		"none": {"value": 0, "right": false},
		"zero percent": {"value": "0%", "right": false},
		"negative": {"value": -1, "right": false},
		"a number as text": {"value": "5", "right": false},
		"fraction": {"value": "12.5%", "right": false},
		"text": {"value": "abc", "right": false},
	}
	fields(rolling({"maxUnavailable": tc.value})) == {"spec.updateStrategy.rollingUpdate.maxUnavailable" | not tc.right}
	fields(specified({"scaleStrategy": {"maxUnavailable": tc.value}})) == {"spec.scaleStrategy.maxUnavailable" | not tc.right}
	rules(rolling({"maxUnavailable": tc.value})) == {"statefulset-max-unavailable" | not tc.right}
}

test_several_at_once_are_parallel[note] if {
	some note, tc in {
		"one": {"value": 1, "right": true},
		"two": {"value": 2, "right": false},
		"all": {"value": "100%", "right": false},
	}
	every change in [{"updateStrategy": {"rollingUpdate": {"maxUnavailable": tc.value}}}, {"scaleStrategy": {"maxUnavailable": tc.value}}] {
		rules(object.union(in_order, {"spec": change})) == {"statefulset-max-unavailable-parallel" | not tc.right}
		rules(object.union(without("podManagementPolicy"), {"spec": change})) == {"statefulset-max-unavailable-parallel" | not tc.right}
		rules(specified(change)) == set()
	}
}

test_policies_are_known if {
	every policy in ["", "ReCreate", "InPlaceIfPossible", "InPlaceOnly"] {
		rules(rolling({"podUpdatePolicy": policy})) == set()
	}
	rules(rolling({"podUpdatePolicy": "InPlace"})) == {"statefulset-pod-update-policy"}
}

test_updates_in_place_hold_readiness_back if {
	every policy, want in {"ReCreate": set(), "InPlaceIfPossible": {"statefulset-readiness-gate"}, "InPlaceOnly": {"statefulset-readiness-gate"}} {
		ungated := object.union(rolling({"podUpdatePolicy": policy}), {"spec": {"template": {"spec": {"readinessGates": [{"conditionType": "other"}]}}}})
		rules(ungated) == want
	}
}

unordered(change) := rolling({"unorderedUpdate": change})

test_updates_without_order_are_parallel if {
	rules(unordered({})) == set()
	rules(object.union(in_order, {"spec": {"updateStrategy": {"rollingUpdate": {"unorderedUpdate": {}}}}})) == {"statefulset-unordered"}
}

test_priorities_are_well_formed if {
	rules(unordered({"priorityStrategy": {"orderPriority": [{"orderedKey": "a"}]}})) == set()
	wrong := unordered({"priorityStrategy": {"orderPriority": [{"orderedKey": ""}]}})
	rules(wrong) == {"statefulset-priority"}
	fields(wrong) == {"spec.updateStrategy.rollingUpdate.unorderedUpdate.priorityStrategy.orderPriority[0].orderedKey"}
}

test_reserved_ordinals[note] if {
	some note, tc in {
		"number": {"value": 0, "right": true},
		"range": {"value": "2-5", "right": true},
		"range of one": {"value": "2-2", "right": true},
		"leading zeros": {"value": "08-010", "right": true},
		"large": {"value": "1-12345678901234567890", "right": true},
		"negative": {"value": -1, "right": false},
		"fraction": {"value": 1.5, "right": false},
		"a number as text": {"value": "3", "right": false},
		"backwards": {"value": "5-3", "right": false},
		"three": {"value": "1-2-3", "right": false},
		"text": {"value": "a-b", "right": false},
		"open": {"value": "1-", "right": false},
	}
	rules(specified({"reserveOrdinals": [7, tc.value]})) == {"statefulset-reserve-ordinals" | not tc.right}
}

test_ordinals_are_not_negative if {
	rules(specified({"ordinals": {"start": 0}})) == set()
	negative := specified({"ordinals": {"start": -1}})
	rules(negative) == {"statefulset-ordinals"}
	updating(object.union(negative, {"spec": {"replicas": 4}}), negative) == set()
}

test_claims_are_retained_or_deleted if {
	every name in ["whenDeleted", "whenScaled"] {
		every value, want in {"": set(), "Delete": set(), "Retain": set(), "Drop": {"statefulset-retention"}} {
			rules(specified({"persistentVolumeClaimRetentionPolicy": {name: value}})) == want
		}
	}
}

test_some_of_it_changes if {
	every change in [
		{"replicas": 4}, {"ordinals": {"start": 1}}, {"reserveOrdinals": [1]}, {"lifecycle": {}}, {"revisionHistoryLimit": 1},
		{"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete"}}, {"volumeClaimTemplates": []}, {"volumeClaimUpdateStrategy": {"type": "OnDelete"}},
		{"scaleStrategy": {"maxUnavailable": 1}}, {"template": {"spec": {"nodeName": "n"}}}, {"updateStrategy": {"rollingUpdate": {"paused": true}}},
	] {
		updating(specified(change), good) == set()
	}
	every change in [{"serviceName": "other"}, {"podManagementPolicy": "OrderedReady"}, {"selector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}}] {
		updating(specified(change), good) == {"statefulset-immutable"}
	}
}

test_the_default_order_can_be_written_down if {
	updating(in_order, without("podManagementPolicy")) == set()
	updating(without("podManagementPolicy"), in_order) == set()
	updating(good, without("podManagementPolicy")) == {"statefulset-immutable"}
}

test_a_service_without_a_name_is_none if {
	updating(without("serviceName"), with_member("serviceName", "")) == set()
	updating(with_member("serviceName", ""), without("serviceName")) == set()
	updating(without("serviceName"), good) == {"statefulset-immutable"}
}

in_place := rolling({"podUpdatePolicy": "InPlaceOnly"})

with_containers(containers) := object.union(in_place, {"spec": {"template": {"spec": {"containers": containers}}}})

test_in_place_means_images if {
	updating(with_containers([{"name": "a", "image": "j", "env": []}]), in_place) == set()
	updating(with_containers([{"name": "a", "image": "j", "args": ["x"]}]), in_place) == {"statefulset-in-place-only"}
	updating(with_containers([{"name": "a", "image": "j", "args": ["x"]}]), good) == {"statefulset-in-place-only"}
	updating(specified({"template": {"spec": {"nodeName": "n"}}}), in_place) == set()
	updating(object.union(in_place, {"spec": {"template": {"metadata": {"labels": {"more": "x"}}}}}), in_place) == set()
}

resized(claims) := object.union(with_member("volumeClaimTemplates", claims), {"spec": {"volumeClaimUpdateStrategy": {"type": "OnPodRollingUpdate"}}})

claim(spec) := {"metadata": {"name": "data"}, "spec": object.union(good.spec.volumeClaimTemplates[0].spec, spec)}

# resizing is what an update of the claims violates while the gate is on.
resizing(claims, before) := found if {
	found := updating(resized(claims), with_member("volumeClaimTemplates", before)) with data.inventory.gates.StatefulSetAutoResizePVCGate as true
}

test_claims_that_are_resized_stay if {
	resizing([claim({})], [claim({})]) == set()
	resizing([], [claim({})]) == {"statefulset-claims-stay"}
	resizing([claim({}), {"metadata": {"name": "more"}}], [claim({})]) == {"statefulset-claims-stay"}
	resizing([object.union(claim({}), {"metadata": {"name": "other"}})], [claim({})]) == {"statefulset-claims-stay"}
}

test_claims_change_in_size_only[note] if {
	some note, tc in {
		"larger": {"before": {}, "now": {"resources": {"requests": {"storage": "2Gi"}}}, "want": set()},
		"modes": {"before": {}, "now": {"accessModes": ["ReadWriteMany"]}, "want": {"statefulset-claim-size"}},
		"class": {"before": {"storageClassName": "a"}, "now": {"storageClassName": "b"}, "want": {"statefulset-claim-size"}},
		"class that was not said": {"before": {}, "now": {"storageClassName": "b"}, "want": set()},
		"default that was filled in": {"before": {"volumeMode": "Filesystem"}, "now": {}, "want": set()},
		"volumes that are no file systems": {"before": {}, "now": {"volumeMode": "Block"}, "want": {"statefulset-claim-size"}},
	}
	resizing([claim(tc.now)], [claim(tc.before)]) == tc.want
}

test_claims_grow_where_their_class_lets_them[note] if {
	larger := claim({"resources": {"requests": {"storage": "2Gi"}}})
	some note, tc in {
		"elastic": {"class": {"found": true, "name": "a", "fixed": false}, "want": set()},
		"rigid": {"class": {"found": true, "name": "a", "fixed": true}, "want": {"statefulset-claim-grows"}},
		"absent": {"class": {"found": false, "name": "a", "fixed": false}, "want": {"statefulset-claim-grows"}},
		"no default": {"class": {"found": false, "name": "", "fixed": false}, "want": set()},
	}
	resizing([larger], [claim({})]) == tc.want with fairlead.storage_class as tc.class
	resizing([larger], [larger]) == set() with fairlead.storage_class as tc.class
}

test_claims_change_freely_otherwise if {
	updating(resized([]), good) == set()
	updating(with_member("volumeClaimTemplates", []), good) == set() with data.inventory.gates.StatefulSetAutoResizePVCGate as true
	rules(resized([])) == set() with data.inventory.gates.StatefulSetAutoResizePVCGate as true
}
