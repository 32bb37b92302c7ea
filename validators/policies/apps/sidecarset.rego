# METADATA
# title: SidecarSet
# description: What a SidecarSet must be, in either version (sidecarset.md §5).
# custom:
#   kinds: [SidecarSet]
package fairlead.apps.sidecarset

import data.fairlead.shared.list

spec := object.get(input.object, "spec", {})

name := input.object.metadata.name

labels := object.get(input.object, ["metadata", "labels"], {})

annotations := object.get(input.object, ["metadata", "annotations"], {})

strategy := object.get(spec, "updateStrategy", {})

update_type := object.get(strategy, "type", "")

# The empty type is RollingUpdate, as in the defaults.
rolling if update_type in {"", "RollingUpdate"}

# sidecars are all containers with the list that they are in and the path of their field.
sidecars contains {"list": list, "field": sprintf("spec.%s[%d]", [list, i]), "value": container} if {
	some list in ["containers", "initContainers"]
	some i, container in spec[list]
}

native(sidecar) if {
	sidecar.list == "initContainers"
	sidecar.value.restartPolicy == "Always"
}

hot_upgrade(container) if container.upgradeStrategy.upgradeType == "HotUpgrade"

# METADATA
# title: The name is short and plain
# description: A SidecarSet's name has letters, digits and '-' only, at most 63 of them, because it becomes a label's value and part of other names.
# custom:
#   id: sidecarset-name
deny contains {"rule": "sidecarset-name", "field": "metadata.name", "type": "invalid", "value": name, "message": message} if {
	not regex.match(`^[A-Za-z0-9-]{1,63}$`, name)
	message := "must be at most 63 letters, digits or '-'"
}

# selectors are those that are set, by the field that the user wrote.
selectors["spec.selector"] := spec.selector

selectors["spec.namespaceSelector"] := spec.namespaceSelector

selectors["spec.updateStrategy.selector"] := strategy.selector

empty(selector) if {
	count(object.get(selector, "matchLabels", {})) == 0
	count(object.get(selector, "matchExpressions", [])) == 0
}

# METADATA
# title: A selector is required
# description: Without spec.selector a SidecarSet would select no Pod at all.
# custom:
#   id: sidecarset-selector-required
deny contains {"rule": "sidecarset-selector-required", "field": "spec.selector", "type": "required", "message": message} if {
	not spec.selector
	message := "which Pods to inject into, for example matchLabels"
}

# METADATA
# title: No selector is empty
# description: spec.selector, spec.namespaceSelector and spec.updateStrategy.selector must ask for something if they are set; an empty selector selects nothing here.
# custom:
#   id: sidecarset-selector-empty
deny contains {"rule": "sidecarset-selector-empty", "field": field, "type": "invalid", "value": selector, "message": message} if {
	some field, selector in selectors
	empty(selector)
	message := "must not be empty: give it matchLabels or matchExpressions, or leave it out if it is optional"
}

# METADATA
# title: Every selector is valid
# description: Keys, operators and values of spec.selector, spec.namespaceSelector and spec.updateStrategy.selector must be those of a Kubernetes label selector.
# custom:
#   id: sidecarset-selector-valid
deny contains object.union(problem, {"rule": "sidecarset-selector-valid"}) if {
	some field, selector in selectors
	some problem in fairlead.label_selector_errors(field, selector)
}

