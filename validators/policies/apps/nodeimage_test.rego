package fairlead.apps.nodeimage_test

import data.fairlead.apps.nodeimage

entry := {"tag": "v1", "createdAt": "2026-01-01T00:00:00Z", "version": 0, "pullPolicy": {"ttlSecondsAfterFinished": 300}}

judged(images, version, gate) := found if {
	found := {v.rule | some v in nodeimage.deny} with data.inventory.gates.KruiseDaemon as gate
		with input as {"operation": "CREATE", "object": {"apiVersion": version, "metadata": {"name": "n1"}, "spec": {"images": images}}}
}

created(images) := judged(images, "apps.kruise.io/v1beta1", true)

tagged(tags) := created({"web": {"tags": tags}})

without(path) := tagged([json.remove(entry, [path])])

test_images_of_a_node_are_accepted_in_both_versions if {
	created({}) == set()
	tagged([entry, object.union(entry, {"tag": "v2"})]) == set()
	judged({"web": {"tags": [entry]}}, "apps.kruise.io/v1alpha1", true) == set()
}

test_the_gate_is_needed if judged({}, "apps.kruise.io/v1beta1", false) == {"nodeimage-gate"}

test_a_node_holds_256_names if {
	created({sprintf("web%d", [n]): {"tags": []} | some n in numbers.range(1, 256)}) == set()
	created({sprintf("web%d", [n]): {"tags": []} | some n in numbers.range(1, 257)}) == {"nodeimage-images"}
}

test_names_are_not_empty if created({"": {"tags": [entry]}}) == {"nodeimage-name"}

test_tags_are_not_empty if {
	without("tag") == {"nodeimage-tag"}
	tagged([object.union(entry, {"tag": ""})]) == {"nodeimage-tag"}
}

test_a_tag_is_there_once_for_a_name if {
	tagged([entry, entry]) == {"nodeimage-tag-duplicate"}
	created({"web": {"tags": [entry]}, "db": {"tags": [entry]}}) == set()
}

test_entries_have_an_age if without("createdAt") == {"nodeimage-created"}

test_versions_count_from_zero if {
	without("version") == set()
	tagged([object.union(entry, {"version": -1})]) == {"nodeimage-version"}
}

test_entries_say_when_they_go if {
	without("pullPolicy") == {"nodeimage-ttl"}
	without("pullPolicy/ttlSecondsAfterFinished") == {"nodeimage-ttl"}
	tagged([object.union(entry, {"pullPolicy": {"ttlSecondsAfterFinished": 0}})]) == set()
}
