package fairlead.apps.sidecarset_test

import data.fairlead.apps.sidecarset

# judged are the ids of the rules that an input violates, when the cluster finds nothing to complain about.
judged(request) := {v.rule | some v in violations(request)}

violations(request) := found if {
	found := sidecarset.deny with input as request
		with fairlead.sidecarset_conflicts as []
		with fairlead.pod_problems as {"errors": [], "warnings": []}
}

created(spec) := {"operation": "CREATE", "object": {
	"apiVersion": "apps.kruise.io/v1beta1",
	"metadata": {"name": "logger"},
	"spec": object.union({"selector": {"matchLabels": {"app": "web"}}, "containers": [{"name": "logger"}]}, spec),
}}

updated(before, after) := object.union(created(after), {"operation": "UPDATE", "oldObject": created(before).object})

test_minimal if judged(created({})) == set()

test_violations_have_fields if {
	found := violations(created({"namespaceSelector": {}, "containers": []}))
	{v.field | some v in found} == {"spec.namespaceSelector", "spec.containers"}
}

test_selector[note] if {
	some note, tc in {
		"empty": {"selector": {}, "want": {"sidecarset-selector-empty"}},
		"labels": {"selector": {"matchLabels": {"a": "b"}}, "want": set()},
		"expressions": {"selector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}, "want": set()},
		"invalid": {"selector": {"matchLabels": {"a": "b c"}}, "want": {"sidecarset-selector-valid"}},
	}
	judged(created({"namespaceSelector": tc.selector})) == tc.want
}

# Validation §5.3 applies to rolling updates only.
test_strategy_of_not_update_is_not_looked_at if {
	judged(created({"updateStrategy": {
		"type": "NotUpdate", "partition": -1, "maxUnavailable": "x", "selector": {"matchLabels": {"a": "b"}},
		"scatterStrategy": [{}, {}],
		"priorityStrategy": {"weightPriority": [{"weight": 101}], "orderPriority": [{}]},
	}})) == set()
}

# An empty word is what the defaults stand for.
test_empty_words if {
	judged(created({
		"injectionStrategy": {"revision": {"revisionName": "logger-1", "policy": ""}},
		"containers": [{
			"name": "logger", "podInjectPolicy": "", "shareVolumePolicy": {"type": ""}, "shareVolumeDevicePolicy": {"type": ""},
			"upgradeStrategy": {"upgradeType": ""},
			"transferEnv": [{"envName": "A", "sourceContainerNameFrom": {"fieldRef": {"apiVersion": "", "fieldPath": "metadata.labels['a']"}}}],
		}],
	})) == set()
}

test_native_sidecars_are_init_containers if {
	judged(created({"containers": [{"name": "logger", "restartPolicy": "Always"}]})) == set()
	judged(created({"initContainers": [{"name": "setup", "restartPolicy": "Always"}]})) == {"sidecarset-native-not-update"}
}

test_hot_upgrade_of_init_containers if {
	long := "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	count(long) == 62
	judged(created({
		"updateStrategy": {"type": "NotUpdate"},
		"initContainers": [{"name": long, "restartPolicy": "Always", "upgradeStrategy": {"upgradeType": "HotUpgrade"}}],
	})) == {"sidecarset-hot-upgrade-image", "sidecarset-hot-upgrade-name"}
}

test_resources_beside_their_policy[note] if {
	some note, tc in {
		"limits": {"resources": {"limits": {"cpu": "1"}}, "refused": true},
		"requests": {"resources": {"requests": {"cpu": "1"}}, "refused": true},
		"claims": {"resources": {"claims": [{"name": "gpu"}]}, "refused": false},
	}
	policy := {"targetContainersMode": "sum", "targetContainersNameRegex": ".*", "resourcesExpr": {"limits": {"cpu": "cpu"}}}
	violated := judged(created({"containers": [{"name": "logger", "resources": tc.resources, "resourcesPolicy": policy}]}))
	("sidecarset-resources-policy-exclusive" in violated) == tc.refused
}

annotated(annotations) := object.union(created({}), {"object": {"metadata": {"annotations": annotations}}})

# Both annotations make a canary; the base alone is only a note.
test_base_of_what_is_no_canary if {
	base_of_itself := {"apps.kruise.io/sidecarset-base": "logger"}
	judged(annotated(base_of_itself)) == set()
	judged(annotated(object.union(base_of_itself, {"apps.kruise.io/sidecarset-canary": "false"}))) == set()
	judged(object.union(created({}), {"operation": "UPDATE", "oldObject": annotated({"apps.kruise.io/sidecarset-base": "old"}).object})) == set()
}

test_partition_beside_selector[note] if {
	some note, tc in {
		"zero": {"partition": 0, "refused": false},
		"number": {"partition": 1, "refused": true},
		"percentage": {"partition": "10%", "refused": true},
		"zero percent": {"partition": "0%", "refused": true},
	}
	violated := judged(created({"updateStrategy": {"partition": tc.partition, "selector": {"matchLabels": {"a": "b"}}}}))
	("sidecarset-partition-selector" in violated) == tc.refused
}

test_int_or_percent[note] if {
	some note, tc in {
		"zero": {"value": 0, "right": true},
		"negative": {"value": -1, "right": false},
		"fraction": {"value": 1.5, "right": false},
		"percentage": {"value": "25%", "right": true},
		"negative percentage": {"value": "-25%", "right": false},
		"text": {"value": "five", "right": false},
	}
	(judged(created({"updateStrategy": {"maxUnavailable": tc.value}})) == set()) == tc.right
}

test_namespace_in_v1alpha1_beside_its_own_selector[note] if {
	some note, tc in {
		"equal": {"selector": {"matchLabels": {"kubernetes.io/metadata.name": "shop"}}, "want": set()},
		"another": {"selector": {"matchLabels": {"kubernetes.io/metadata.name": "x"}}, "want": {"sidecarset-namespace-exclusive"}},
		"more": {"selector": {"matchLabels": {"kubernetes.io/metadata.name": "shop", "a": "b"}}, "want": {"sidecarset-namespace-exclusive"}},
		"expressions": {
			"selector": {"matchLabels": {"kubernetes.io/metadata.name": "shop"}, "matchExpressions": [{"key": "a", "operator": "Exists"}]},
			"want": {"sidecarset-namespace-exclusive"},
		},
	}
	judged(created({"namespace": "shop", "namespaceSelector": tc.selector})) == tc.want
}

test_containers_on_update[note] if {
	some note, tc in {
		"same": {"before": ["a", "b"], "after": ["a", "b"], "want": set()},
		"removed": {"before": ["a", "b"], "after": ["b"], "want": set()},
		"reordered": {"before": ["a", "b"], "after": ["b", "a"], "want": set()},
		"added": {"before": ["a"], "after": ["a", "b"], "want": {"sidecarset-container-added"}},
		"renamed": {"before": ["sidecar1"], "after": ["sidecar-1"], "want": {"sidecarset-container-added"}},
	}
	before := {"containers": [{"name": name} | some name in tc.before]}
	after := {"containers": [{"name": name} | some name in tc.after]}
	judged(updated(before, after)) == tc.want
}

test_upgrade_type_can_be_set_once if {
	cold := {"containers": [{"name": "logger", "upgradeStrategy": {"upgradeType": "ColdUpgrade"}}]}
	hot := {"containers": [{"name": "logger", "upgradeStrategy": {"upgradeType": "HotUpgrade", "hotUpgradeEmptyImage": "empty"}}]}
	judged(updated({}, hot)) == set()
	judged(updated(hot, cold)) == {"sidecarset-upgrade-type-immutable"}
	judged(updated(cold, hot)) == {"sidecarset-upgrade-type-immutable"}
}

# What an update leaves alone is not asked about again.
test_pod_is_judged_when_its_parts_change if {
	refusing := {"errors": [{"field": "spec.containers[0].image", "type": "FieldValueRequired", "body": "Required value"}], "warnings": []}
	same := updated({}, {"revisionHistoryLimit": 3})
	changed := updated({}, {"volumes": [{"name": "v"}]})
	count(sidecarset.deny) == 0 with input as same
		with fairlead.sidecarset_conflicts as []
		with fairlead.pod_problems as refusing
	{v.rule | some v in sidecarset.deny} == {"sidecarset-pod"} with input as changed
		with fairlead.sidecarset_conflicts as []
		with fairlead.pod_problems as refusing
}

test_warnings_pass if {
	sidecarset.warn == {"not asked"} with input as created({})
		with fairlead.pod_problems as {"errors": [], "warnings": ["not asked"]}
}

patched(annotations) := created({"patchPodMetadata": [{"patchPolicy": "Retain", "annotations": annotations}]})

test_allow_list[note] if {
	some note, tc in {
		"no list, gate off": {"list": "", "gate": false, "allowed": false},
		"no list, gate on": {"list": "", "gate": true, "allowed": true},
		"unreadable list": {"list": "{", "gate": false, "allowed": false},
		"unreadable list, gate on": {"list": "{", "gate": true, "allowed": false},
		"a list that is none, gate on": {"list": `["^key"]`, "gate": true, "allowed": false},
		"rules that are none, gate on": {"list": `{"rules":{"a":1}}`, "gate": true, "allowed": false},
		"a list without rules, gate on": {"list": "{}", "gate": true, "allowed": true},
		"an expression that is none": {"list": `{"rules":[{"allowedAnnotationKeyExprs":["(", 7, "^key"]}]}`, "gate": false, "allowed": true},
		"only an expression that is none, gate on": {"list": `{"rules":[{"allowedAnnotationKeyExprs":["("]}]}`, "gate": true, "allowed": false},
		"matching": {"list": `{"rules":[{"allowedAnnotationKeyExprs":["^key"]}]}`, "gate": false, "allowed": true},
		"unanchored": {"list": `{"rules":[{"allowedAnnotationKeyExprs":["ey"]}]}`, "gate": false, "allowed": true},
		"not matching": {"list": `{"rules":[{"allowedAnnotationKeyExprs":["^other"]}]}`, "gate": true, "allowed": false},
		"of other SidecarSets, gate on": {
			"list": `{"rules":[{"selector":{"matchLabels":{"a":"b"}},"allowedAnnotationKeyExprs":["key"]}]}`,
			"gate": true, "allowed": true,
		},
	}
	violated := judged(patched({"key": "x"})) with fairlead.configuration as tc.list
		with data.inventory.gates.SidecarSetPatchPodMetadataDefaultsAllowed as tc.gate
	(violated == set()) == tc.allowed
}

test_an_unreadable_allow_list_is_named if {
	found := {v.message | some v in sidecarset.deny} with input as patched({"key": "x"})
		with fairlead.configuration as "{"
	some message in found
	startswith(message, "the allow-list cannot be read")
}