# METADATA
# title: namespace is the name of a namespace
# description: spec.namespace of version v1alpha1 is compared with names of namespaces, so it must be one.
# custom:
#   id: sidecarset-namespace-valid
deny contains {"rule": "sidecarset-namespace-valid", "field": "spec.namespace", "type": "invalid", "value": spec.namespace, "message": message} if {
	spec.namespace != ""
	not regex.match(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`, spec.namespace)
	message := "must be the name of a namespace: at most 63 lower-case letters, digits or '-'"
}

# METADATA
# title: Either namespace or namespaceSelector
# description: Version v1alpha1 has both; they exclude each other. The selector that namespace is stored as is accepted beside it, so that a manifest can be applied twice.
# custom:
#   id: sidecarset-namespace-exclusive
deny contains {"rule": "sidecarset-namespace-exclusive", "field": "spec.namespace", "type": "forbidden", "message": message} if {
	spec.namespace != ""
	spec.namespaceSelector
	not same_as_namespace
	message := sprintf("namespace and namespaceSelector are mutually exclusive: remove one; as a selector it is matchLabels {\"kubernetes.io/metadata.name\": %q}", [spec.namespace])
}

same_as_namespace if {
	spec.namespaceSelector.matchLabels == {"kubernetes.io/metadata.name": spec.namespace}
	count(object.get(spec.namespaceSelector, "matchExpressions", [])) == 0
}

# METADATA
# title: The update type is known
# description: spec.updateStrategy.type is RollingUpdate or NotUpdate.
# custom:
#   id: sidecarset-update-type
deny contains {"rule": "sidecarset-update-type", "field": "spec.updateStrategy.type", "type": "unsupported", "value": update_type, "message": message} if {
	not update_type in {"", "RollingUpdate", "NotUpdate"}
	message := `supported values: "NotUpdate", "RollingUpdate"`
}

# METADATA
# title: Either a partition or a selector
# description: A rolling update is cut by spec.updateStrategy.partition or by spec.updateStrategy.selector, not by both. A partition of 0 counts as not set, but "0%" does not.
# custom:
#   id: sidecarset-partition-selector
deny contains {"rule": "sidecarset-partition-selector", "field": "spec.updateStrategy", "type": "forbidden", "message": message} if {
	rolling
	strategy.selector
	partition_set
	message := "partition and selector cannot be used together: remove one of them"
}

partition_set if is_string(strategy.partition)

partition_set if {
	is_number(strategy.partition)
	strategy.partition != 0
}

# METADATA
# title: Numbers of Pods are numbers or percentages
# description: spec.updateStrategy.partition and spec.updateStrategy.maxUnavailable are not negative, or percentages such as "20%".
# custom:
#   id: sidecarset-int-or-percent
deny contains {"rule": "sidecarset-int-or-percent", "field": sprintf("spec.updateStrategy.%s", [key]), "type": "invalid", "value": strategy[key], "message": message} if {
	rolling
	some key in ["partition", "maxUnavailable"]
	message := fairlead.int_or_percent_error(strategy[key])
	message != ""
}

priority := strategy.priorityStrategy

# METADATA
# title: One kind of priority
# description: spec.updateStrategy.priorityStrategy has weightPriority or orderPriority, not both.
# custom:
#   id: sidecarset-priority-exclusive
deny contains {"rule": "sidecarset-priority-exclusive", "field": "spec.updateStrategy.priorityStrategy", "type": "forbidden", "message": message} if {
	rolling
	count(priority.weightPriority) > 0
	count(priority.orderPriority) > 0
	message := "weightPriority and orderPriority cannot be used together: remove one of them"
}

# METADATA
# title: Weights are between 0 and 100
# description: The weight of every term of weightPriority is between 0 and 100.
# custom:
#   id: sidecarset-priority-weight
deny contains {"rule": "sidecarset-priority-weight", "field": sprintf("%s.weight", [weighted(i)]), "type": "invalid", "value": term.weight, "message": message} if {
	rolling
	some i, term in priority.weightPriority
	not between(object.get(term, "weight", 0), 0, 100)
	message := "must be between 0 and 100"
}

weighted(i) := sprintf("spec.updateStrategy.priorityStrategy.weightPriority[%d]", [i])

between(x, low, high) if {
	x >= low
	x <= high
}

# METADATA
# title: Terms with a weight select something
# description: The matchSelector of every term of weightPriority is set and not empty.
# custom:
#   id: sidecarset-priority-selector-empty
deny contains {"rule": "sidecarset-priority-selector-empty", "field": sprintf("%s.matchSelector", [weighted(i)]), "type": "required", "message": message} if {
	rolling
	some i, term in priority.weightPriority
	empty(object.get(term, "matchSelector", {}))
	message := "which Pods have this weight: give it matchLabels or matchExpressions"
}

# METADATA
# title: Terms with a weight have valid selectors
# description: The matchSelector of every term of weightPriority is a Kubernetes label selector.
# custom:
#   id: sidecarset-priority-selector-valid
deny contains object.union(problem, {"rule": "sidecarset-priority-selector-valid"}) if {
	rolling
	some i, term in priority.weightPriority
	some problem in fairlead.label_selector_errors(sprintf("%s.matchSelector", [weighted(i)]), term.matchSelector)
}

# METADATA
# title: Ordered keys are named
# description: The orderedKey of every term of orderPriority is the key of a label.
# custom:
#   id: sidecarset-priority-ordered-key
deny contains {"rule": "sidecarset-priority-ordered-key", "field": field, "type": "required", "message": message} if {
	rolling
	some i, term in priority.orderPriority
	object.get(term, "orderedKey", "") == ""
	field := sprintf("spec.updateStrategy.priorityStrategy.orderPriority[%d].orderedKey", [i])
	message := "the key of the label whose value orders the Pods"
}

# METADATA
# title: Scattered keys are named
# description: Every term of scatterStrategy names the key of a label.
# custom:
#   id: sidecarset-scatter-key
deny contains {"rule": "sidecarset-scatter-key", "field": sprintf("spec.updateStrategy.scatterStrategy[%d].key", [i]), "type": "required", "message": message} if {
	rolling
	some i, term in strategy.scatterStrategy
	object.get(term, "key", "") == ""
	message := "the key of the label to scatter by"
}

scattered(term) := [object.get(term, "key", ""), object.get(term, "value", "")]

# METADATA
# title: Scattered terms differ
# description: No two terms of scatterStrategy have the same key and value.
# custom:
#   id: sidecarset-scatter-duplicate
deny contains {"rule": "sidecarset-scatter-duplicate", "field": sprintf("spec.updateStrategy.scatterStrategy[%d]", [i]), "type": "duplicate", "value": strategy.scatterStrategy[i]} if {
	rolling
	some i in list.repeated([scattered(term) | some term in strategy.scatterStrategy])
}

# METADATA
# title: Native sidecars are not updated in place
# description: An init container with restartPolicy Always cannot be upgraded in existing Pods, so that spec.updateStrategy.type must be NotUpdate.
# custom:
#   id: sidecarset-native-not-update
deny contains {"rule": "sidecarset-native-not-update", "field": "spec.updateStrategy.type", "type": "invalid", "value": update_type, "message": message} if {
	rolling
	some sidecar in sidecars
	native(sidecar)
	message := sprintf("must be NotUpdate, because %s has restartPolicy Always and cannot be upgraded in place", [sidecar.field])
}

# METADATA
# title: The name of a version is a label's value
# description: spec.customVersion becomes the value of a label, of the SidecarSet in v1alpha1 and of revisions. One that an update leaves alone is not judged.
# custom:
#   id: sidecarset-custom-version
deny contains {"rule": "sidecarset-custom-version", "field": "spec.customVersion", "type": "invalid", "value": spec.customVersion, "message": message} if {
	not regex.match(`^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$`, spec.customVersion)
	spec.customVersion != object.get(input, ["oldObject", "spec", "customVersion"], "")
	message := "must be the value of a label: at most 63 letters, digits, '-', '_' or '.', with a letter or digit at both ends"
}

revision := spec.injectionStrategy.revision

# revision_name and custom_version are "" unless set.
revision_name := revision.revisionName if is_string(revision.revisionName)

else := ""

custom_version := revision.customVersion if is_string(revision.customVersion)

else := ""

# METADATA
# title: A revision to inject is named
# description: spec.injectionStrategy.revision has revisionName or customVersion.
# custom:
#   id: sidecarset-revision-named
deny contains {"rule": "sidecarset-revision-named", "field": "spec.injectionStrategy.revision", "type": "required", "message": message} if {
	revision
	revision_name == ""
	custom_version == ""
	message := "give revisionName or customVersion"
}

# METADATA
# title: A revision to inject exists
# description: The revision that spec.injectionStrategy.revision names belongs to this SidecarSet and exists. A SidecarSet that is being created has none yet.
# custom:
#   id: sidecarset-revision-exists
deny contains {"rule": "sidecarset-revision-exists", "field": field, "type": "notfound", "value": value, "message": message} if {
	wanted := wanted_revision
	not fairlead.sidecarset_revision_exists(name, revision_name, custom_version)
	[field, value] := wanted
	message := "this SidecarSet has no such revision; it gets its first one after it was created"
}

# The name wins when both are set.
wanted_revision := ["spec.injectionStrategy.revision.revisionName", revision_name] if {
	revision_name != ""
} else := ["spec.injectionStrategy.revision.customVersion", custom_version] if {
	custom_version != ""
}

# METADATA
# title: The policy of a revision is known
# description: spec.injectionStrategy.revision.policy is Always or Partial.
# custom:
#   id: sidecarset-revision-policy
deny contains {"rule": "sidecarset-revision-policy", "field": "spec.injectionStrategy.revision.policy", "type": "unsupported", "value": revision.policy, "message": message} if {
	not revision.policy in {"", "Always", "Partial"}
	message := `supported values: "Always", "Partial"`
}

base := object.get(annotations, "apps.kruise.io/sidecarset-base", "")

canary if {
	annotations["apps.kruise.io/sidecarset-canary"] == "true"
	base != ""
}

base_field := "metadata.annotations[apps.kruise.io/sidecarset-base]"

# METADATA
# title: A canary has another SidecarSet as its base
# description: The annotation apps.kruise.io/sidecarset-base of a canary does not name the canary itself.
# custom:
#   id: sidecarset-canary-self
deny contains {"rule": "sidecarset-canary-self", "field": base_field, "type": "invalid", "value": base, "message": "must name another SidecarSet"} if {
	canary
	base == name
}

# METADATA
# title: The base of a canary exists
# description: The annotation apps.kruise.io/sidecarset-base of a canary names a SidecarSet that exists.
# custom:
#   id: sidecarset-canary-base-exists
deny contains {"rule": "sidecarset-canary-base-exists", "field": base_field, "type": "notfound", "value": base, "message": "create the base first"} if {
	canary
	base != name
	not fairlead.sidecarset(base).exists
}

# METADATA
# title: The base of a canary is no canary
# description: A canary stands in for an ordinary SidecarSet.
# custom:
#   id: sidecarset-canary-of-canary
deny contains {"rule": "sidecarset-canary-of-canary", "field": base_field, "type": "invalid", "value": base, "message": message} if {
	canary
	base != name
	fairlead.sidecarset(base).canary
	message := "must name a SidecarSet that is not a canary itself"
}

old_annotations := object.get(input.oldObject, ["metadata", "annotations"], {})

old_base := object.get(old_annotations, "apps.kruise.io/sidecarset-base", "")

# METADATA
# title: The base of a canary stays
# description: The annotation apps.kruise.io/sidecarset-base of a canary cannot be changed or removed.
# custom:
#   id: sidecarset-canary-base-immutable
deny contains {"rule": "sidecarset-canary-base-immutable", "field": base_field, "type": "invalid", "value": base, "message": message} if {
	old_annotations["apps.kruise.io/sidecarset-canary"] == "true"
	old_base != ""
	base != old_base
	message := sprintf("is immutable: put back %q, or delete this SidecarSet and create it anew", [old_base])
}

# METADATA
# title: A canary does not update existing Pods
# description: The spec.updateStrategy.type of a canary is NotUpdate.
# custom:
#   id: sidecarset-canary-not-update
deny contains {"rule": "sidecarset-canary-not-update", "field": "spec.updateStrategy.type", "type": "invalid", "value": update_type, "message": message} if {
	canary
	update_type != "NotUpdate"
	message := "must be NotUpdate, because this SidecarSet is a canary"
}

# METADATA
# title: There is a sidecar
# description: A SidecarSet has at least one container or init container.
# custom:
#   id: sidecarset-containers-required
deny contains {"rule": "sidecarset-containers-required", "field": "spec.containers", "type": "required", "message": message} if {
	count(sidecars) == 0
	message := "at least one container or init container"
}

# METADATA
# title: The place of a sidecar is known
# description: podInjectPolicy is BeforeAppContainer or AfterAppContainer.
# custom:
#   id: sidecarset-inject-policy
deny contains {"rule": "sidecarset-inject-policy", "field": sprintf("%s.podInjectPolicy", [sidecar.field]), "type": "unsupported", "value": sidecar.value.podInjectPolicy, "message": message} if {
	some sidecar in sidecars
	not sidecar.value.podInjectPolicy in {"", "BeforeAppContainer", "AfterAppContainer"}
	message := `supported values: "AfterAppContainer", "BeforeAppContainer"`
}

# METADATA
# title: Sharing is enabled or disabled
# description: The type of shareVolumePolicy and of shareVolumeDevicePolicy is enabled or disabled.
# custom:
#   id: sidecarset-share-policy
deny contains {"rule": "sidecarset-share-policy", "field": sprintf("%s.%s.type", [sidecar.field, policy]), "type": "unsupported", "value": sidecar.value[policy].type, "message": message} if {
	some sidecar in sidecars
	some policy in ["shareVolumePolicy", "shareVolumeDevicePolicy"]
	not sidecar.value[policy].type in {"", "enabled", "disabled"}
	message := `supported values: "disabled", "enabled"`
}

# METADATA
# title: The type of upgrade is known
# description: upgradeStrategy.upgradeType is ColdUpgrade or HotUpgrade.
# custom:
#   id: sidecarset-upgrade-type
deny contains {"rule": "sidecarset-upgrade-type", "field": sprintf("%s.upgradeStrategy.upgradeType", [sidecar.field]), "type": "unsupported", "value": sidecar.value.upgradeStrategy.upgradeType, "message": message} if {
	some sidecar in sidecars
	not sidecar.value.upgradeStrategy.upgradeType in {"", "ColdUpgrade", "HotUpgrade"}
	message := `supported values: "ColdUpgrade", "HotUpgrade"`
}

field_refs contains {"field": field, "value": source.fieldRef} if {
	some sidecar in sidecars
	some i, transfer in sidecar.value.transferEnv
	source := transfer.sourceContainerNameFrom
	source.fieldRef
	field := sprintf("%s.transferEnv[%d].sourceContainerNameFrom.fieldRef", [sidecar.field, i])
}

# METADATA
# title: A source has a field
# description: transferEnv's sourceContainerNameFrom has a fieldRef.
# custom:
#   id: sidecarset-transfer-env-field-required
deny contains {"rule": "sidecarset-transfer-env-field-required", "field": field, "type": "required", "message": message} if {
	some sidecar in sidecars
	some i, transfer in sidecar.value.transferEnv
	transfer.sourceContainerNameFrom
	not transfer.sourceContainerNameFrom.fieldRef
	field := sprintf("%s.transferEnv[%d].sourceContainerNameFrom.fieldRef", [sidecar.field, i])
	message := "for example fieldPath metadata.labels['app']"
}

# METADATA
# title: The field of a source is one of a v1 Pod
# description: The apiVersion of a fieldRef below transferEnv is v1.
# custom:
#   id: sidecarset-transfer-env-api-version
deny contains {"rule": "sidecarset-transfer-env-api-version", "field": sprintf("%s.apiVersion", [ref.field]), "type": "unsupported", "value": ref.value.apiVersion, "message": `supported values: "v1"`} if {
	some ref in field_refs
	not ref.value.apiVersion in {"", "v1"}
}

# subscripted is the kind of metadata and the key that a path names.
subscripted(path) := [parts[0][1], parts[0][2]] if {
	parts := regex.find_all_string_submatch_n(`^metadata\.(labels|annotations)\['([^']*)'\]$`, path, 1)
	count(parts) == 1
}

