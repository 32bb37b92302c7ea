package fairlead.apps.ephemeraljob_test

import data.fairlead.apps.ephemeraljob

nothing := {"errors": [], "warnings": []}

refusing := {"errors": [{"field": "spec.template.ephemeralContainers[0].name", "type": "FieldValueInvalid", "body": "Invalid value"}], "warnings": []}

tool := {"name": "debug", "image": "busybox", "imagePullPolicy": "Always", "terminationMessagePolicy": "File"}

job(containers) := {
	"apiVersion": "apps.kruise.io/v1alpha1",
	"metadata": {"name": "look", "namespace": "shop"},
	"spec": {"selector": {"matchLabels": {"app": "web"}}, "template": {"ephemeralContainers": containers}},
}

judged(request, answer) := found if {
	found := {v.rule | some v in ephemeraljob.deny} with input as request
		with fairlead.pod_spec_problems as answer
}

created(containers) := judged({"operation": "CREATE", "object": job(containers)}, nothing)

changed(change) := created([object.union(tool, change)])

test_a_job_is_accepted if created([tool]) == set()

test_there_is_a_container if created([]) == {"ephemeraljob-containers"}

test_defaults_are_written_out if {
	every member in ["imagePullPolicy", "terminationMessagePolicy"] {
		created([object.remove(tool, [member])]) == {"ephemeraljob-written-out"}
	}
}

test_images_have_no_spaces_around if {
	changed({"image": "bank.test/tool:v1"}) == set()
	every image in [" busybox", "busybox "] {
		changed({"image": image}) == {"ephemeraljob-image-spaces"}
	}
}

test_running_pods_get_no_ports_probes_hooks_or_resources if {
	changed({"ports": [], "resources": {}, "lifecycle": null}) == set()
	every member in ["lifecycle", "livenessProbe", "readinessProbe", "resources", "startupProbe"] {
		changed({member: {"a": "b"}}) == {"ephemeraljob-forbidden"}
	}
	changed({"ports": [{"containerPort": 80}]}) == {"ephemeraljob-forbidden"}
}

test_mounts_are_whole_volumes if {
	changed({"volumeMounts": [{"name": "data", "mountPath": "/data"}]}) == set()
	every member in ["subPath", "subPathExpr"] {
		changed({"volumeMounts": [{"name": "data", "mountPath": "/data", member: "a"}]}) == {"ephemeraljob-sub-path"}
	}
}

test_containers_are_judged_when_they_change if {
	judged({"operation": "CREATE", "object": job([tool])}, refusing) == {"ephemeraljob-container"}
	judged({"operation": "UPDATE", "object": job([tool]), "oldObject": job([tool])}, refusing) == set()
}
