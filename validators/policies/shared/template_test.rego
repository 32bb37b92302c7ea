package fairlead.shared.template_test

import data.fairlead.shared.template as templates

template := {"spec": {"containers": [{"name": "a", "image": "i"}]}}

claims := [{"metadata": {"name": "data"}}, {"metadata": {"name": "logs"}}]

refusing := {"errors": [{"field": "x"}], "warnings": []}

test_a_template_that_stays_is_not_judged if {
	templates.judged("t", template, "c", claims, template, claims) == templates.nothing with fairlead.template_problems as refusing
	resized := [object.union(claim, {"spec": {"accessModes": []}}) | some claim in claims]
	templates.judged("t", template, "c", resized, template, claims) == templates.nothing with fairlead.template_problems as refusing
}

test_a_template_that_comes_or_changes_is_judged if {
	templates.judged("t", template, "c", [], null, []) == refusing with fairlead.template_problems as refusing
	templates.judged("t", template, "c", [], {"spec": {}}, []) == refusing with fairlead.template_problems as refusing
	templates.judged("t", template, "c", claims, template, []) == refusing with fairlead.template_problems as refusing
}

test_claims_that_change_are_judged if {
	count(templates.claims_judged("c", claims, claims)) == 0 with fairlead.claim_problems as refusing
	count(templates.claims_judged("c", claims, [claims[1]])) == 1 with fairlead.claim_problems as refusing
	templates.claims_judged("c", claims, []) == {refusing} with fairlead.claim_problems as refusing
}

test_of_many_claims_the_first_are_judged if {
	many := [{"metadata": {"name": sprintf("c%d", [i])}} | some i in numbers.range(1, templates.most_asked + 1)]
	templates.claims_judged("c", many, []) == {refusing, {"errors": [], "warnings": ["c: only the first 50 were validated by the API server"]}}
		with fairlead.claim_problems as refusing
	templates.claims_judged("c", many, [many[0]]) == {refusing} with fairlead.claim_problems as refusing
}

test_names_of_claims if templates.names([{}, claims[0], null]) == ["", "data", ""]

test_a_template_with_a_claim_that_is_null_is_judged if {
	templates.judged("t", template, "c", [null], template, []) == refusing with fairlead.template_problems as refusing
	templates.claims_judged("c", [null], []) == {refusing} with fairlead.claim_problems as refusing
}

problems(found) := {problem.field: problem.type | some problem in found}

test_pods_that_last if {
	every policy in ["", "Always"] {
		count(templates.lasting("t", {"spec": {"restartPolicy": policy}})) == 0
	}
	count(templates.lasting("t", template)) == 0
	problems(templates.lasting("t", {"spec": {"restartPolicy": "Never"}})) == {"t.spec.restartPolicy": "unsupported"}
	problems(templates.lasting("t", {"spec": {"activeDeadlineSeconds": 0}})) == {"t.spec.activeDeadlineSeconds": "forbidden"}
	count(templates.lasting("t", {"spec": {"activeDeadlineSeconds": null}})) == 0
}

test_pods_that_end if {
	every policy in ["OnFailure", "Never"] {
		count(templates.ending("t", {"spec": {"restartPolicy": policy}})) == 0
	}
	every wrong in [template, {"spec": {"restartPolicy": "Always"}}, {}] {
		problems(templates.ending("t", wrong)) == {"t.spec.restartPolicy": "unsupported"}
	}
}