# METADATA
# title: The field of a source is a label or an annotation
# description: The fieldPath of a fieldRef below transferEnv is metadata.labels['key'] or metadata.annotations['key'].
# custom:
#   id: sidecarset-transfer-env-field-path
deny contains {"rule": "sidecarset-transfer-env-field-path", "field": sprintf("%s.fieldPath", [ref.field]), "type": "invalid", "value": path, "message": message} if {
	some ref in field_refs
	path := object.get(ref.value, "fieldPath", "")
	not subscripted(path)
	message := "must be metadata.labels['key'] or metadata.annotations['key']"
}

# Keys of annotations are compared without regard to case, as Kubernetes does when it validates them.
key_to_check("labels", key) := key

key_to_check("annotations", key) := lower(key)

# METADATA
# title: The key of a source is valid
# description: The key in the fieldPath of a fieldRef below transferEnv could be that of a label or an annotation.
# custom:
#   id: sidecarset-transfer-env-key
deny contains {"rule": "sidecarset-transfer-env-key", "field": sprintf("%s.fieldPath", [ref.field]), "type": "invalid", "value": ref.value.fieldPath, "message": problem} if {
	some ref in field_refs
	[kind, key] := subscripted(ref.value.fieldPath)
	some problem in fairlead.qualified_name_errors(key_to_check(kind, key))
}

