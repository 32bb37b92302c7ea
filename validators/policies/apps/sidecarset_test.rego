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

# one is a SidecarSet with one container, changed.
one(change) := created({"containers": [object.union({"name": "logger"}, change)]})

named(name) := object.union(created({}), {"object": {"metadata": {"name": name}}})

test_names_are_short_and_plain if {
	every name in ["logger", "A-1", sprintf("%063d", [0])] {
		judged(named(name)) == set()
	}
	every name in ["a.b", "a_b", "", sprintf("%064d", [0])] {
		judged(named(name)) == {"sidecarset-name"}
	}
}

test_there_is_a_selector if {
	unselected := {"operation": "CREATE", "object": {"metadata": {"name": "logger"}, "spec": {"containers": [{"name": "logger"}]}}}
	judged(unselected) == {"sidecarset-selector-required"}
}

test_selectors_of_updates if {
	judged(created({"updateStrategy": {"selector": {"matchLabels": {"a": "b"}}}})) == set()
	judged(created({"updateStrategy": {"selector": {}}})) == {"sidecarset-selector-empty"}
}

test_namespaces_have_names if {
	every namespace, want in {"": set(), "shop-1": set(), "A_b": {"sidecarset-namespace-valid"}, "-a": {"sidecarset-namespace-valid"}} {
		judged(created({"namespace": namespace})) == want
	}
}

test_update_types_are_known if {
	every type in ["", "NotUpdate", "RollingUpdate"] {
		judged(created({"updateStrategy": {"type": type}})) == set()
	}
	judged(created({"updateStrategy": {"type": "OnDelete"}})) == {"sidecarset-update-type"}
}

test_mistakes_in_numbers_are_named if {
	found := violations(created({"updateStrategy": {"partition": "x", "maxUnavailable": -1}}))
	{[v.rule, v.field] | some v in found} == {["sidecarset-int-or-percent", "spec.updateStrategy.partition"], ["sidecarset-int-or-percent", "spec.updateStrategy.maxUnavailable"]}
}

some_pods := {"matchLabels": {"a": "b"}}

test_priorities[note] if {
	some note, tc in {
		"weights": {"priority": {"weightPriority": [{"weight": 0, "matchSelector": some_pods}, {"weight": 100, "matchSelector": some_pods}]}, "want": set()},
		"order": {"priority": {"orderPriority": [{"orderedKey": "a"}]}, "want": set()},
		"both": {
			"priority": {"weightPriority": [{"weight": 1, "matchSelector": some_pods}], "orderPriority": [{"orderedKey": "a"}]},
			"want": {"sidecarset-priority-exclusive"},
		},
		"too heavy": {"priority": {"weightPriority": [{"weight": 101, "matchSelector": some_pods}]}, "want": {"sidecarset-priority-weight"}},
		"too light": {"priority": {"weightPriority": [{"weight": -1, "matchSelector": some_pods}]}, "want": {"sidecarset-priority-weight"}},
		"all Pods": {"priority": {"weightPriority": [{"weight": 1, "matchSelector": {}}]}, "want": {"sidecarset-priority-selector-empty"}},
		"no selector": {"priority": {"weightPriority": [{"weight": 1}]}, "want": {"sidecarset-priority-selector-empty"}},
		"wrong selector": {
			"priority": {"weightPriority": [{"weight": 1, "matchSelector": {"matchLabels": {"a": "b c"}}}]},
			"want": {"sidecarset-priority-selector-valid"},
		},
		"no key": {"priority": {"orderPriority": [{}]}, "want": {"sidecarset-priority-ordered-key"}},
	}
	judged(created({"updateStrategy": {"priorityStrategy": tc.priority}})) == tc.want
}

test_scattered_terms[note] if {
	some note, tc in {
		"values": {"terms": [{"key": "a", "value": "x"}, {"key": "a", "value": "*"}], "want": set()},
		"no key": {"terms": [{"value": "x"}], "want": {"sidecarset-scatter-key"}},
		"the same": {"terms": [{"key": "a"}, {"key": "b"}, {"key": "a", "value": ""}], "want": {"sidecarset-scatter-duplicate"}},
	}
	judged(created({"updateStrategy": {"scatterStrategy": tc.terms}})) == tc.want
}

test_versions_are_values_of_labels[note] if {
	some note, tc in {
		"none": {"version": "", "right": true},
		"letters": {"version": "v1.2_b-3", "right": true},
		"63": {"version": sprintf("%063d", [0]), "right": true},
		"64": {"version": sprintf("%064d", [0]), "right": false},
		"space": {"version": "release 2", "right": false},
		"dash at the end": {"version": "v1-", "right": false},
	}
	judged(created({"customVersion": tc.version})) == {"sidecarset-custom-version" | not tc.right}
	judged(updated({"customVersion": tc.version}, {"customVersion": tc.version, "revisionHistoryLimit": 1})) == set()
}

