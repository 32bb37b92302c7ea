package fairlead.apps.uniteddeployment_test

import data.fairlead.apps.uniteddeployment

pods := {"metadata": {"labels": {"app": "zones"}}, "spec": {"containers": [{"name": "a", "image": "i"}]}}

workload := {"metadata": {"labels": {"app": "zones"}}, "spec": {"template": pods}}

good := {
	"apiVersion": "apps.kruise.io/v1beta1",
	"metadata": {"name": "zones", "namespace": "shop"},
	"spec": {
		"replicas": 4,
		"selector": {"matchLabels": {"app": "zones"}},
		"template": {"cloneSetTemplate": workload},
		"topology": {"subsets": [{"name": "a", "replicas": 1}, {"name": "b"}]},
		"updateStrategy": {"type": "Manual", "manualUpdate": {}},
	},
}

with_template(template) := object.union(object.remove(good, ["spec"]), {"spec": object.union(object.remove(good.spec, ["template"]), {"template": template})})

# of_kind has the template of one kind, changed.
of_kind(kind, change) := with_template({kind: object.union(workload, change)})

kinds := {"advancedStatefulSetTemplate", "cloneSetTemplate", "deploymentTemplate", "statefulSetTemplate"}

rules(object) := {denial.rule | some denial in uniteddeployment.deny with input as {"operation": "CREATE", "object": object}}

fields(object) := {denial.field | some denial in uniteddeployment.deny with input as {"operation": "CREATE", "object": object}}

updating(object, old) := {denial.rule | some denial in uniteddeployment.deny with input as {"operation": "UPDATE", "object": object, "oldObject": old}}

specified(change) := object.union(good, {"spec": change})

spread(subsets) := specified({"topology": {"subsets": subsets}})

test_each_template_is_accepted_in_both_versions if {
	every kind in kinds {
		rules(of_kind(kind, {})) == set()
		rules(object.union(of_kind(kind, {}), {"apiVersion": "apps.kruise.io/v1alpha1"})) == set()
	}
}

test_replicas_are_not_negative if {
	rules(object.union(spread([{"name": "a"}]), {"spec": {"replicas": 0}})) == set()
	rules(object.union(spread([{"name": "a"}]), {"spec": {"replicas": -1}})) == {"uniteddeployment-replicas"}
}

