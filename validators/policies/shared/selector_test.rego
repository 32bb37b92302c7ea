package fairlead.shared.selector_test

import data.fairlead.shared.selector

one := {"matchLabels": {"app": "web"}}

broken := {"matchExpressions": [{"key": "app", "operator": "In"}]}

types(problems) := {problem.type | some problem in problems}

test_empty_selectors if {
	every nothing in [{}, {"matchLabels": {}}, {"matchExpressions": []}, {"matchLabels": {}, "matchExpressions": []}, {"matchLabels": null}] {
		selector.empty(nothing)
	}
	not selector.empty(one)
	not selector.empty({"matchLabels": {"a": ""}})
	not selector.empty(broken)
}

test_required_selectors if {
	count(selector.required("spec.selector", one)) == 0
	types(selector.required("spec.selector", null)) == {"required"}
	types(selector.required("spec.selector", {})) == {"invalid"}
	{problem.field | some problem in selector.required("spec.selector", broken)} == {"spec.selector.matchExpressions[0].values"}
}

test_wanted_selectors if {
	count(selector.wanted("spec.selector", one)) == 0
	types(selector.wanted("spec.selector", {})) == {"required"}
	count(selector.wanted("spec.selector", broken)) == 1
}

test_valid_selectors if {
	every right in [{}, one, {"matchExpressions": [{"key": "a/b", "operator": "DoesNotExist"}]}] {
		count(selector.valid("x", right)) == 0
	}
	every wrong in [broken, {"matchLabels": {"a": "b c"}}, {"matchLabels": {"": "b"}}, {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}] {
		count(selector.valid("x", wrong)) > 0
	}
}

test_labels_of_templates if {
	labelled := {"metadata": {"labels": {"app": "web", "more": "x"}}}
	count(selector.template_labels("x", one, labelled)) == 0
	every wrong in [{"metadata": {"labels": {"app": "api"}}}, {"metadata": {}}, {}] {
		types(selector.template_labels("x", one, wrong)) == {"invalid"}
	}
}

# Another rule tells of a selector that is broken or asks for nothing.
test_labels_are_not_blamed_for_the_selector if {
	every selector_ in [{}, broken, null] {
		count(selector.template_labels("x", selector_, {})) == 0
	}
}