with_revision(revision) := created({"injectionStrategy": {"revision": revision}})

test_revisions_are_named if {
	judged(with_revision({"policy": "Always"})) == {"sidecarset-revision-named"}
	judged(with_revision({"revisionName": "", "customVersion": ""})) == {"sidecarset-revision-named"}
}

test_revisions_exist if {
	every revision in [{"revisionName": "logger-1"}, {"customVersion": "v1"}] {
		judged(with_revision(revision)) == set() with fairlead.sidecarset_revision_exists as true
		judged(with_revision(revision)) == {"sidecarset-revision-exists"} with fairlead.sidecarset_revision_exists as false
	}
}

test_policies_of_revisions_are_known if {
	every policy, want in {"Always": set(), "Partial": set(), "Never": {"sidecarset-revision-policy"}} {
		judged(with_revision({"revisionName": "logger-1", "policy": policy})) == want with fairlead.sidecarset_revision_exists as true
	}
}

canary_of(base) := object.union(annotated({"apps.kruise.io/sidecarset-canary": "true", "apps.kruise.io/sidecarset-base": base}), {"object": {"spec": {"updateStrategy": {"type": "NotUpdate"}}}})

test_canaries_have_a_base[note] if {
	some note, tc in {
		"another": {"base": "base", "is": {"exists": true, "canary": false}, "want": set()},
		"itself": {"base": "logger", "is": {"exists": true, "canary": false}, "want": {"sidecarset-canary-self"}},
		"nobody": {"base": "nobody", "is": {"exists": false, "canary": false}, "want": {"sidecarset-canary-base-exists"}},
		"a canary": {"base": "canary", "is": {"exists": true, "canary": true}, "want": {"sidecarset-canary-of-canary"}},
	}
	judged(canary_of(tc.base)) == tc.want with fairlead.sidecarset as tc.is
}

test_the_base_of_a_canary_stays if {
	before := {"operation": "UPDATE", "oldObject": canary_of("base").object}
	judged(object.union(canary_of("base"), before)) == set() with fairlead.sidecarset as {"exists": true, "canary": false}
	judged(object.union(canary_of("more"), before)) == {"sidecarset-canary-base-immutable"} with fairlead.sidecarset as {"exists": true, "canary": false}
	judged(object.union(created({}), before)) == {"sidecarset-canary-base-immutable"}
}

test_canaries_do_not_update if {
	rolling := object.union(canary_of("base"), {"object": {"spec": {"updateStrategy": {"type": "RollingUpdate"}}}})
	judged(rolling) == {"sidecarset-canary-not-update"} with fairlead.sidecarset as {"exists": true, "canary": false}
}

test_there_is_a_sidecar if {
	judged(created({"containers": []})) == {"sidecarset-containers-required"}
	judged(created({"containers": [], "initContainers": [{"name": "setup"}]})) == set()
}

test_words_of_containers[note] if {
	some note, tc in {
		"before": {"change": {"podInjectPolicy": "BeforeAppContainer"}, "want": set()},
		"after": {"change": {"podInjectPolicy": "AfterAppContainer"}, "want": set()},
		"between": {"change": {"podInjectPolicy": "Between"}, "want": {"sidecarset-inject-policy"}},
		"shared": {"change": {"shareVolumePolicy": {"type": "enabled"}, "shareVolumeDevicePolicy": {"type": "disabled"}}, "want": set()},
		"volumes in capitals": {"change": {"shareVolumePolicy": {"type": "Enabled"}}, "want": {"sidecarset-share-policy"}},
		"devices in capitals": {"change": {"shareVolumeDevicePolicy": {"type": "Enabled"}}, "want": {"sidecarset-share-policy"}},
		"cold": {"change": {"upgradeStrategy": {"upgradeType": "ColdUpgrade"}}, "want": set()},
		"warm": {"change": {"upgradeStrategy": {"upgradeType": "Warm"}}, "want": {"sidecarset-upgrade-type"}},
	}
	judged(one(tc.change)) == tc.want
	judged(created({"initContainers": [object.union({"name": "setup"}, tc.change)]})) == tc.want
}

