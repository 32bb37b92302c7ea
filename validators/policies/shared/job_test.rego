package fairlead.shared.job_test

import data.fairlead.shared.job

fields(problems) := {problem.field | some problem in problems}

test_completion[note] if {
	some note, tc in {
		"default": {"policy": {}, "want": set()},
		"ends": {"policy": {"type": "Always", "activeDeadlineSeconds": 1, "ttlSecondsAfterFinished": 0}, "want": set()},
		"never ends": {"policy": {"type": "Never"}, "want": set()},
		"never ends, in time": {
			"policy": {"type": "Never", "activeDeadlineSeconds": 1, "ttlSecondsAfterFinished": 0},
			"want": {"s.completionPolicy.activeDeadlineSeconds", "s.completionPolicy.ttlSecondsAfterFinished"},
		},
		"negative": {
			"policy": {"activeDeadlineSeconds": -1, "ttlSecondsAfterFinished": -1},
			"want": {"s.completionPolicy.activeDeadlineSeconds", "s.completionPolicy.ttlSecondsAfterFinished"},
		},
		"another": {"policy": {"type": "Later"}, "want": {"s.completionPolicy.type"}},
	}
	fields(job.completion("s", {"completionPolicy": tc.policy})) == tc.want
}

test_failure if {
	every type in ["", "Continue", "FailFast", "Pause"] {
		fields(job.failure("s", {"failurePolicy": {"type": type}})) == set()
	}
	fields(job.failure("s", {"failurePolicy": {"type": "Retry"}})) == {"s.failurePolicy.type"}
	fields(job.failure("s", {})) == set()
	fields(job.failure("s", {"failurePolicy": {"restartLimit": 0}})) == set()
	fields(job.failure("s", {"failurePolicy": {"restartLimit": -1}})) == {"s.failurePolicy.restartLimit"}
}

labelled(labels) := fields(job.labels("s", {"template": {"metadata": {"labels": labels}}}))

test_labels if {
	labelled({"app": "web", "broadcastjob-name": ""}) == set()
	labelled({"broadcastjob-name": "a"}) == {"s.template.metadata.labels[broadcastjob-name]"}
	labelled({"broadcastjob-controller-uid": "a"}) == {"s.template.metadata.labels[broadcastjob-controller-uid]"}
}

test_parallelism if {
	every value in [0, 5, "50%", null] {
		fields(job.parallelism("s", {"parallelism": value})) == set()
	}
	every value in [-1, "x", "5"] {
		fields(job.parallelism("s", {"parallelism": value})) == {"s.parallelism"}
	}
}

test_restart if {
	fields(job.restart("s", {"template": {"spec": {"restartPolicy": "OnFailure"}}})) == set()
	fields(job.restart("s", {})) == {"s.template.spec.restartPolicy"}
}
