package production_rollouts_test

import data.production_rollouts as policy

team := {"groups": ["release-team", "sre"], "users": ["system:serviceaccount:delivery:sync"]}

spec := {"replicas": 3, "template": {"spec": {"containers": [{"name": "web", "image": "web:1"}]}}, "updateStrategy": {"type": "RollingUpdate"}}

# by is an update that replaces a member of the spec.
by(user, member, value) := {"request": {
	"operation": "UPDATE", "namespace": "shop-prod", "userInfo": user,
	"object": {"spec": object.union(object.remove(spec, [member]), {member: value})}, "oldObject": {"spec": spec},
}}

dev := {"username": "dev", "groups": ["developers", "system:authenticated"]}

denied(review, parameters) := {said.field | some said in all} if {
	all := policy.deny with input as review with data.parameters as parameters
}

test_others_change_nothing if {
	denied(by(dev, "template", {"spec": {}}), team) == {"spec.template"}
	denied(by(dev, "updateStrategy", {"rollingUpdate": {"partition": 0}}), team) == {"spec.updateStrategy"}
	denied(by(dev, "paused", true), team) == {"spec.paused"}
	denied(by(dev, "strategy", {"type": "Recreate"}), team) == {"spec.strategy"}
	denied(by(dev, "topology", {"subsets": []}), team) == {"spec.topology"}
}

test_others_scale if denied(by(dev, "replicas", 5), team) == set()

test_others_change_labels if {
	review := {"request": {"operation": "UPDATE", "namespace": "shop-prod", "userInfo": dev, "object": {"spec": spec, "metadata": {"labels": {"a": "b"}}}, "oldObject": {"spec": spec}}}
	denied(review, team) == set()
}

test_the_team if {
	every user in [{"username": "a", "groups": ["system:authenticated", "sre"]}, {"username": "b", "groups": ["release-team"]}, {"username": "system:serviceaccount:delivery:sync"}] {
		denied(by(user, "template", {"spec": {}}), team) == set()
	}
}

# A name that looks like a group's, no groups at all, and a group that only begins alike.
test_not_the_team if {
	every user in [{"username": "release-team"}, {"username": "x", "groups": []}, {"username": "y", "groups": ["release-team-readers"]}] {
		denied(by(user, "template", {"spec": {}}), team) == {"spec.template"}
	}
}

test_nobody_without_parameters if denied(by({"username": "b", "groups": ["release-team"]}, "template", {}), {}) == {"spec.template"}

test_namespaces if {
	review := by(dev, "template", {"spec": {}})
	denied(review, object.union(team, {"namespaces": ["*-prod", "payments"]})) == {"spec.template"}
	denied(review, object.union(team, {"namespaces": ["shop-prod"]})) == {"spec.template"}
	denied(review, object.union(team, {"namespaces": ["shop", "prod-*"]})) == set()
}

test_message if {
	some said in policy.deny with input as by(dev, "template", {}) with data.parameters as {"groups": ["release-team"]}
	said.message == "dev is in none of the groups that may change rollouts in shop-prod: release-team"
}