test_sources_of_environments[note] if {
	some note, tc in {
		"label": {"source": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.labels['a/b']"}}, "want": set()},
		"annotation in capitals": {"source": {"fieldRef": {"fieldPath": "metadata.annotations['A/b']"}}, "want": set()},
		"no field": {"source": {}, "want": {"sidecarset-transfer-env-field-required"}},
		"another version": {"source": {"fieldRef": {"apiVersion": "v2", "fieldPath": "metadata.labels['a']"}}, "want": {"sidecarset-transfer-env-api-version"}},
		"another field": {"source": {"fieldRef": {"fieldPath": "metadata.name"}}, "want": {"sidecarset-transfer-env-field-path"}},
		"no path": {"source": {"fieldRef": {}}, "want": {"sidecarset-transfer-env-field-path"}},
		"label in capitals": {"source": {"fieldRef": {"fieldPath": "metadata.labels['A/b']"}}, "want": {"sidecarset-transfer-env-key"}},
		"no key": {"source": {"fieldRef": {"fieldPath": "metadata.labels['']"}}, "want": {"sidecarset-transfer-env-key"}},
	}
	judged(one({"transferEnv": [{"envName": "A", "sourceContainerNameFrom": tc.source}]})) == tc.want
}

test_policies_for_resources[note] if {
	sound := {"targetContainersMode": "sum", "targetContainersNameRegex": ".*", "resourcesExpr": {"limits": {"cpu": "max(cpu*50%, 50m)"}}}
	some note, tc in {
		"sound": {"policy": sound, "want": set()},
		"largest": {"policy": object.union(sound, {"targetContainersMode": "max"}), "want": set()},
		"average": {"policy": object.union(sound, {"targetContainersMode": "avg"}), "want": {"sidecarset-resources-policy-mode"}},
		"no mode": {"policy": object.remove(sound, ["targetContainersMode"]), "want": {"sidecarset-resources-policy-mode"}},
		"no names": {"policy": object.union(sound, {"targetContainersNameRegex": ""}), "want": {"sidecarset-resources-policy-regex"}},
		"wrong names": {"policy": object.union(sound, {"targetContainersNameRegex": "a("}), "want": {"sidecarset-resources-policy-regex"}},
		"nothing to compute": {"policy": object.remove(sound, ["resourcesExpr"]), "want": {"sidecarset-resources-policy-required"}},
		"a constant": {"policy": object.union(sound, {"resourcesExpr": {"limits": {"cpu": "200m"}}}), "want": set()},
		"negative": {"policy": object.union(sound, {"resourcesExpr": {"limits": {"cpu": "cpu-2"}}}), "want": {"sidecarset-resources-policy-expression"}},
		"another resource": {"policy": object.union(sound, {"resourcesExpr": {"requests": {"memory": "cpu"}}}), "want": {"sidecarset-resources-policy-expression"}},
		"no sense with quantities": {"policy": object.union(sound, {"resourcesExpr": {"limits": {"cpu": "cpu*cpu"}}}), "want": {"sidecarset-resources-policy-expression"}},
	}
	judged(one({"resourcesPolicy": tc.policy})) == tc.want
	native := {"updateStrategy": {"type": "NotUpdate"}, "initContainers": [{"name": "setup", "restartPolicy": "Always", "resourcesPolicy": tc.policy}]}
	judged(created(native)) == tc.want
	setup := {"initContainers": [{"name": "setup", "resourcesPolicy": tc.policy}]}
	judged(created(setup)) == tc.want | {"sidecarset-resources-policy-native"}
}

test_patches[note] if {
	some note, tc in {
		"two": {"patches": [{"patchPolicy": "Overwrite", "annotations": {"A/b": "x"}}, {"patchPolicy": "MergePatchJson", "annotations": {"c": "{}"}}], "want": set()},
		"no annotations": {"patches": [{"patchPolicy": "Retain"}], "want": {"sidecarset-patch-annotations"}},
		"another policy": {"patches": [{"patchPolicy": "Merge", "annotations": {"a": "b"}}], "want": {"sidecarset-patch-policy"}},
		"no key": {"patches": [{"annotations": {"a b": "c"}}], "want": {"sidecarset-patch-key-valid"}},
		"the same key": {"patches": [{"annotations": {"a": "b"}}, {"annotations": {"a": "c"}}], "want": {"sidecarset-patch-key-duplicate"}},
	}
	judged(created({"patchPodMetadata": tc.patches})) == tc.want with data.inventory.gates.SidecarSetPatchPodMetadataDefaultsAllowed as true
}

test_keys_that_are_not_allowed_are_named if judged(patched({"key": "x"})) == {"sidecarset-patch-key-allowed"}

test_conflicts_are_told if {
	every kind, rule in {
		"annotations": "sidecarset-conflict-annotation",
		"containers": "sidecarset-conflict-container",
		"initContainers": "sidecarset-conflict-init-container",
		"volumes": "sidecarset-conflict-volume",
	} {
		conflict := {"kind": kind, "field": "spec.x", "name": "logger", "other": "rival"}
		{[v.rule, v.field, v.value] | some v in conflicting(conflict)} == {[rule, "spec.x", "logger"]}
	}
}

conflicting(conflict) := found if {
	found := sidecarset.deny with input as created({})
		with fairlead.sidecarset_conflicts as [conflict]
}
