package partition_steps_test

import data.partition_steps as policy

# object_ has an image as its template, for what is the same or not.
object_(kind, version, image, partition) := object.union(common(kind, version, image), {"spec": {"updateStrategy": strategy(kind, version, partition)}})

common(kind, version, image) := {
	"apiVersion": sprintf("apps.kruise.io/%s", [version]), "kind": kind,
	"spec": {"replicas": 20, "template": {"spec": {"containers": [{"name": "web", "image": image}]}}},
}

strategy("CloneSet", "v1alpha1", partition) := {"partition": partition}

strategy(kind, version, partition) := {"rollingUpdate": {"partition": partition}} if [kind, version] != ["CloneSet", "v1alpha1"]

denied(old, new, parameters) := all if {
	request := {"operation": "UPDATE", "kind": {"kind": new.kind}, "object": new, "oldObject": old}
	all := policy.deny with input as {"request": request} with data.parameters as parameters
}

kinds := {["CloneSet", "v1alpha1"], ["CloneSet", "v1beta1"], ["StatefulSet", "v1alpha1"], ["StatefulSet", "v1beta1"]}

# Of 20 Pods a step of 25% is 5.
test_a_new_template_keeps_the_others if {
	every k in kinds {
		old := object_(k[0], k[1], "web:1", 0)
		count(denied(old, object_(k[0], k[1], "web:2", 15), {})) == 0
		count(denied(old, object_(k[0], k[1], "web:2", 20), {})) == 0
		count(denied(old, object_(k[0], k[1], "web:2", 14), {})) == 1
		count(denied(old, object_(k[0], k[1], "web:2", 0), {})) == 1
	}
}

test_a_partition_shrinks_by_a_step if {
	every k in kinds {
		old := object_(k[0], k[1], "web:2", 15)
		count(denied(old, object_(k[0], k[1], "web:2", 10), {})) == 0
		count(denied(old, object_(k[0], k[1], "web:2", 18), {})) == 0
		count(denied(old, object_(k[0], k[1], "web:2", 9), {})) == 1
	}
}

test_percentages if {
	old := object_("CloneSet", "v1beta1", "web:2", "80%")
	count(denied(old, object_("CloneSet", "v1beta1", "web:2", "55%"), {})) == 0
	count(denied(old, object_("CloneSet", "v1beta1", "web:2", "51%"), {})) == 0
	count(denied(old, object_("CloneSet", "v1beta1", "web:2", "50%"), {})) == 1
	count(denied(old, object_("CloneSet", "v1beta1", "web:2", 11), {})) == 0
	count(denied(old, object_("CloneSet", "v1beta1", "web:2", 10), {})) == 1
}

test_an_end_is_a_step_too if {
	count(denied(object_("CloneSet", "v1beta1", "web:2", 5), object_("CloneSet", "v1beta1", "web:2", 0), {})) == 0
	count(denied(object_("CloneSet", "v1beta1", "web:2", 6), object_("CloneSet", "v1beta1", "web:2", 0), {})) == 1
}

test_no_partition_keeps_none if {
	without := common("CloneSet", "v1beta1", "web:2")
	some said in denied(object_("CloneSet", "v1beta1", "web:1", 0), without, {})
	said == {
		"field": "spec.updateStrategy.rollingUpdate.partition",
		"message": "releases 20 of 20 Pods at once, and 5 may be: a partition of 15 or more does that",
	}
	count(denied(without, without, {})) == 0
}

test_the_field_of_each_version if {
	some said in denied(object_("CloneSet", "v1alpha1", "web:1", 0), object_("CloneSet", "v1alpha1", "web:2", 0), {})
	said.field == "spec.updateStrategy.partition"
}

test_a_small_one_goes_pod_by_pod if {
	old := {"apiVersion": "apps.kruise.io/v1beta1", "kind": "CloneSet", "spec": {"template": {"a": 1}}}
	new := {"apiVersion": "apps.kruise.io/v1beta1", "kind": "CloneSet", "spec": {"template": {"a": 2}}}
	count(denied(old, new, {})) == 0
}

test_daemonsets_count_their_nodes if {
	old := object.union(object_("DaemonSet", "v1beta1", "agent:1", 0), {"status": {"desiredNumberScheduled": 40}})
	count(denied(old, object_("DaemonSet", "v1beta1", "agent:2", 30), {})) == 0
	count(denied(old, object_("DaemonSet", "v1beta1", "agent:2", "75%"), {})) == 0
	count(denied(old, object_("DaemonSet", "v1beta1", "agent:2", 29), {})) == 1
	count(denied(object_("DaemonSet", "v1beta1", "agent:1", 0), object_("DaemonSet", "v1beta1", "agent:2", 0), {})) == 0
}

test_replicas_may_change if {
	old := object_("CloneSet", "v1beta1", "web:2", 0)
	count(denied(old, json.patch(old, [{"op": "replace", "path": "/spec/replicas", "value": 3}]), {})) == 0
}

test_steps_of_parameters if {
	old := object_("CloneSet", "v1beta1", "web:2", 15)
	count(denied(old, object_("CloneSet", "v1beta1", "web:2", 13), {"step": 2})) == 0
	count(denied(old, object_("CloneSet", "v1beta1", "web:2", 12), {"step": 2})) == 1
	count(denied(old, object_("CloneSet", "v1beta1", "web:2", 0), {"step": "100%"})) == 0
}
