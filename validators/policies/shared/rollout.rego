# METADATA
# title: Rollouts
# description: What the update strategies of workloads have in common. Each function answers the set of mistakes below a field.
package fairlead.shared.rollout

import data.fairlead.shared.list
import data.fairlead.shared.selector

# whole is a number of things.
whole(value) if {
	is_number(value)
	value >= 0
	floor(value) == value
}

# percentage is one with or without a fraction.
percentage(value) if {
	is_string(value)
	regex.match(`^[0-9]+(\.[0-9]+)?%$`, value)
}

amount(value) if fairlead.amount(value)

amount_message := `must be a number that is not negative, or a percentage such as "20%"`

# amounts are the mistakes of the members with these names that are set.
amounts(field, object, names) := {problem |
	some name in fairlead.wrong_amounts(object, names)
	problem := {"field": sprintf("%s.%s", [field, name]), "type": "invalid", "value": object[name], "message": amount_message}
}

# resolved is an amount of a total, rounded up.
resolved(value, total) := fairlead.resolved_amount(value, total)

priority(field, strategy) := ((priority_lists(field, strategy) | priority_weights(field, strategy)) | priority_selectors(field, strategy)) | priority_keys(field, strategy)

priority_lists(field, strategy) := {{"field": field, "type": "forbidden", "message": "weightPriority and orderPriority cannot be used together: remove one of them"}} if {
	count(object.get(strategy, "weightPriority", [])) > 0
	count(object.get(strategy, "orderPriority", [])) > 0
} else := set()

priority_weights(field, strategy) := {problem |
	some i, term in strategy.weightPriority
	weight := object.get(term, "weight", 0)
	not between(weight, 0, 100)
	problem := {"field": sprintf("%s.weightPriority[%d].weight", [field, i]), "type": "invalid", "value": weight, "message": "must be between 0 and 100"}
}

between(x, low, high) if {
	x >= low
	x <= high
}

priority_selectors(field, strategy) := {problem |
	some i, term in strategy.weightPriority
	some problem in selector.wanted(sprintf("%s.weightPriority[%d].matchSelector", [field, i]), object.get(term, "matchSelector", {}))
}

priority_keys(field, strategy) := {problem |
	some i, term in strategy.orderPriority
	object.get(term, "orderedKey", "") == ""
	problem := {"field": sprintf("%s.orderPriority[%d].orderedKey", [field, i]), "type": "required", "message": "the key of the label whose value orders the Pods"}
}

scatter(field, terms) := {problem |
	some i, term in terms
	object.get(term, "key", "") == ""
	problem := {"field": sprintf("%s[%d].key", [field, i]), "type": "required", "message": "the key of the label to scatter by"}
} | {problem |
	some i in list.repeated([scattered(term) | some term in terms])
	problem := {"field": sprintf("%s[%d]", [field, i]), "type": "duplicate", "value": terms[i]}
}

scattered(term) := [object.get(term, "key", ""), object.get(term, "value", "")]

predownload(field, strategy) := {problem |
	value := strategy.imagePreDownloadParallelism
	not parallelism(value)
	problem := {"field": sprintf("%s.imagePreDownloadParallelism", [field]), "type": "invalid", "value": value, "message": "must be a number that is not negative"}
} | {problem |
	some name in ["imagePreDownloadTimeoutSeconds", "imagePreDownloadMinUpdatedReadyPods"]
	strategy[name] < 0
	problem := {"field": sprintf("%s.%s", [field, name]), "type": "invalid", "value": strategy[name], "message": "must not be negative"}
}

# parallelism is a whole number, which may be written as text.
parallelism(value) if whole(value)

parallelism(value) if {
	is_string(value)
	regex.match(`^[0-9]+$`, value)
}

# immutable are the changed members of a spec that are not among those which may change.
immutable(field, before, now, mutable) := {problem |
	some name in (object.keys(before) | object.keys(now)) - mutable
	not same(object.get(before, name, null), object.get(now, name, null))
	problem := {"field": sprintf("%s.%s", [field, name]), "type": "forbidden", "message": sprintf("cannot be changed: only %s may change", [concat(", ", sort(mutable))])}
}

# same says that nothing was changed, whoever wrote it: a client of Go types leaves out an empty text, and adds to claim templates
# what says nothing, such as a status of {}.
same(before, now) if before == now

same(before, now) if {
	before in {null, ""}
	now in {null, ""}
}

same(before, now) if {
	is_array(before)
	count(before) == count(now)
	fairlead.same_but(before, now, [null])
}

# ordered is the spec of a StatefulSet with the order that its Pods have by default: one that was stored without it may get it.
ordered(spec) := object.union(spec, {"podManagementPolicy": "OrderedReady"}) if {
	object.get(spec, "podManagementPolicy", "") in {"", null}
} else := spec

# in_place are the changes of a Pod spec that cannot be made in place: everything but the images of containers.
in_place(field, before, now) := {problem |
	before != now
	some difference in fairlead.pod_spec_differences(before, now, `^containers\[[0-9]+\]\.image$`)
	problem := {"field": sprintf("%s.%s", [field, difference.path]), "type": "forbidden", "message": "with InPlaceOnly nothing but images of containers may change here"}
}
