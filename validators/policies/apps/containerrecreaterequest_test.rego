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

test_labels_cannot_be_removed if {
	old := object_({})
	judged({"operation": "UPDATE", "object": json.patch(old, [{"op": "remove", "path": "/metadata/labels"}]), "oldObject": old}) == {"containerrecreaterequest-labels-immutable"}
}
