# METADATA
# title: Selectors
# description: What label selectors of every kind have in common. Each function answers the set of mistakes of the selector at a field.
package fairlead.shared.selector

empty(selector) if {
	count(labels(selector)) == 0
	count(expressions(selector)) == 0
}

labels(selector) := found if {
	found := selector.matchLabels
	is_object(found)
} else := {}

expressions(selector) := found if {
	found := selector.matchExpressions
	is_array(found)
} else := []

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
valid(field, selector) := {problem | some problem in fairlead.label_selector_errors(field, selector)}

# template_labels: the selector selects the Pods of the template.
template_labels(field, selector, template) := {{"field": field, "type": "invalid", "value": labels, "message": "must be matched by the selector"}} if {
	selector != null
	not empty(selector)
	count(valid("selector", selector)) == 0
	labels := object.get(template, ["metadata", "labels"], {})
	is_object(labels)
	not fairlead.label_selector_matches(selector, labels)
} else := set()
