package budget_required_test

import data.budget_required as policy

review(replicas) := {"request": {
	"operation": "CREATE", "namespace": "shop", "kind": {"group": "apps.kruise.io", "version": "v1beta1", "kind": "CloneSet"}, "oldObject": null,
	"object": {"metadata": {"name": "web"}, "spec": {"replicas": replicas, "template": {"metadata": {"labels": {"app": "web", "tier": "front"}}}}},
}}

inventory(specs) := {"namespace": {"shop": {"policy.kruise.io/v1beta1": {"PodUnavailableBudget": {sprintf("b%d", [i]): {"spec": spec} | some i, spec in specs}}}}}

denied(review_, specs) := all if {
	all := policy.deny with input as review_ with data.inventory as inventory(specs) with data.parameters as {}
}

target(version, kind, name) := {"targetRef": {"apiVersion": version, "kind": kind, "name": name}}

expression(key, operator, values) := {"selector": {"matchExpressions": [{"key": key, "operator": operator, "values": values}]}}

test_two_need_none if {
	count(denied(review(2), [])) == 0
	count(denied(review(3), [])) == 1
}

test_replicas_unset if count(denied(json.patch(review(3), [{"op": "remove", "path": "/request/object/spec/replicas"}]), [])) == 0

test_without_any_budget_anywhere if {
	all := policy.deny with input as review(3) with data.inventory as {"namespace": {}, "cluster": {}} with data.parameters as {}
	some said in all
	said.message == "3 replicas need a PodUnavailableBudget in the namespace shop that names this CloneSet or selects its Pods"
}

test_a_target if {
	every version in ["apps.kruise.io/v1alpha1", "apps.kruise.io/v1beta1"] {
		count(denied(review(3), [target(version, "CloneSet", "web")])) == 0
	}
}

test_another_target if {
	every spec in [target("apps.kruise.io/v1beta1", "CloneSet", "other"), target("apps.kruise.io/v1beta1", "StatefulSet", "web"), target("apps/v1", "CloneSet", "web")] {
		count(denied(review(3), [spec])) == 1
	}
}

test_selectors if {
	every spec in [
		{"selector": {"matchLabels": {"app": "web"}}}, expression("app", "In", ["api", "web"]), expression("app", "NotIn", ["api"]),
		expression("other", "NotIn", ["api"]), expression("tier", "Exists", []), expression("other", "DoesNotExist", []),
	] {
		count(denied(review(3), [spec])) == 0
	}
}

test_other_selectors if {
	every spec in [
		{"selector": {"matchLabels": {"app": "web", "tier": "back"}}}, expression("app", "In", ["api"]), expression("app", "NotIn", ["web"]),
		expression("other", "Exists", []), expression("app", "DoesNotExist", []),
		{"selector": {"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "tier", "operator": "In", "values": ["back"]}]}},
	] {
		count(denied(review(3), [spec])) == 1
	}
}

test_one_of_several if count(denied(review(3), [target("apps/v1", "Deployment", "x"), {"selector": {"matchLabels": {"app": "web"}}}])) == 0

test_another_namespace if {
	elsewhere := {"namespace": {"other": {"policy.kruise.io/v1beta1": {"PodUnavailableBudget": {"b": {"spec": {"selector": {"matchLabels": {"app": "web"}}}}}}}}}
	all := policy.deny with input as review(3) with data.inventory as elsewhere with data.parameters as {}
	count(all) == 1
}

test_fewer_than_before if {
	update := json.patch(review(3), [{"op": "replace", "path": "/request/oldObject", "value": {"spec": {"replicas": 5}}}])
	count(denied(update, [])) == 0
	more := json.patch(review(3), [{"op": "replace", "path": "/request/oldObject", "value": {"spec": {"replicas": 1}}}])
	count(denied(more, [])) == 1
}

test_parameters if {
	all := policy.deny with input as review(5) with data.inventory as inventory([]) with data.parameters as {"replicas": 5}
	count(all) == 0
}