# before are the parts that make up a Pod, as they were.
pod_parts := ["containers", "initContainers", "volumes"]

parts_of(of) := {part: object.get(of, part, []) | some part in pod_parts}

pod_changed if {
	parts_of(spec) != parts_of(object.get(input, ["oldObject", "spec"], {}))
}

pod_problems := fairlead.pod_problems(parts_of(spec)) if {
	count(sidecars) > 0
	pod_changed
} else := {"errors": [], "warnings": []}

# METADATA
# title: The sidecars make up a Pod
# description: Containers, init containers and volumes are judged by the API server as those of one Pod (required fields, unique names, volumes that mounts name, probes and all else). Without a cluster nobody can tell.
# custom:
#   id: sidecarset-pod
deny contains object.union(problem, {"rule": "sidecarset-pod"}) if {
	some problem in pod_problems.errors
}

warn contains warning if some warning in pod_problems.warnings

policies contains {"sidecar": sidecar, "value": sidecar.value.resourcesPolicy, "field": sprintf("%s.resourcesPolicy", [sidecar.field])} if {
	some sidecar in sidecars
	is_object(sidecar.value.resourcesPolicy)
}

# METADATA
# title: Either resources or a policy for them
# description: A container with resourcesPolicy has neither resources.limits nor resources.requests.
# custom:
#   id: sidecarset-resources-policy-exclusive
deny contains {"rule": "sidecarset-resources-policy-exclusive", "field": policy.field, "type": "forbidden", "message": message} if {
	some policy in policies
	resources := policy.sidecar.value.resources
	some list in ["limits", "requests"]
	count(resources[list]) > 0
	message := "cannot be used together with resources.limits or resources.requests: remove one of them"
}

