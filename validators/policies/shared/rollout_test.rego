package fairlead.shared.rollout_test

import data.fairlead.shared.rollout

fields(problems) := {problem.field | some problem in problems}

test_whole_numbers if {
	every value in [0, 1, 2147483647] {
		rollout.whole(value)
	}
	every value in [-1, 1.5, "1", null] {
		not rollout.whole(value)
	}
}

test_percentages if {
	every value in ["0%", "20%", "12.5%", "150%"] {
		rollout.percentage(value)
	}
	every value in ["20", "-20%", ".5%", "20 %", "20%%", "%", "", 20] {
		not rollout.percentage(value)
	}
}

test_amounts if {
	strategy := {"a": 1, "b": "1%", "c": -1, "d": "x", "e": null, "f": "1", "g": "999999999999999999999%"}
	fields(rollout.amounts("s", strategy, ["a", "b", "c", "d", "e", "f", "g", "h"])) == {"s.c", "s.d", "s.f"}
	fields(rollout.amounts("s", strategy, ["a"])) == set()
	{name | some name, value in strategy; rollout.amount(value)} == {"a", "b", "g"}
}

test_amounts_of_totals if {
	rollout.resolved(3, 10) == 3
	rollout.resolved("1%", 10) == 1
	rollout.resolved("50%", 10) == 5
	rollout.resolved("50%", 3) == 2
	rollout.resolved("0%", 3) == 0
	not rollout.resolved("x", 3)
}

some_pods := {"matchLabels": {"a": "b"}}

test_priorities[note] if {
	some note, tc in {
		"nothing": {"strategy": {}, "want": set()},
		"weights": {"strategy": {"weightPriority": [{"weight": 100, "matchSelector": some_pods}, {"matchSelector": some_pods}]}, "want": set()},
		"order": {"strategy": {"orderPriority": [{"orderedKey": "a"}]}, "want": set()},
		"both": {"strategy": {"weightPriority": [{"matchSelector": some_pods}], "orderPriority": [{"orderedKey": "a"}]}, "want": {"s"}},
		"one of them empty": {"strategy": {"weightPriority": [], "orderPriority": [{"orderedKey": "a"}]}, "want": set()},
		"heavy": {"strategy": {"weightPriority": [{"weight": 101, "matchSelector": some_pods}]}, "want": {"s.weightPriority[0].weight"}},
		"light": {"strategy": {"weightPriority": [{"weight": -1, "matchSelector": some_pods}]}, "want": {"s.weightPriority[0].weight"}},
		"no selector": {"strategy": {"weightPriority": [{"weight": 1}]}, "want": {"s.weightPriority[0].matchSelector"}},
		"wrong selector": {
			"strategy": {"weightPriority": [{"matchSelector": {"matchExpressions": [{"key": "a", "operator": "Like"}]}}]},
			"want": {"s.weightPriority[0].matchSelector.matchExpressions[0].operator"},
		},
		"no key": {"strategy": {"orderPriority": [{"orderedKey": "a"}, {}]}, "want": {"s.orderPriority[1].orderedKey"}},
	}
	fields(rollout.priority("s", tc.strategy)) == tc.want
}

test_scattered_terms if {
	fields(rollout.scatter("s", [{"key": "a", "value": "x"}, {"key": "a", "value": "z"}, {"key": "b"}])) == set()
	fields(rollout.scatter("s", [{"value": "x"}])) == {"s[0].key"}
	fields(rollout.scatter("s", [{"key": "a"}, {"key": "a", "value": ""}])) == {"s[1]"}
}

test_images_pulled_ahead[note] if {
	some note, tc in {
		"nothing": {"strategy": {}, "want": set()},
		"numbers": {
			"strategy": {"imagePreDownloadParallelism": 0, "imagePreDownloadTimeoutSeconds": 0, "imagePreDownloadMinUpdatedReadyPods": 1},
			"want": set(),
		},
		"text": {"strategy": {"imagePreDownloadParallelism": "5"}, "want": set()},
		"percentage": {"strategy": {"imagePreDownloadParallelism": "5%"}, "want": {"s.imagePreDownloadParallelism"}},
		"negative": {
			"strategy": {"imagePreDownloadParallelism": -1, "imagePreDownloadTimeoutSeconds": -1, "imagePreDownloadMinUpdatedReadyPods": -1},
			"want": {"s.imagePreDownloadParallelism", "s.imagePreDownloadTimeoutSeconds", "s.imagePreDownloadMinUpdatedReadyPods"},
		},
	}
	fields(rollout.predownload("s", tc.strategy)) == tc.want
}

changed(before, now) := fields(rollout.immutable("spec", before, now, {"free"}))

test_members_that_stay[note] if {
	some note, tc in {
		"the same": {"before": {"a": 1}, "now": {"a": 1}, "want": set()},
		"free": {"before": {"free": 1}, "now": {}, "want": set()},
		"changed": {"before": {"a": 1, "b": 1}, "now": {"a": 2, "b": 1}, "want": {"spec.a"}},
		"added": {"before": {}, "now": {"a": 0}, "want": {"spec.a"}},
		"removed": {"before": {"a": false}, "now": {}, "want": {"spec.a"}},
		"no text": {"before": {"a": ""}, "now": {}, "want": set()},
		"nothing": {"before": {}, "now": {"a": null}, "want": set()},
		"a list with what says nothing": {"before": {"a": [{"b": 1}]}, "now": {"a": [{"b": 1, "c": null, "d": {}, "e": []}]}, "want": set()},
		"a list with more": {"before": {"a": [{"b": 1}]}, "now": {"a": [{"b": 1}, {}]}, "want": {"spec.a"}},
		"a list with another": {"before": {"a": [{"b": 1}]}, "now": {"a": [{"b": 2}]}, "want": {"spec.a"}},
		"a label without a value": {"before": {"a": {"b": ""}}, "now": {"a": {"c": ""}}, "want": {"spec.a"}},
	}
	changed(tc.before, tc.now) == tc.want
}

test_the_order_of_pods_by_default if {
	every spec in [{}, {"podManagementPolicy": ""}, {"podManagementPolicy": null}] {
		rollout.ordered(spec) == {"podManagementPolicy": "OrderedReady"}
	}
	rollout.ordered({"podManagementPolicy": "Parallel", "a": 1}) == {"podManagementPolicy": "Parallel", "a": 1}
}

before := {"containers": [{"name": "a", "image": "i"}, {"name": "b", "image": "i"}], "initContainers": [{"name": "c", "image": "i"}]}

test_changes_in_place[note] if {
	some note, tc in {
		"none": {"change": {}, "want": set()},
		"images": {"change": {"containers": [{"name": "a", "image": "j"}, {"name": "b", "image": "k"}]}, "want": set()},
		"image of an init container": {"change": {"initContainers": [{"name": "c", "image": "j"}]}, "want": {"t.initContainers[0].image"}},
		"no image": {"change": {"containers": [{"name": "a"}, {"name": "b", "image": "i"}]}, "want": {"t.containers[0].image"}},
		"fewer containers": {"change": {"containers": [{"name": "a", "image": "j"}]}, "want": {"t.containers"}},
		"another order": {
			"change": {"containers": [{"name": "b", "image": "i"}, {"name": "a", "image": "i"}]},
			"want": {"t.containers[0].name", "t.containers[1].name"},
		},
		"a field": {"change": {"nodeName": "n"}, "want": {"t.nodeName"}},
	}
	fields(rollout.in_place("t", before, object.union(before, tc.change))) == tc.want
}
