# METADATA
# title: DaemonSet
# description: What a DaemonSet of apps.kruise.io must be, in either version (daemonset.md §5).
# custom:
#   kinds: [DaemonSet]
package fairlead.apps.daemonset

import data.fairlead.shared.rollout
import data.fairlead.shared.selector
import data.fairlead.shared.template as templates

spec := object.get(input.object, "spec", {})

old := object.get(input, ["oldObject", "spec"], {})

template := object.get(spec, "template", {})

strategy := object.get(spec, "updateStrategy", {})

at := "spec.updateStrategy.rollingUpdate"

rolling if object.get(strategy, "type", "") in {"", "RollingUpdate"}

update := object.get(strategy, "rollingUpdate", {}) if rolling

kind := object.get(update, "rollingUpdateType", "")

# METADATA
# title: The selector selects
# description: spec.selector is a valid label selector that asks for something.
# custom:
#   id: daemonset-selector
deny contains object.union(problem, {"rule": "daemonset-selector"}) if {
	some problem in selector.required("spec.selector", object.get(spec, "selector", null))
}

# METADATA
# title: The selector selects the template's Pods
# description: spec.selector matches spec.template.metadata.labels.
# custom:
#   id: daemonset-template-labels
deny contains object.union(problem, {"rule": "daemonset-template-labels"}) if {
	some problem in selector.template_labels("spec.template.metadata.labels", object.get(spec, "selector", null), template)
}

# METADATA
# title: Pods run for good
# description: spec.template.spec.restartPolicy is Always, and activeDeadlineSeconds is not set.
# custom:
#   id: daemonset-template-lasting
deny contains object.union(problem, {"rule": "daemonset-template-lasting"}) if {
	some problem in templates.lasting("spec.template", template)
}

judged := templates.judged("spec.template", template, "spec.volumeClaimTemplates", [], object.get(old, "template", null), [])

warn contains warning if some warning in judged.warnings

# METADATA
# title: The template makes a Pod
# description: spec.template is judged by the API server as that of a Pod.
# custom:
#   id: daemonset-template
deny contains object.union(problem, {"rule": "daemonset-template"}) if {
	some problem in judged.errors
}

# METADATA
# title: Numbers are not negative
# description: spec.minReadySeconds and spec.revisionHistoryLimit are at least 0.
# custom:
#   id: daemonset-not-negative
deny contains {"rule": "daemonset-not-negative", "field": sprintf("spec.%s", [name]), "type": "invalid", "value": spec[name], "message": "must not be negative"} if {
	some name in ["minReadySeconds", "revisionHistoryLimit"]
	spec[name] < 0
}

# METADATA
# title: The update type is known
# description: spec.updateStrategy.type is RollingUpdate or OnDelete.
# custom:
#   id: daemonset-update-type
deny contains {"rule": "daemonset-update-type", "field": "spec.updateStrategy.type", "type": "unsupported", "value": strategy.type, "message": `supported values: "OnDelete", "RollingUpdate"`} if {
	not strategy.type in {"", "OnDelete", "RollingUpdate"}
}

# METADATA
# title: A rolling update is described
# description: With updateStrategy.type RollingUpdate there is a rollingUpdate.
# custom:
#   id: daemonset-rolling-update
deny contains {"rule": "daemonset-rolling-update", "field": at, "type": "required", "message": "because type is RollingUpdate"} if {
	rolling
	object.get(strategy, "rollingUpdate", null) == null
}

# METADATA
# title: The kind of rolling update is known
# description: rollingUpdateType is Standard or InPlaceIfPossible; v1alpha1 has Surging too.
# custom:
#   id: daemonset-rolling-update-type
deny contains {"rule": "daemonset-rolling-update-type", "field": sprintf("%s.rollingUpdateType", [at]), "type": "unsupported", "value": kind, "message": `supported values: "InPlaceIfPossible", "Standard"`} if {
	not kind in kinds
}

kinds := {"", "InPlaceIfPossible", "Standard", "Surging"} if endswith(input.object.apiVersion, "/v1alpha1")

else := {"", "InPlaceIfPossible", "Standard"}

# share is an amount of at most all.
share(value) if rollout.whole(value)

share(value) if {
	is_string(value)
	regex.match(`^[0-9]+%$`, value)
	to_number(trim_suffix(value, "%")) <= 100
}