# METADATA
# title: Policies for resources need containers that run on
# description: An init container has a resourcesPolicy only if its restartPolicy is Always.
# custom:
#   id: sidecarset-resources-policy-native
deny contains {"rule": "sidecarset-resources-policy-native", "field": policy.field, "type": "forbidden", "message": message} if {
	some policy in policies
	policy.sidecar.list == "initContainers"
	not native(policy.sidecar)
	message := "an init container may only have it with restartPolicy Always"
}

# METADATA
# title: The mode of a policy for resources is known
# description: targetContainersMode is sum or max.
# custom:
#   id: sidecarset-resources-policy-mode
deny contains {"rule": "sidecarset-resources-policy-mode", "field": sprintf("%s.targetContainersMode", [policy.field]), "type": "unsupported", "value": mode, "message": `supported values: "max", "sum"`} if {
	some policy in policies
	mode := object.get(policy.value, "targetContainersMode", "")
	not mode in {"max", "sum"}
}

# METADATA
# title: The names of target containers are a regular expression
# description: targetContainersNameRegex is a regular expression of RE2, and not empty.
# custom:
#   id: sidecarset-resources-policy-regex
deny contains {"rule": "sidecarset-resources-policy-regex", "field": sprintf("%s.targetContainersNameRegex", [policy.field]), "type": "invalid", "value": pattern, "message": message} if {
	some policy in policies
	pattern := object.get(policy.value, "targetContainersNameRegex", "")
	message := fairlead.regex_error(pattern)
	message != ""
}

