package fairlead.apps.broadcastjob_test

import data.fairlead.apps.broadcastjob

good := {
	"apiVersion": "apps.kruise.io/v1beta1",
	"metadata": {"name": "sweep", "namespace": "shop"},
	"spec": {"template": {"spec": {"restartPolicy": "OnFailure", "containers": [{"name": "a", "image": "i"}]}}},
}

nothing := {"errors": [], "warnings": []}

judged(object) := found if {
	found := {v.rule | some v in broadcastjob.deny} with input as {"operation": "CREATE", "object": object}
		with fairlead.template_problems as nothing
}

changed(change) := judged(object.union(good, change))

specified(change) := changed({"spec": change})

test_a_job_is_accepted_in_both_versions if {
	judged(good) == set()
	changed({"apiVersion": "apps.kruise.io/v1alpha1"}) == set()
}

test_names_become_values_of_labels[note] if {
	some note, tc in {
		"63 letters": {"name": sprintf("%063d", [0]), "want": set()},
		"64 letters": {"name": sprintf("%064d", [0]), "want": {"broadcastjob-name"}},
		"dot": {"name": "a.b", "want": {"broadcastjob-name"}},
	}
	changed({"metadata": {"name": tc.name}}) == tc.want
}

test_completion_is_well_defined[note] if {
	some note, tc in {
		"always may end": {"policy": {"type": "Always", "activeDeadlineSeconds": 1, "ttlSecondsAfterFinished": 1}, "want": set()},
		"never": {"policy": {"type": "Never"}, "want": set()},
		"never with deadline": {"policy": {"type": "Never", "activeDeadlineSeconds": 1}, "want": {"broadcastjob-completion"}},
		"never with ttl": {"policy": {"type": "Never", "ttlSecondsAfterFinished": 1}, "want": {"broadcastjob-completion"}},
		"unknown": {"policy": {"type": "Sometimes"}, "want": {"broadcastjob-completion"}},
	}
	specified({"completionPolicy": tc.policy}) == tc.want
}

test_failure_policies_are_three if {
	every type in ["Continue", "FailFast", "Pause"] {
		specified({"failurePolicy": {"type": type}}) == set()
	}
	specified({"failurePolicy": {"type": "Fail"}}) == {"broadcastjob-failure"}
}

test_parallelism_is_an_amount if {
	every value in [0, 2147483647, "50%"] {
		specified({"parallelism": value}) == set()
	}
	every value in [-1, "half"] {
		specified({"parallelism": value}) == {"broadcastjob-parallelism"}
	}
}

test_pods_come_to_an_end if {
	specified({"template": {"spec": {"restartPolicy": "Never"}}}) == set()
	specified({"template": {"spec": {"restartPolicy": "Always"}}}) == {"broadcastjob-restart-policy"}
}

test_the_labels_of_the_controller_are_its_own if {
	specified({"template": {"metadata": {"labels": {"app": "x"}}}}) == set()
	every key in ["broadcastjob-controller-uid", "broadcastjob-name"] {
		specified({"template": {"metadata": {"labels": {key: "x"}}}}) == {"broadcastjob-labels"}
	}
}

refusing := {"errors": [{"field": "spec.template.spec.containers[0].image", "type": "FieldValueRequired", "body": "Required value"}], "warnings": []}

test_a_template_is_judged_when_it_changes if {
	other := object.union(good, {"spec": {"template": {"spec": {"containers": []}}}})
	{v.rule | some v in broadcastjob.deny} == {"broadcastjob-template"} with input as {"operation": "UPDATE", "object": good, "oldObject": other}
		with fairlead.template_problems as refusing
	count(broadcastjob.deny) == 0 with input as {"operation": "UPDATE", "object": good, "oldObject": good}
		with fairlead.template_problems as refusing
}
