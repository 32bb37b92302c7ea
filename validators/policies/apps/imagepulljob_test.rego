package fairlead.apps.imagepulljob_test

import data.fairlead.apps.imagepulljob

on := {"KruiseDaemon": true, "ImagePullJobGate": true}

good := {
	"apiVersion": "apps.kruise.io/v1beta1",
	"metadata": {"name": "warm", "namespace": "shop"},
	"spec": {"image": "bank.test/web:v1", "completionPolicy": {"type": "Always"}, "pullSecrets": ["a"]},
}

judged(request, gates) := found if {
	found := {v.rule | some v in imagepulljob.deny} with input as request
		with data.inventory.gates as gates
}

specified(change) := judged({"operation": "CREATE", "object": object.union(good, {"spec": change})}, on)

test_a_job_is_accepted_in_both_versions if {
	specified({}) == set()
	judged({"operation": "CREATE", "object": object.union(good, {"apiVersion": "apps.kruise.io/v1alpha1"})}, on) == set()
}

test_both_gates_are_needed if {
	every gate in ["ImagePullJobGate", "KruiseDaemon"] {
		judged({"operation": "CREATE", "object": good}, object.union(on, {gate: false})) == {"imagepulljob-gate"}
	}
}

test_an_image_is_a_reference if {
	specified({"image": "bank.test:5000/team/web:v1"}) == set()
	every image in ["", "Bank Test"] {
		specified({"image": image}) == {"imagepulljob-image"}
	}
}

test_nodes_are_selected_in_one_way[note] if {
	some note, tc in {
		"names": {"spec": {"selector": {"names": ["n1", "n2"]}}, "right": true},
		"labels": {"spec": {"selector": {"matchLabels": {"a": "b"}}}, "right": true},
		"all nodes": {"spec": {"selector": {}}, "right": true},
		"Pods": {"spec": {"podSelector": {"matchLabels": {"a": "b"}}}, "right": true},
		"a name twice": {"spec": {"selector": {"names": ["n1", "n1"]}}, "right": false},
		"names and labels": {"spec": {"selector": {"names": ["n1"], "matchLabels": {"a": "b"}}}, "right": false},
		"names and expressions": {"spec": {"selector": {"names": ["n1"], "matchExpressions": [{"key": "a", "operator": "Exists"}]}}, "right": false},
		"nodes and Pods": {"spec": {"selector": {"names": ["n1"]}, "podSelector": {"matchLabels": {"a": "b"}}}, "right": false},
		"wrong operator": {"spec": {"selector": {"matchExpressions": [{"key": "a", "operator": "Like"}]}}, "right": false},
		"wrong value of Pods": {"spec": {"podSelector": {"matchLabels": {"a": "b c"}}}, "right": false},
	}
	specified(tc.spec) == {r | some r in ["imagepulljob-selectors"]; not tc.right}
}

test_numbers_can_be_counted[note] if {
	some note, tc in {
		"number": {"spec": {"parallelism": 0}, "right": true},
		"number as text": {"spec": {"parallelism": "5"}, "right": true},
		"percentage": {"spec": {"parallelism": "10%"}, "right": false},
		"negative": {"spec": {"parallelism": -1}, "right": false},
		"fraction": {"spec": {"parallelism": "1.5"}, "right": false},
		"shortest timeout": {"spec": {"pullPolicy": {"timeoutSeconds": 1}}, "right": true},
		"no timeout": {"spec": {"pullPolicy": {"timeoutSeconds": 0}}, "right": false},
		"no retry": {"spec": {"pullPolicy": {"backoffLimit": 0}}, "right": true},
		"negative retries": {"spec": {"pullPolicy": {"backoffLimit": -1}}, "right": false},
		"always": {"spec": {"imagePullPolicy": "Always"}, "right": true},
		"never": {"spec": {"imagePullPolicy": "Never"}, "right": false},
	}
	specified(tc.spec) == {r | some r in ["imagepulljob-numbers"]; not tc.right}
}

test_a_deadline_leaves_time_for_an_attempt[note] if {
	some note, tc in {
		"as long as the default": {"spec": {"completionPolicy": {"activeDeadlineSeconds": 600}}, "right": true},
		"shorter than the default": {"spec": {"completionPolicy": {"activeDeadlineSeconds": 599}}, "right": false},
		"as long": {"spec": {"pullPolicy": {"timeoutSeconds": 30}, "completionPolicy": {"activeDeadlineSeconds": 30}}, "right": true},
		"shorter": {"spec": {"pullPolicy": {"timeoutSeconds": 30}, "completionPolicy": {"activeDeadlineSeconds": 29}}, "right": false},
		"gone at once": {"spec": {"completionPolicy": {"ttlSecondsAfterFinished": 0}}, "right": true},
		"gone before": {"spec": {"completionPolicy": {"ttlSecondsAfterFinished": -1}}, "right": false},
		"never": {"spec": {"completionPolicy": {"type": "Never"}}, "right": true},
		"never with deadline": {"spec": {"completionPolicy": {"type": "Never", "activeDeadlineSeconds": 900}}, "right": false},
		"never with ttl": {"spec": {"completionPolicy": {"type": "Never", "ttlSecondsAfterFinished": 1}}, "right": false},
		"unknown": {"spec": {"completionPolicy": {"type": "Later"}}, "right": false},
	}
	specified(tc.spec) == {r | some r in ["imagepulljob-completion"]; not tc.right}
}

test_secrets_alone_stay if {
	updated({"image": "bank.test/web:v2", "parallelism": 5}) == set()
	updated({"pullSecrets": ["b"]}) == {"imagepulljob-secrets-immutable"}
}

updated(change) := judged({"operation": "UPDATE", "object": object.union(good, {"spec": change}), "oldObject": good}, on)