expressions contains {"policy": policy.field, "field": sprintf("%s.resourcesExpr.%s.%s", [policy.field, list, resource]), "resource": resource, "value": text} if {
	some policy in policies
	some list in ["limits", "requests"]
	some resource in ["cpu", "memory"]
	text := policy.value.resourcesExpr[list][resource]
	text != ""
}

# METADATA
# title: A policy for resources computes something
# description: resourcesExpr has an expression for limits or for requests.
# custom:
#   id: sidecarset-resources-policy-required
deny contains {"rule": "sidecarset-resources-policy-required", "field": sprintf("%s.resourcesExpr", [policy.field]), "type": "required", "message": message} if {
	some policy in policies
	not computes(policy)
	message := "give limits or requests an expression, for example limits.cpu max(cpu*50%, 50m)"
}

computes(policy) if {
	some expression in expressions
	expression.policy == policy.field
}

# METADATA
# title: Expressions for resources can be evaluated
# description: An expression of resourcesExpr parses, makes sense with quantities, and is not negative where its variable is 1.
# custom:
#   id: sidecarset-resources-policy-expression
deny contains {"rule": "sidecarset-resources-policy-expression", "field": expression.field, "type": "invalid", "value": expression.value, "message": message} if {
	some expression in expressions
	message := fairlead.resource_expression_error(expression.value, expression.resource)
	message != ""
}

old_containers := object.get(input, ["oldObject", "spec", "containers"], [])

old_names := {old.name | some old in old_containers}

# old_types are those of containers, by name.
old_types := object.union_n([{old.name: object.get(old, ["upgradeStrategy", "upgradeType"], "")} | some old in old_containers])

# METADATA
# title: Containers keep their names
# description: An update adds no container to spec.containers and renames none; removing one is allowed.
# custom:
#   id: sidecarset-container-added
deny contains {"rule": "sidecarset-container-added", "field": sprintf("spec.containers[%d].name", [i]), "type": "forbidden", "message": message} if {
	input.operation == "UPDATE"
	some i, container in spec.containers
	not object.get(container, "name", "") in old_names
	message := sprintf("container %q cannot be added or renamed by an update: use another SidecarSet for it", [object.get(container, "name", "")])
}