test_the_selector_selects if {
	rules(specified({"selector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}})) == set()
	rules(specified({"selector": {"matchExpressions": [{"key": "app", "operator": "Like"}]}})) == {"uniteddeployment-selector"}
	rules(object.union(object.remove(good, ["spec"]), {"spec": object.remove(good.spec, ["selector"])})) == {"uniteddeployment-selector"}
}

test_there_is_one_template if {
	rules(with_template({})) == {"uniteddeployment-one-template"}
	rules(with_template({"cloneSetTemplate": workload, "deploymentTemplate": workload})) == {"uniteddeployment-one-template"}
}

test_the_selector_selects_the_workloads if {
	every kind in kinds {
		rules(of_kind(kind, {"metadata": {"labels": {"app": "other"}}})) == {"uniteddeployment-labels"}
		rules(of_kind(kind, {"spec": {"template": {"metadata": {"labels": {"app": "other"}}}}})) == {"uniteddeployment-labels"}
	}
}

test_stored_labels_are_left_alone if {
	stored := of_kind("cloneSetTemplate", {"metadata": {"labels": {"app": "other"}}})
	updating(object.union(stored, {"spec": {"replicas": 5}}), stored) == set()
	updating(stored, good) == {"uniteddeployment-labels"}
	unlabelled := with_template({"cloneSetTemplate": {"spec": {"template": object.remove(pods, ["metadata"])}}})
	updating(object.union(unlabelled, {"spec": {"replicas": 5}}), unlabelled) == set()
	updating(unlabelled, good) == {"uniteddeployment-labels"}
}

test_subsets_say_how_many if {
	every kind in kinds {
		rules(of_kind(kind, {"spec": {"replicas": 1}})) == {"uniteddeployment-template-replicas"}
	}
}

test_stored_replicas_are_left_alone if {
	stored := of_kind("cloneSetTemplate", {"spec": {"replicas": 1}})
	updating(object.union(stored, {"spec": {"replicas": 5}}), stored) == set()
	updating(stored, good) == {"uniteddeployment-template-replicas"}
}

test_partitions_are_given_by_subset if {
	with_partition := {"spec": {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}}}
	every kind, want in {
		"advancedStatefulSetTemplate": {"uniteddeployment-template-partition"},
		"statefulSetTemplate": {"uniteddeployment-template-partition"},
		"cloneSetTemplate": set(),
	} {
		rules(of_kind(kind, with_partition)) == want
	}
	rules(of_kind("advancedStatefulSetTemplate", {"spec": {"updateStrategy": {"rollingUpdate": {"paused": true}}}})) == set()
}

test_pods_run_for_good if {
	every kind in kinds {
		rules(of_kind(kind, {"spec": {"template": {"spec": {"restartPolicy": "Always"}}}})) == set()
		rules(of_kind(kind, {"spec": {"template": {"spec": {"restartPolicy": "Never"}}}})) == {"uniteddeployment-template-lasting"}
	}
}

refusing := {"errors": [{"field": "x", "type": "FieldValueRequired", "body": "Required value"}], "warnings": []}

test_a_template_is_judged_when_it_changes if {
	rules(good) == {"uniteddeployment-template"} with fairlead.template_problems as refusing
	updating(specified({"replicas": 5}), good) == set() with fairlead.template_problems as refusing
	updating(of_kind("deploymentTemplate", {}), good) == {"uniteddeployment-template"} with fairlead.template_problems as refusing
}

test_warnings_pass if {
	warned := {"errors": [], "warnings": ["not asked"]}
	uniteddeployment.warn == {"not asked"} with input as {"operation": "CREATE", "object": good}
		with fairlead.template_problems as warned
	uniteddeployment.warn == {"not asked"} with input as {"operation": "CREATE", "object": placed("a")}
		with fairlead.pod_spec_problems as warned
}

native(change) := of_kind("statefulSetTemplate", {"spec": change})

test_the_template_makes_a_statefulset[note] if {
	some note, tc in {
		"known order": {"change": {"podManagementPolicy": "Parallel"}, "right": true},
		"other order": {"change": {"podManagementPolicy": "Serial"}, "right": false},
		"known type": {"change": {"updateStrategy": {"type": "OnDelete"}}, "right": true},
		"other type": {"change": {"updateStrategy": {"type": "ReCreate"}}, "right": false},
		"nothing rolls": {"change": {"updateStrategy": {"type": "OnDelete", "rollingUpdate": {}}}, "right": false},
		"half": {"change": {"updateStrategy": {"rollingUpdate": {"maxUnavailable": "50%"}}}, "right": true},
		"none": {"change": {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 0}}}, "right": false},
		"zero percent": {"change": {"updateStrategy": {"rollingUpdate": {"maxUnavailable": "0%"}}}, "right": false},
		"more than all": {"change": {"updateStrategy": {"rollingUpdate": {"maxUnavailable": "101%"}}}, "right": false},
		"ready at once": {"change": {"minReadySeconds": 0}, "right": true},
		"ready before": {"change": {"minReadySeconds": -1}, "right": false},
		"start": {"change": {"ordinals": {"start": 1}}, "right": true},
		"start before": {"change": {"ordinals": {"start": -1}}, "right": false},
		"retained": {"change": {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Delete"}}, "right": true},
		"dropped": {"change": {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Drop"}}, "right": false},
		"a Service": {"change": {"serviceName": "1-b"}, "right": true},
		"no Service": {"change": {"serviceName": ""}, "right": true},
		"no name of a Service": {"change": {"serviceName": "A_b"}, "right": false},
		"all revisions": {"change": {"revisionHistoryLimit": -1}, "right": true},
	}
	rules(native(tc.change)) == {"uniteddeployment-statefulset" | not tc.right}
}

test_a_stored_statefulset_is_left_alone if {
	stored := native({"updateStrategy": {"type": "ReCreate"}})
	updating(object.union(stored, {"spec": {"replicas": 5}}), stored) == set()
	updating(native({"updateStrategy": {"type": "Rolling"}}), stored) == {"uniteddeployment-statefulset"}
	updating(native({"serviceName": "A_b", "minReadySeconds": 1}), native({"serviceName": "A_b"})) == set()
}

warnings(object, old) := said if said := uniteddeployment.warn with input as {"operation": "UPDATE", "object": object, "oldObject": old}

test_a_statefulset_that_keeps_all_revisions_is_warned_of if {
	said := {"spec.template.statefulSetTemplate.spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"}
	warnings(native({"revisionHistoryLimit": -1}), native({})) == said
	warnings(native({"revisionHistoryLimit": -1}), native({"revisionHistoryLimit": -1})) == set()
	warnings(native({"revisionHistoryLimit": 0}), native({})) == set()
}

stateless(change) := of_kind("deploymentTemplate", {"spec": change})

test_the_template_makes_a_deployment[note] if {
	some note, tc in {
		"some revisions": {"change": {"revisionHistoryLimit": 0}, "right": true},
		"revisions before": {"change": {"revisionHistoryLimit": -1}, "right": false},
		"ready before": {"change": {"minReadySeconds": -1}, "right": false},
		"time to get ready": {"change": {"minReadySeconds": 5, "progressDeadlineSeconds": 6}, "right": true},
		"no time to get ready": {"change": {"minReadySeconds": 5, "progressDeadlineSeconds": 5}, "right": false},
		"no time by default": {"change": {"minReadySeconds": 600}, "right": false},
		"known strategy": {"change": {"strategy": {"type": "Recreate"}}, "right": true},
		"other strategy": {"change": {"strategy": {"type": "OnDelete"}}, "right": false},
		"nothing rolls": {"change": {"strategy": {"type": "Recreate", "rollingUpdate": {}}}, "right": false},
		"surge": {"change": {"strategy": {"rollingUpdate": {"maxSurge": "200%", "maxUnavailable": 0}}}, "right": true},
		"no surge": {"change": {"strategy": {"rollingUpdate": {"maxSurge": "0%", "maxUnavailable": 0}}}, "right": false},
		"surge by default": {"change": {"strategy": {"rollingUpdate": {"maxUnavailable": 0}}}, "right": true},
		"less than none": {"change": {"strategy": {"rollingUpdate": {"maxSurge": -1}}}, "right": false},
		"more than all": {"change": {"strategy": {"rollingUpdate": {"maxUnavailable": "101%"}}}, "right": false},
	}
	rules(stateless(tc.change)) == {"uniteddeployment-deployment" | not tc.right}
}

test_a_stored_deployment_is_left_alone if {
	stored := stateless({"revisionHistoryLimit": -1})
	updating(object.union(stored, {"spec": {"replicas": 5}}), stored) == set()
	updating(stateless({"revisionHistoryLimit": -2}), stored) == {"uniteddeployment-deployment"}
}

refusing_claims := {"errors": [{"field": "x", "type": "FieldValueRequired", "body": "Required value"}], "warnings": ["not asked"]}

test_claims_are_judged_when_they_change if {
	every kind in kinds - {"deploymentTemplate"} {
		claiming := of_kind(kind, {"spec": {"volumeClaimTemplates": [null]}})
		rules(claiming) == {"uniteddeployment-claim-template"} with fairlead.claim_problems as refusing_claims
		rules(of_kind(kind, {})) == set() with fairlead.claim_problems as refusing_claims
		updating(object.union(claiming, {"spec": {"replicas": 5}}), claiming) == set() with fairlead.claim_problems as refusing_claims
		uniteddeployment.warn == {"not asked"} with input as {"operation": "CREATE", "object": claiming} with fairlead.claim_problems as refusing_claims
	}
}

test_subsets_have_names_of_their_own[note] if {
	some note, tc in {
		"two": {"names": ["a", "b-1"], "want": set()},
		"the same": {"names": ["a", "a"], "want": {"uniteddeployment-subset-duplicate"}},
		"dot": {"names": ["a.b"], "want": {"uniteddeployment-subset-name"}},
		"capital": {"names": ["A"], "want": {"uniteddeployment-subset-name"}},
		"none": {"names": [""], "want": {"uniteddeployment-subset-name"}},
		"64 letters": {"names": [sprintf("%064d", [0])], "want": {"uniteddeployment-subset-name"}},
	}
	rules(spread([{"name": name} | some name in tc.names])) == tc.want
}

placed(zone) := spread([{"name": "a", "tolerations": [{"key": "k"}], "nodeSelectorTerm": {"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]}}])

test_nodes_can_be_selected if {
	rules(placed("a")) == {"uniteddeployment-placement"} with fairlead.pod_spec_problems as refusing
	rules(good) == set() with fairlead.pod_spec_problems as refusing
	updating(object.union(placed("a"), {"spec": {"replicas": 5}}), placed("a")) == set() with fairlead.pod_spec_problems as refusing
}

partitioned(partitions) := specified({"updateStrategy": {"manualUpdate": {"partitions": partitions}}})

test_partitions_are_those_of_subsets if {
	rules(partitioned({"a": 0, "b": 9})) == set()
	rules(partitioned({"c": 1})) == {"uniteddeployment-partitions"}
	rules(partitioned({"a": -1})) == {"uniteddeployment-partition-negative"}
	updating(object.union(partitioned({"a": -1}), {"spec": {"replicas": 5}}), partitioned({"a": -1})) == set()
}

scheduled(strategy, subsets) := specified({"topology": {"scheduleStrategy": strategy, "subsets": subsets}})

test_ways_to_schedule_are_known if {
	every type in ["", "Adaptive", "Fixed"] {
		rules(scheduled({"type": type}, [{"name": "a"}])) == set()
	}
	rules(scheduled({"type": "Random"}, [{"name": "a"}])) == {"uniteddeployment-schedule-type"}
}

test_adaptive_subsets_have_bounds if {
	rules(scheduled({"type": "Adaptive"}, [{"name": "a", "maxReplicas": 1}, {"name": "b"}])) == set()
	rules(scheduled({"type": "Adaptive"}, [{"name": "a", "replicas": 1}, {"name": "b"}])) == {"uniteddeployment-adaptive-replicas"}
}

test_reserved_pods_have_no_ordinals if {
	reserving := {"spec": {"topology": {"subsets": [{"name": "a"}], "scheduleStrategy": {"type": "Adaptive", "adaptive": {"reserveUnschedulablePods": true}}}}}
	every kind, want in {
		"advancedStatefulSetTemplate": {"uniteddeployment-reserve"},
		"cloneSetTemplate": set(),
		"deploymentTemplate": set(),
		"statefulSetTemplate": {"uniteddeployment-reserve"},
	} {
		rules(object.union(of_kind(kind, {}), reserving)) == want
	}
}

test_numbers_of_pods[note] if {
	some note, tc in {
		"number": {"value": 1, "right": true},
		"percentage": {"value": "25%", "right": true},
		"all": {"value": "100%", "right": true},
		"more than all": {"value": "150%", "right": false},
		"negative": {"value": -1, "right": false},
		"fraction": {"value": "12.5%", "right": false},
		"a number as text": {"value": "1", "right": false},
		"text": {"value": "abc", "right": false},
	}
	every member in ["maxReplicas", "minReplicas", "replicas"] {
		object_ := spread([{"name": "a", member: tc.value}, {"name": "b"}])
		rules(object_) == {"uniteddeployment-amount" | not tc.right}
		fields(object_) == {field | not tc.right; field := sprintf("spec.topology.subsets[0].%s", [member])}
	}
}

test_subsets_have_numbers_or_bounds if {
	rules(spread([{"name": "a", "minReplicas": 1}, {"name": "b", "maxReplicas": 2}])) == set()
	rules(spread([{"name": "a", "replicas": 1}, {"name": "b", "minReplicas": 1}])) == {"uniteddeployment-mixed"}
}

test_bounds_are_of_a_number if {
	unbounded := object.union(object.remove(good, ["spec"]), {"spec": object.remove(spread([{"name": "a", "minReplicas": 1}, {"name": "b"}]).spec, ["replicas"])})
	rules(unbounded) == {"uniteddeployment-bounds-total"}
	rules(object.union(unbounded, {"spec": {"replicas": 1}})) == set()
}

test_minimums_are_below_maximums[note] if {
	some note, tc in {
		"same": {"min": 1, "max": 1, "want": set()},
		"percentage": {"min": "25%", "max": 1, "want": set()},
		"more": {"min": 2, "max": 1, "want": {"uniteddeployment-bounds-order"}},
		"half is rounded up": {"min": "38%", "max": 1, "want": {"uniteddeployment-bounds-order"}},
	}
	rules(spread([{"name": "a", "minReplicas": tc.min, "maxReplicas": tc.max}, {"name": "b"}])) == tc.want
}

test_one_subset_is_open if {
	rules(spread([{"name": "a", "maxReplicas": 1}, {"name": "b", "minReplicas": 1}])) == set()
	rules(spread([{"name": "a", "maxReplicas": 1}, {"name": "b", "maxReplicas": 9}])) == {"uniteddeployment-bounds-open"}
}

test_numbers_do_not_exceed_the_total[note] if {
	some note, tc in {
		"some": {"subsets": [{"name": "a", "replicas": 2}, {"name": "b", "replicas": "50%"}, {"name": "c"}], "want": set()},
		"too many": {"subsets": [{"name": "a", "replicas": 3}, {"name": "b", "replicas": "50%"}, {"name": "c"}], "want": {"uniteddeployment-sum"}},
		"all": {"subsets": [{"name": "a", "replicas": 2}, {"name": "b", "replicas": 2}], "want": set()},
		"too few": {"subsets": [{"name": "a", "replicas": 2}, {"name": "b", "replicas": 1}], "want": {"uniteddeployment-sum"}},
	}
	rules(spread(tc.subsets)) == tc.want
}

test_subsets_stay_where_they_are if {
	updating(placed("b"), placed("a")) == {"uniteddeployment-subset-immutable"}
	updating(spread([{"name": "a"}]), placed("a")) == {"uniteddeployment-subset-immutable"}
	updating(spread([{"name": "c", "tolerations": [{"key": "k"}]}]), placed("a")) == set()
	updating(spread([{"name": "b"}, {"name": "a", "tolerations": [], "nodeSelectorTerm": {}}]), good) == set()
}

test_the_selector_stays if {
	updating(specified({"selector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}}), good) == {"uniteddeployment-selector-immutable"}
	updating(specified({"replicas": 5}), good) == set()
}

test_little_of_a_statefulset_changes[note] if {
	some note, tc in {
		"name of the Service": {"change": {"serviceName": "other"}, "native": false, "advanced": false},
		"no name of the Service": {"change": {"serviceName": ""}, "native": true, "advanced": true},
		"order": {"change": {"podManagementPolicy": "Parallel"}, "native": false, "advanced": false},
		"the order that there was": {"change": {"podManagementPolicy": "OrderedReady"}, "native": true, "advanced": true},
		"claims": {"change": {"volumeClaimTemplates": [{"metadata": {"name": "data"}}]}, "native": false, "advanced": false},
		"template": {"change": {"template": {"spec": {"nodeName": "n"}}}, "native": true, "advanced": true},
		"strategy": {"change": {"updateStrategy": {"type": "OnDelete"}}, "native": true, "advanced": true},
		"time until ready": {"change": {"minReadySeconds": 3}, "native": true, "advanced": false},
		"ordinals": {"change": {"ordinals": {"start": 1}}, "native": true, "advanced": false},
		"retention": {"change": {"persistentVolumeClaimRetentionPolicy": {"whenScaled": "Delete"}}, "native": true, "advanced": false},
	}
	every kind, free in {"advancedStatefulSetTemplate": tc.advanced, "statefulSetTemplate": tc.native} {
		updating(of_kind(kind, {"spec": tc.change}), of_kind(kind, {})) == {"uniteddeployment-template-immutable" | not free}
	}
	every kind in ["cloneSetTemplate", "deploymentTemplate"] {
		updating(of_kind(kind, {"spec": tc.change}), of_kind(kind, {})) == set()
	}
}

claiming(claim) := native({"volumeClaimTemplates": [claim]})

test_claims_are_written_by_clients_in_their_way if {
	claim := {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
	written := object.union(claim, {"metadata": {"creationTimestamp": null}, "spec": {"resources": {}}, "status": {}})
	updating(claiming(written), claiming(claim)) == set()
	updating(claiming(object.union(claim, {"spec": {"accessModes": ["ReadWriteMany"]}})), claiming(claim)) == {"uniteddeployment-template-immutable"}
}

test_the_kind_of_template_may_change if updating(of_kind("statefulSetTemplate", {"spec": {"serviceName": "x"}}), of_kind("advancedStatefulSetTemplate", {})) == set()
