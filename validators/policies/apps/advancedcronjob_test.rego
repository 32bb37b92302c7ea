package fairlead.apps.advancedcronjob_test

import data.fairlead.apps.advancedcronjob

pods := {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "i"}]}}}

good := with_template({"jobTemplate": {"spec": pods}})

lists := with_template({"imageListPullJobTemplate": {"spec": {
	"images": ["registry.example.com/web:1"], "selector": {"names": ["node-1"]}, "completionPolicy": {"type": "Always"},
}}})

with_template(template) := {
	"apiVersion": "apps.kruise.io/v1beta1",
	"metadata": {"name": "nightly", "namespace": "shop"},
	"spec": {"schedule": "0 3 * * *", "template": template},
}

nothing := {"errors": [], "warnings": []}

judged(object) := found if {
	found := {v.rule | some v in advancedcronjob.deny} with input as {"operation": "CREATE", "object": object}
		with fairlead.template_problems as nothing
}

updated(object, old) := found if {
	found := {v.rule | some v in advancedcronjob.deny} with input as {"operation": "UPDATE", "object": object, "oldObject": old}
		with fairlead.template_problems as nothing
}

specified(change) := judged(object.union(good, {"spec": change}))

pulling(change) := object.union(lists, {"spec": {"template": {"imageListPullJobTemplate": {"spec": change}}}})

test_each_template_is_accepted_in_both_versions if {
	every object_ in [good, lists, with_template({"broadcastJobTemplate": {"spec": pods}})] {
		judged(object_) == set()
		judged(object.union(object_, {"apiVersion": "apps.kruise.io/v1alpha1"})) == set()
	}
}

test_names_leave_room_for_the_time[note] if {
	some note, tc in {
		"52 letters": {"name": sprintf("%052d", [0]), "want": set()},
		"53 letters": {"name": sprintf("%053d", [0]), "want": {"advancedcronjob-name"}},
		"dot": {"name": "a.b", "want": {"advancedcronjob-name"}},
	}
	judged(object.union(good, {"metadata": {"name": tc.name}})) == tc.want
}

test_a_name_that_is_there_is_left_alone if {
	long := object.union(good, {"metadata": {"name": sprintf("%053d", [0])}})
	updated(long, long) == set()
}

test_schedules_can_be_read[note] if {
	some note, tc in {
		"fields": {"schedule": "*/1 * * * *", "want": set()},
		"descriptor": {"schedule": "@hourly", "want": set()},
		"interval": {"schedule": "@every 1h", "want": set()},
		"zone": {"schedule": "TZ=Asia/Shanghai 0 3 * * *", "want": set()},
		"none": {"schedule": "", "want": {"advancedcronjob-schedule"}},
		"four fields": {"schedule": "* * * *", "want": {"advancedcronjob-schedule"}},
		"a 61st minute": {"schedule": "60 * * * *", "want": {"advancedcronjob-schedule"}},
		"a zone alone": {"schedule": "TZ=UTC", "want": {"advancedcronjob-schedule"}},
	}
	specified({"schedule": tc.schedule}) == tc.want
}

test_zones_are_known_and_one[note] if {
	some note, tc in {
		"known": {"schedule": "0 3 * * *", "zone": "Asia/Shanghai", "want": set()},
		"unknown": {"schedule": "0 3 * * *", "zone": "Asia/Atlantis", "want": {"advancedcronjob-time-zone"}},
		"empty": {"schedule": "0 3 * * *", "zone": "", "want": {"advancedcronjob-time-zone"}},
		"that of the machine": {"schedule": "0 3 * * *", "zone": "local", "want": {"advancedcronjob-time-zone"}},
		"two": {"schedule": "CRON_TZ=UTC 0 3 * * *", "zone": "UTC", "want": {"advancedcronjob-one-zone"}},
	}
	specified({"schedule": tc.schedule, "timeZone": tc.zone}) == tc.want
}

test_numbers_are_not_negative if {
	every name in ["failedJobsHistoryLimit", "startingDeadlineSeconds", "successfulJobsHistoryLimit"] {
		specified({name: 0}) == set()
		specified({name: -1}) == {"advancedcronjob-not-negative"}
	}
}