# METADATA
# title: The type of upgrade stays
# description: An update does not change a container's upgradeStrategy.upgradeType.
# custom:
#   id: sidecarset-upgrade-type-immutable
deny contains {"rule": "sidecarset-upgrade-type-immutable", "field": sprintf("spec.containers[%d].upgradeStrategy.upgradeType", [i]), "type": "invalid", "value": type, "message": message} if {
	some i, container in spec.containers
	old := old_types[container.name]
	old != ""
	type := object.get(container, ["upgradeStrategy", "upgradeType"], "")
	type != old
	message := sprintf("is immutable: put back %q", [old])
}

# METADATA
# title: Hot upgrades have an empty image
# description: A container with upgradeType HotUpgrade has hotUpgradeEmptyImage, the image of the half of the pair that does not work.
# custom:
#   id: sidecarset-hot-upgrade-image
deny contains {"rule": "sidecarset-hot-upgrade-image", "field": sprintf("%s.upgradeStrategy.hotUpgradeEmptyImage", [sidecar.field]), "type": "required", "message": message} if {
	some sidecar in sidecars
	hot_upgrade(sidecar.value)
	object.get(sidecar.value.upgradeStrategy, "hotUpgradeEmptyImage", "") == ""
	message := "the image of the container that does not work at the moment, because upgradeType is HotUpgrade"
}

# METADATA
# title: Names of hot upgrades leave room
# description: The name of a container with upgradeType HotUpgrade has at most 61 characters, because -1 or -2 is added to it.
# custom:
#   id: sidecarset-hot-upgrade-name
deny contains {"rule": "sidecarset-hot-upgrade-name", "field": sprintf("%s.name", [sidecar.field]), "type": "invalid", "value": sidecar.value.name, "message": message} if {
	some sidecar in sidecars
	hot_upgrade(sidecar.value)
	count(sidecar.value.name) > 61
	message := "must have at most 61 characters, because upgradeType HotUpgrade adds -1 or -2 and a container's name has at most 63"
}

patch_field(i) := sprintf("spec.patchPodMetadata[%d]", [i])

# METADATA
# title: Patches of metadata have annotations
# description: Every item of patchPodMetadata has annotations.
# custom:
#   id: sidecarset-patch-annotations
deny contains {"rule": "sidecarset-patch-annotations", "field": sprintf("%s.annotations", [patch_field(i)]), "type": "required", "message": "the annotations to put on Pods"} if {
	some i, patch in spec.patchPodMetadata
	count(object.get(patch, "annotations", {})) == 0
}

# METADATA
# title: The policy of a patch is known
# description: The patchPolicy of every item of patchPodMetadata is Retain, Overwrite or MergePatchJson.
# custom:
#   id: sidecarset-patch-policy
deny contains {"rule": "sidecarset-patch-policy", "field": sprintf("%s.patchPolicy", [patch_field(i)]), "type": "unsupported", "value": patch.patchPolicy, "message": message} if {
	some i, patch in spec.patchPodMetadata
	not patch.patchPolicy in {"", "MergePatchJson", "Overwrite", "Retain"}
	message := `supported values: "MergePatchJson", "Overwrite", "Retain"`
}

# METADATA
# title: Keys of patches are valid
# description: The keys of patchPodMetadata are those of annotations.
# custom:
#   id: sidecarset-patch-key-valid
deny contains {"rule": "sidecarset-patch-key-valid", "field": sprintf("%s.annotations", [patch_field(i)]), "type": "invalid", "value": key, "message": problem} if {
	some i, patch in spec.patchPodMetadata
	some key, _ in patch.annotations
	some problem in fairlead.qualified_name_errors(lower(key))
}

# METADATA
# title: Keys of patches are patched once
# description: No key is in two items of patchPodMetadata.
# custom:
#   id: sidecarset-patch-key-duplicate
deny contains {"rule": "sidecarset-patch-key-duplicate", "field": sprintf("%s.annotations[%s]", [patch_field(i), key]), "type": "duplicate", "value": key} if {
	patched := [[i, key] | some i, patch in spec.patchPodMetadata; some key, _ in patch.annotations]
	some n in list.repeated([key | some [_, key] in patched])
	[i, key] := patched[n]
}

