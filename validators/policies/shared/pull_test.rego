package fairlead.shared.pull_test

import data.fairlead.shared.pull

fields(problems) := {problem.field | some problem in problems}

test_nodes[note] if {
	some note, tc in {
		"all": {"spec": {}, "want": set()},
		"names": {"spec": {"selector": {"names": ["a", "b"]}}, "want": set()},
		"labels": {"spec": {"selector": {"matchLabels": {"a": "b"}}}, "want": set()},
		"all by labels": {"spec": {"selector": {}}, "want": set()},
		"Pods": {"spec": {"podSelector": {"matchLabels": {"a": "b"}}}, "want": set()},
		"nodes and Pods": {"spec": {"selector": {"names": ["a"]}, "podSelector": {}}, "want": {"s.podSelector"}},
		"names and labels": {"spec": {"selector": {"names": ["a"], "matchLabels": {"a": "b"}}}, "want": {"s.selector"}},
		"no names": {"spec": {"selector": {"names": []}}, "want": {"s.selector.names"}},
		"a name twice": {"spec": {"selector": {"names": ["a", "b", "a"]}}, "want": {"s.selector.names[2]"}},
		"wrong labels": {"spec": {"selector": {"matchExpressions": [{"key": "a", "operator": "Like"}]}}, "want": {"s.selector.matchExpressions[0].operator"}},
		"wrong Pods": {"spec": {"podSelector": {"matchExpressions": [{"key": "a", "operator": "Like"}]}}, "want": {"s.podSelector.matchExpressions[0].operator"}},
	}
	fields(pull.selectors("s", tc.spec)) == tc.want
}

test_numbers[note] if {
	some note, tc in {
		"none": {"spec": {}, "want": set()},
		"least": {"spec": {"parallelism": 0, "pullPolicy": {"timeoutSeconds": 1, "backoffLimit": 0}, "imagePullPolicy": ""}, "want": set()},
		"text": {"spec": {"parallelism": "5", "imagePullPolicy": "Always"}, "want": set()},
		"percentage": {"spec": {"parallelism": "5%"}, "want": {"s.parallelism"}},
		"negative": {
			"spec": {"parallelism": -1, "pullPolicy": {"timeoutSeconds": -1, "backoffLimit": -1}},
			"want": {"s.parallelism", "s.pullPolicy.timeoutSeconds", "s.pullPolicy.backoffLimit"},
		},
		"no time": {"spec": {"pullPolicy": {"timeoutSeconds": 0}}, "want": {"s.pullPolicy.timeoutSeconds"}},
		"another policy": {"spec": {"imagePullPolicy": "Never"}, "want": {"s.imagePullPolicy"}},
	}
	fields(pull.numbers("s", tc.spec)) == tc.want
}

test_completion[note] if {
	some note, tc in {
		"default": {"policy": {}, "timeout": 600, "want": set()},
		"time for an attempt": {"policy": {"activeDeadlineSeconds": 10, "ttlSecondsAfterFinished": 0}, "timeout": 10, "want": set()},
		"no time for one": {"policy": {"type": "Always", "activeDeadlineSeconds": 10}, "timeout": 11, "want": {"s.completionPolicy.activeDeadlineSeconds"}},
		"negative": {"policy": {"ttlSecondsAfterFinished": -1}, "timeout": 1, "want": {"s.completionPolicy.ttlSecondsAfterFinished"}},
		"never ends": {"policy": {"type": "Never"}, "timeout": 1, "want": set()},
		"never ends, in time": {
			"policy": {"type": "Never", "activeDeadlineSeconds": 10, "ttlSecondsAfterFinished": 0}, "timeout": 1,
			"want": {"s.completionPolicy.activeDeadlineSeconds", "s.completionPolicy.ttlSecondsAfterFinished"},
		},
		"another": {"policy": {"type": "Later"}, "timeout": 1, "want": {"s.completionPolicy.type"}},
	}
	fields(pull.completion("s", {"completionPolicy": tc.policy, "pullPolicy": {"timeoutSeconds": tc.timeout}})) == tc.want
}

test_the_time_of_an_attempt_by_default if {
	fields(pull.completion("s", {"completionPolicy": {"activeDeadlineSeconds": 600}})) == set()
	fields(pull.completion("s", {"completionPolicy": {"activeDeadlineSeconds": 599}})) == {"s.completionPolicy.activeDeadlineSeconds"}
}

test_images[note] if {
	some note, tc in {
		"two": {"images": ["nginx", "nginx:1.29"], "want": set()},
		"none": {"images": [], "want": {"s.images"}},
		"as many as can be": {"images": [sprintf("app:%d", [i]) | some i in numbers.range(1, 255)], "want": set()},
		"too many": {"images": [sprintf("app:%d", [i]) | some i in numbers.range(1, 256)], "want": {"s.images"}},
		"no image": {"images": ["nginx", "Not An Image"], "want": {"s.images[1]"}},
		"twice": {"images": ["nginx", "nginx"], "want": {"s.images[1]"}},
	}
	fields(pull.images("s", {"images": tc.images})) == tc.want
}
