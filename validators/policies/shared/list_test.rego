package fairlead.shared.list_test

import data.fairlead.shared.list

test_repeated_elements[note] if {
	some note, tc in {
		"none": {"list": [], "want": set()},
		"one each": {"list": ["b", "a"], "want": set()},
		"one twice": {"list": ["b", "a", "b"], "want": {2}},
		"one three times, another twice": {"list": ["c", "b", "c", "a", "b", "c"], "want": {2, 4, 5}},
	}
	list.repeated(tc.list) == tc.want
}

# That many would take longer than a request has, were each compared with each.
test_long_lists if {
	names := [sprintf("node-%d", [i]) | some i in numbers.range(1, 3000)]
	list.repeated(names) == set()
	list.repeated(array.concat(names, ["node-7"])) == {3000}
}

# Also where many are repeated.
test_long_lists_of_pairs if {
	pairs := array.flatten([[name, name] | some i in numbers.range(1, 3000); name := sprintf("node-%d", [i])])
	list.repeated(pairs) == {i | some i in numbers.range_step(1, 5999, 2)}
}