# allowed_patterns are the allow-list's regular expressions for this SidecarSet.
allowed_patterns contains pattern if {
	some rule in whitelist.rules
	counts(rule)
	some pattern in rule.allowedAnnotationKeyExprs
}

default whitelist_text := ""

whitelist_text := fairlead.configuration("SidecarSet_PatchPodMetadata_WhiteList") if {
	count(object.get(spec, "patchPodMetadata", [])) > 0
}

default whitelist := {"rules": []}

whitelist := whitelist_decoded

# A list that cannot be read allows nothing, whatever the gate says: it was meant to forbid something.
whitelist_broken if {
	whitelist_text != ""
	not whitelist_readable
}

whitelist_readable if is_array(object.get(whitelist_decoded, "rules", []))

whitelist_decoded := json.unmarshal(whitelist_text)

counts(rule) if not rule.selector

counts(rule) if fairlead.label_selector_matches(rule.selector, labels)

permitted(key) if {
	some pattern in allowed_patterns
	regex.match(pattern, key)
}

permitted(_) if {
	count(allowed_patterns) == 0
	not whitelist_broken
	data.inventory.gates.SidecarSetPatchPodMetadataDefaultsAllowed
}

# METADATA
# title: Keys of patches are allowed
# description: The keys of patchPodMetadata are in the allow-list SidecarSet_PatchPodMetadata_WhiteList of the ConfigMap kruise-configuration; without one, the feature gate SidecarSetPatchPodMetadataDefaultsAllowed allows all.
# custom:
#   id: sidecarset-patch-key-allowed
deny contains {"rule": "sidecarset-patch-key-allowed", "field": sprintf("%s.annotations[%s]", [patch_field(i), key]), "type": "forbidden", "message": message} if {
	some i, patch in spec.patchPodMetadata
	some key, _ in patch.annotations
	not permitted(key)
	message := not_permitted
}

not_permitted := "the allow-list cannot be read: a cluster administrator makes SidecarSet_PatchPodMetadata_WhiteList in ConfigMap kruise-configuration of the release namespace JSON with a list of rules" if {
	whitelist_broken
} else := "the key is not in the allow-list: a cluster administrator adds it to SidecarSet_PatchPodMetadata_WhiteList in ConfigMap kruise-configuration of the release namespace"

conflicts := fairlead.sidecarset_conflicts(input.object, object.get(input, "oldObject", {}))

# METADATA
# title: Container names are free
# description: No other SidecarSet that may select the same Pods has a container of the same name. A canary and its base may share them.
# custom:
#   id: sidecarset-conflict-container
deny contains {"rule": "sidecarset-conflict-container", "field": conflict.field, "type": "duplicate", "value": conflict.name, "message": message} if {
	some conflict in conflicts
	conflict.kind == "containers"
	message := sprintf("SidecarSet %q, which may select the same Pods, has a container of this name", [conflict.other])
}

# METADATA
# title: Names of init containers are free
# description: No other SidecarSet that may select the same Pods has an init container of the same name. A canary and its base may share them.
# custom:
#   id: sidecarset-conflict-init-container
deny contains {"rule": "sidecarset-conflict-init-container", "field": conflict.field, "type": "duplicate", "value": conflict.name, "message": message} if {
	some conflict in conflicts
	conflict.kind == "initContainers"
	message := sprintf("SidecarSet %q, which may select the same Pods, has an init container of this name", [conflict.other])
}

# METADATA
# title: Volumes of one name are equal
# description: No other SidecarSet that may select the same Pods has a volume of the same name with other content.
# custom:
#   id: sidecarset-conflict-volume
deny contains {"rule": "sidecarset-conflict-volume", "field": conflict.field, "type": "invalid", "value": conflict.name, "message": message} if {
	some conflict in conflicts
	conflict.kind == "volumes"
	message := sprintf("SidecarSet %q, which may select the same Pods, has another volume of this name: rename this one or make them equal", [conflict.other])
}

# METADATA
# title: Patched annotations are free
# description: No other SidecarSet that may select the same Pods patches the same annotation, if one of the two overwrites it and none retains it.
# custom:
#   id: sidecarset-conflict-annotation
deny contains {"rule": "sidecarset-conflict-annotation", "field": conflict.field, "type": "invalid", "value": conflict.name, "message": message} if {
	some conflict in conflicts
	conflict.kind == "annotations"
	message := sprintf("SidecarSet %q, which may select the same Pods, patches this annotation too: use patchPolicy Retain, or MergePatchJson in both", [conflict.other])
}
