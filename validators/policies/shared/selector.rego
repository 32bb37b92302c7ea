# METADATA
# title: Selectors
# description: What label selectors of every kind have in common. Each function answers the set of mistakes of the selector at a field.
package fairlead.shared.selector

empty(selector) if not asks(selector)

asks(selector) if selector.matchLabels[_]

asks(selector) if selector.matchExpressions[_]

# required: there is one that asks for something.
required(field, selector) := {{"field": field, "type": "required", "message": "which Pods are meant, for example matchLabels"}} if {
	selector == null
} else := {{"field": field, "type": "invalid", "value": selector, "message": "must not be empty: give it matchLabels or matchExpressions"}} if {
	empty(selector)
} else := valid(field, selector)

# wanted is as required where an empty one is as good as none.
wanted(field, selector) := {{"field": field, "type": "required", "message": "which Pods are meant: give it matchLabels or matchExpressions"}} if {
	empty(selector)
} else := valid(field, selector)

# valid: keys, operators and values are those of a Kubernetes label selector.
valid(field, selector) := fairlead.label_selector_errors(field, selector)

# template_labels: the selector selects the Pods of the template.
template_labels(field, selector, template) := {{"field": field, "type": "invalid", "value": labels, "message": "must be matched by the selector"}} if {
	labels := object.get(template, ["metadata", "labels"], {})
	is_object(labels)
	fairlead.label_selector_misses(selector, labels)
} else := set()
