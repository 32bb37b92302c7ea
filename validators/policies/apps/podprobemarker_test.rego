package fairlead.apps.podprobemarker_test

import data.fairlead.apps.podprobemarker

on := {"KruiseDaemon": true, "PodProbeMarkerGate": true}

nothing := {"errors": [], "warnings": []}

refusing := {"errors": [{"field": "spec.probes[0].probe.periodSeconds", "type": "FieldValueInvalid", "body": "Invalid value"}], "warnings": []}

idle := {"name": "idle", "containerName": "game", "probe": {"exec": {"command": ["/idle"]}}, "podConditionType": "game.io/idle"}

full := {"name": "full", "containerName": "game", "probe": {"tcpSocket": {"port": 80}}, "podConditionType": "game.io/full"}

marker(probes) := {
	"apiVersion": "apps.kruise.io/v1alpha1",
	"metadata": {"name": "game", "namespace": "shop"},
	"spec": {"selector": {"matchLabels": {"app": "game"}}, "probes": probes},
}

judged(request, gates, answer) := found if {
	found := {v.rule | some v in podprobemarker.deny} with input as request
		with data.inventory.gates as gates
		with fairlead.pod_spec_problems as answer
}

created(object) := judged({"operation": "CREATE", "object": object}, on, nothing)

changed(change) := created(marker([object.union(idle, change)]))

probing(probe) := created(marker([object.union(object.remove(idle, ["probe"]), {"probe": probe})]))

marking(policies) := changed({"markerPolicy": policies})

test_a_marker_is_accepted if created(marker([idle, full])) == set()

test_both_gates_are_needed if {
	every gate in ["KruiseDaemon", "PodProbeMarkerGate"] {
		judged({"operation": "CREATE", "object": marker([idle])}, object.union(on, {gate: false}), nothing) == {"podprobemarker-gate"}
	}
}

test_the_selector_selects_and_stays if {
	created(json.remove(marker([idle]), ["spec/selector"])) == {"podprobemarker-selector"}
	other := object.union(marker([idle]), {"spec": {"selector": {"matchLabels": {"app": "other"}}}})
	judged({"operation": "UPDATE", "object": other, "oldObject": marker([idle])}, on, nothing) == {"podprobemarker-selector-immutable"}
	judged({"operation": "UPDATE", "object": marker([full]), "oldObject": marker([idle])}, on, nothing) == set()
}

test_there_is_a_probe if created(marker([])) == {"podprobemarker-probes"}

test_names_are_no_built_in_conditions if {
	changed({"name": "Idle"}) == set()
	every name in ["", "a#b", "ContainersReady", "InPlaceUpdateReady", "Initialized", "KruisePodReady", "PodScheduled", "Ready"] {
		changed({"name": name}) == {"podprobemarker-name"}
	}
}

test_probes_differ if {
	created(marker([idle, object.union(full, {"name": "idle"})])) == {"podprobemarker-name-duplicate"}
	created(marker([idle, object.union(full, {"podConditionType": "game.io/idle"})])) == {"podprobemarker-condition-duplicate"}
}

test_a_container_is_probed if changed({"containerName": ""}) == {"podprobemarker-container"}

test_a_probe_does_one_thing if {
	probing({}) == {"podprobemarker-handler"}
	probing({"grpc": {"port": 80}}) == {"podprobemarker-handler"}
	probing({"exec": {"command": ["/a"]}, "tcpSocket": {"port": 80}}) == {"podprobemarker-handler"}
}

test_the_pod_is_probed if {
	get := {"path": "/", "scheme": "HTTP", "port": 80}
	probing({"httpGet": get}) == set()
	probing({"httpGet": object.union(get, {"host": "bank.test"})}) == {"podprobemarker-host"}
	probing({"tcpSocket": {"port": 80, "host": "bank.test"}}) == {"podprobemarker-host"}
}

test_requests_are_written_out if {
	probing({"httpGet": {"path": "/", "port": 80}}) == {"podprobemarker-http"}
	probing({"httpGet": {"scheme": "HTTPS", "port": 80}}) == {"podprobemarker-http"}
}

test_probes_are_judged_when_they_change if {
	judged({"operation": "CREATE", "object": marker([idle])}, on, refusing) == {"podprobemarker-probe"}
	judged({"operation": "UPDATE", "object": marker([idle]), "oldObject": marker([idle])}, on, refusing) == set()
}

test_a_result_shows_somewhere if {
	changed({"podConditionType": ""}) == {"podprobemarker-effect"}
	changed({"podConditionType": "", "markerPolicy": [{"state": "Failed", "labels": {"a": "b"}}]}) == set()
}

test_conditions_are_keys_of_labels if changed({"podConditionType": "a b"}) == {"podprobemarker-condition"}

test_marks_are_of_two_states_once_each[note] if {
	some note, tc in {
		"both": {"policies": [{"state": "Failed", "labels": {"a": "b"}}, {"state": "Succeeded", "annotations": {"a": "b c"}}], "want": set()},
		"unknown": {"policies": [{"state": "Unknown", "labels": {"a": "b"}}], "want": {"podprobemarker-state"}},
		"twice": {"policies": [{"state": "Failed", "labels": {"a": "b"}}, {"state": "Failed", "labels": {"a": "c"}}], "want": {"podprobemarker-state-duplicate"}},
		"no marks": {"policies": [{"state": "Failed"}], "want": {"podprobemarker-mark"}},
		"no label": {"policies": [{"state": "Failed", "labels": {"a": "b c"}}], "want": {"podprobemarker-mark-valid"}},
		"no annotation": {"policies": [{"state": "Failed", "annotations": {"a b": "c"}}], "want": {"podprobemarker-mark-valid"}},
	}
	marking(tc.policies) == tc.want
}
