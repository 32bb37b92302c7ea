package fairlead.apps.containerrecreaterequest_test

import data.fairlead.apps.containerrecreaterequest as rules

judged(request) := ids if {
	ids := {v.rule | some v in rules.deny} with input as request
}

object_(spec) := {
	"apiVersion": "apps.kruise.io/v1beta1",
	"metadata": {"name": "again", "labels": {"crr.apps.kruise.io/pod-uid": "u1"}},
	"spec": object.union({"podName": "web-0", "containers": [{"name": "app"}]}, spec),
}

created(spec) := {"operation": "CREATE", "object": object_(spec)}

test_minimal if judged(created({})) == set()

test_all_mistakes_in_one_answer if {
	judged(created({"podName": "", "containers": [], "activeDeadlineSeconds": 0, "strategy": {"failurePolicy": "x"}})) == {
		"containerrecreaterequest-pod-name", "containerrecreaterequest-containers",
		"containerrecreaterequest-deadline", "containerrecreaterequest-failure-policy",
	}
}

test_deadline[note] if {
	some note, tc in {"two": {"seconds": 2, "right": false}, "three": {"seconds": 3, "right": true}}
	(judged(created({"activeDeadlineSeconds": tc.seconds})) == set()) == tc.right
}

# A request that was accepted once is not judged as if it were created: only what may not change is looked at.
test_updates_leave_fields_alone if {
	old := object_({"activeDeadlineSeconds": 1})
	judged({"operation": "UPDATE", "object": json.patch(old, [{"op": "add", "path": "/metadata/finalizers", "value": ["f"]}]), "oldObject": old}) == set()
}

# A client that decodes and encodes what it read leaves out what is false or empty.
test_what_says_nothing_may_be_left_out[note] if {
	some note, tc in {
		"false": {"before": {"strategy": {"orderedRecreate": false}}, "after": {"strategy": {}}, "right": true},
		"all of a strategy": {"before": {"strategy": {"forceRecreate": false, "minStartedSeconds": 0}}, "after": {}, "right": true},
		"null": {"before": {"activeDeadlineSeconds": null}, "after": {}, "right": true},
		"true": {"before": {"strategy": {"orderedRecreate": false}}, "after": {"strategy": {"orderedRecreate": true}}, "right": false},
		"no period is not a period of 0": {"before": {"strategy": {"unreadyGracePeriodSeconds": 0}}, "after": {"strategy": {}}, "right": false},
		"no time to live is not a time of 0": {"before": {"ttlSecondsAfterFinished": 0}, "after": {}, "right": false},
		"another order": {"before": {"containers": [{"name": "a"}, {"name": "b"}]}, "after": {"containers": [{"name": "b"}, {"name": "a"}]}, "right": false},
		"one more": {"before": {}, "after": {"containers": [{"name": "app"}, {"name": "b"}]}, "right": false},
		"one less": {"before": {"containers": [{"name": "app"}, {"name": "b"}]}, "after": {}, "right": false},
		"an instance": {
			"before": {"containers": [{"name": "app", "statusContext": {"containerID": "c", "restartCount": 0}}]},
			"after": {"containers": [{"name": "app", "statusContext": {"containerID": "c", "restartCount": 1}}]}, "right": false,
		},
	}
	refused := judged({"operation": "UPDATE", "object": object_(tc.after), "oldObject": object_(tc.before)})
	(refused == set()) == tc.right
}

test_labels_cannot_be_removed if {
	old := object_({})
	judged({"operation": "UPDATE", "object": json.patch(old, [{"op": "remove", "path": "/metadata/labels"}]), "oldObject": old}) == {"containerrecreaterequest-labels-immutable"}
}

test_containers_have_names_of_their_own if {
	judged(created({"containers": [{"name": "app"}, {"name": "log"}]})) == set()
	judged(created({"containers": [{"name": "app"}, {"name": "app"}]})) == {"containerrecreaterequest-container-duplicate"}
	judged(created({"containers": [{"name": "app"}, {"name": ""}]})) == {"containerrecreaterequest-container-name"}
}

test_grace_periods_count_from_zero if {
	every period in ["terminationGracePeriodSeconds", "unreadyGracePeriodSeconds"] {
		judged(created({"strategy": {period: 0}})) == set()
		judged(created({"strategy": {period: -1}})) == {"containerrecreaterequest-grace-period"}
	}
}

# The time of unreadiness is an annotation in v1alpha1 alone, and may be set once.
test_the_time_of_unreadiness_stays[note] if {
	some note, tc in {
		"set": {"version": "v1alpha1", "before": "", "after": "t1", "want": set()},
		"kept": {"version": "v1alpha1", "before": "t1", "after": "t1", "want": set()},
		"changed": {"version": "v1alpha1", "before": "t1", "after": "t2", "want": {"containerrecreaterequest-unready-immutable"}},
		"removed": {"version": "v1alpha1", "before": "t1", "after": "", "want": {"containerrecreaterequest-unready-immutable"}},
		"in v1beta1": {"version": "v1beta1", "before": "t1", "after": "t2", "want": set()},
	}
	judged({"operation": "UPDATE", "object": unready(tc.version, tc.after), "oldObject": unready(tc.version, tc.before)}) == tc.want
}

unready(version, time_) := object.union(object_({}), {
	"apiVersion": sprintf("apps.kruise.io/%s", [version]),
	"metadata": {"annotations": {"crr.apps.kruise.io/unready-acquired": time_}},
})