test_lists_of_images_are_not_pulled_at_once if {
	every policy in ["Allow", "Forbid", "Replace"] {
		specified({"concurrencyPolicy": policy}) == set()
	}
	specified({"concurrencyPolicy": "Queue"}) == {"advancedcronjob-concurrency"}
	judged(object.union(lists, {"spec": {"concurrencyPolicy": "Forbid"}})) == set()
	judged(object.union(lists, {"spec": {"concurrencyPolicy": "Allow"}})) == {"advancedcronjob-concurrency"}
}

test_there_is_one_template if {
	judged(with_template({})) == {"advancedcronjob-one-template"}
	judged(with_template({"jobTemplate": {"spec": pods}, "broadcastJobTemplate": {"spec": pods}})) == {"advancedcronjob-one-template"}
}

test_pods_come_to_an_end if {
	every name in ["jobTemplate", "broadcastJobTemplate"] {
		every policy, want in {"OnFailure": set(), "Never": set(), "Always": {"advancedcronjob-restart-policy"}} {
			judged(object.union(with_template({name: {"spec": pods}}), {"spec": {"template": {name: {"spec": {"template": {"spec": {"restartPolicy": policy}}}}}}})) == want
		}
	}
}

test_broadcast_jobs_are_judged_as_such if {
	broadcast := with_template({"broadcastJobTemplate": {"spec": object.union(pods, {"parallelism": "50%"})}})
	judged(broadcast) == set()
	every change in [{"parallelism": -1}, {"failurePolicy": {"type": "x"}}, {"completionPolicy": {"type": "Never", "activeDeadlineSeconds": 1}}] {
		judged(object.union(broadcast, {"spec": {"template": {"broadcastJobTemplate": {"spec": change}}}})) == {"advancedcronjob-broadcast"}
	}
}

test_lists_of_images_are_judged_as_such if {
	judged(pulling({"images": []})) == {"advancedcronjob-pull"}
}

test_lists_of_images_come_to_an_end[note] if {
	some note, tc in {
		"a day": {"policy": {"activeDeadlineSeconds": 86400}, "want": set()},
		"longer": {"policy": {"activeDeadlineSeconds": 86401}, "want": {"advancedcronjob-pull-ends"}},
		"kept for a time": {"policy": {"ttlSecondsAfterFinished": 1}, "want": {"advancedcronjob-pull-ends"}},
		"never": {"policy": {"type": "Never"}, "want": {"advancedcronjob-pull-ends"}},
	}
	judged(pulling({"completionPolicy": tc.policy})) == tc.want
}

refusing := {"errors": [{"field": "spec.template.jobTemplate.spec.template.spec", "type": "FieldValueRequired", "body": "Required value"}], "warnings": []}

test_a_template_is_judged_when_it_comes if {
	{v.rule | some v in advancedcronjob.deny} == {"advancedcronjob-template"} with input as {"operation": "CREATE", "object": good}
		with fairlead.template_problems as refusing
	count(advancedcronjob.deny) == 0 with input as {"operation": "UPDATE", "object": good, "oldObject": good}
		with fairlead.template_problems as refusing
}

test_some_of_it_changes if {
	every change in [{"schedule": "@daily"}, {"paused": true}, {"timeZone": "UTC"}, {"startingDeadlineSeconds": 1}, {"concurrencyPolicy": "Forbid"}, {"successfulJobsHistoryLimit": 1}] {
		updated(object.union(good, {"spec": change}), good) == set()
	}
	updated(object.union(good, {"spec": {"suspend": true}}), good) == {"advancedcronjob-immutable"}
}

test_only_lists_of_images_change if {
	updated(pulling({"images": ["registry.example.com/web:2"]}), lists) == set()
	other := object.union(good, {"spec": {"template": {"jobTemplate": {"spec": {"backoffLimit": 3}}}}})
	updated(other, good) == {"advancedcronjob-template-immutable"}
}

test_lists_of_images_stay_such if {
	updated(good, lists) == {"advancedcronjob-template-immutable"}
	updated(object.union(lists, {"spec": {"concurrencyPolicy": "Forbid"}}), good) == {"advancedcronjob-template-immutable"}
	updated(with_template({}), lists) == {"advancedcronjob-one-template", "advancedcronjob-template-immutable"}
}