# METADATA
# title: Numbers of nodes are numbers or percentages
# description: partition, maxUnavailable and maxSurge of the update are not negative, or percentages of at most 100%.
# custom:
#   id: daemonset-amount
deny contains {"rule": "daemonset-amount", "field": sprintf("%s.%s", [at, name]), "type": "invalid", "value": value, "message": `must be a number that is not negative, or a percentage from "0%" to "100%"`} if {
	some name in ["maxSurge", "maxUnavailable", "partition"]
	value := update[name]
	value != null
	not share(value)
}

# some_of says that a number is set and not 0. What is no number is for another rule.
some_of(name) if {
	share(update[name])
	rollout.resolved(update[name], 1) > 0
}

wrong(name) if {
	update[name] != null
	not share(update[name])
}

# METADATA
# title: Updates can go on
# description: maxUnavailable or maxSurge is not 0.
# custom:
#   id: daemonset-no-progress
deny contains {"rule": "daemonset-no-progress", "field": sprintf("%s.maxUnavailable", [at]), "type": "required", "message": "maxUnavailable and maxSurge are both 0 or not set: no Pod could ever be updated"} if {
	strategy.rollingUpdate != null
	update
	not some_of("maxUnavailable")
	not some_of("maxSurge")
	not wrong("maxUnavailable")
	not wrong("maxSurge")
}

# METADATA
# title: Updates surge or interrupt
# description: maxUnavailable and maxSurge are not both set.
# custom:
#   id: daemonset-surge-exclusive
deny contains {"rule": "daemonset-surge-exclusive", "field": sprintf("%s.maxSurge", [at]), "type": "invalid", "value": update.maxSurge, "message": "cannot be used together with maxUnavailable: set one of them to 0"} if {
	some_of("maxUnavailable")
	some_of("maxSurge")
	kind != "Surging"
}

# METADATA
# title: Surging interrupts nothing
# description: With rollingUpdateType Surging of v1alpha1 maxUnavailable is 0.
# custom:
#   id: daemonset-surging
deny contains {"rule": "daemonset-surging", "field": sprintf("%s.maxUnavailable", [at]), "type": "invalid", "value": update.maxUnavailable, "message": "must be 0 with rollingUpdateType Surging"} if {
	kind == "Surging"
	kind in kinds
	some_of("maxUnavailable")
}

# METADATA
# title: Nothing surges in place
# description: maxSurge is 0 with rollingUpdateType InPlaceIfPossible.
# custom:
#   id: daemonset-surge-in-place
deny contains {"rule": "daemonset-surge-in-place", "field": sprintf("%s.maxSurge", [at]), "type": "invalid", "value": update.maxSurge, "message": "must be 0 with rollingUpdateType InPlaceIfPossible"} if {
	kind == "InPlaceIfPossible"
	some_of("maxSurge")
	not some_of("maxUnavailable")
}

# METADATA
# title: The nodes of an update can be selected
# description: spec.updateStrategy.rollingUpdate.selector is a valid label selector.
# custom:
#   id: daemonset-node-selector
deny contains object.union(problem, {"rule": "daemonset-node-selector"}) if {
	some problem in selector.valid(sprintf("%s.selector", [at]), update.selector)
}

# METADATA
# title: Hooks of updates are for others
# description: "spec.lifecycle.inPlaceUpdate is not set: DaemonSets have no such hook."
# custom:
#   id: daemonset-lifecycle
deny contains {"rule": "daemonset-lifecycle", "field": "spec.lifecycle.inPlaceUpdate", "type": "forbidden", "message": "DaemonSets have the hook preDelete only"} if {
	spec.lifecycle.inPlaceUpdate != null
}

mutable := {"burstReplicas", "lifecycle", "minReadySeconds", "revisionHistoryLimit", "scaleStrategy", "template", "updateStrategy"}

# METADATA
# title: The selector stays
# description: An update changes nothing of spec but burstReplicas, lifecycle, minReadySeconds, revisionHistoryLimit, scaleStrategy, template, updateStrategy.
# custom:
#   id: daemonset-immutable
deny contains object.union(problem, {"rule": "daemonset-immutable"}) if {
	input.operation == "UPDATE"
	some problem in rollout.immutable("spec", old, spec, mutable)
}
