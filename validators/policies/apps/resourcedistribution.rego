# METADATA
# title: ResourceDistribution
# description: What a ResourceDistribution must be, in either version (more-controllers.md §4).
# custom:
#   kinds: [ResourceDistribution]
package fairlead.apps.resourcedistribution

import data.fairlead.shared.selector

spec := object.get(input.object, "spec", {})

old := object.get(input, ["oldObject", "spec"], {})

namespace := object.get(input.object, ["metadata", "namespace"], "")

name := object.get(input.object, ["metadata", "name"], "")

resource := object.get(spec, "resource", {})

old_resource := object.get(old, "resource", {})

kinds := {"ConfigMap": "configmaps", "Secret": "secrets"}

known if {
	kinds[resource.kind]
	resource.apiVersion == "v1"
}

targets := object.get(spec, "targets", {})

# named are the lists of namespaces, by member.
named[member] := [object.get(entry, "name", "") | some entry in targets[member].list] if some member in ["excludedNamespaces", "includedNamespaces"]

# METADATA
# title: The kind is switched on
# description: The feature gate ResourceDistributionGate is on.
# custom:
#   id: resourcedistribution-gate
#   code: 403
deny contains {"rule": "resourcedistribution-gate", "field": "spec", "type": "forbidden", "message": sprintf("the feature gate %s is off", [gate])} if {
	some gate in ["ResourceDistributionGate"]
	not data.inventory.gates[gate]
}

# METADATA
# title: A Secret or ConfigMap is distributed
# description: spec.resource is a whole Secret or ConfigMap of version v1.
# custom:
#   id: resourcedistribution-kind
deny contains {"rule": "resourcedistribution-kind", "field": "spec.resource", "type": "invalid", "value": resource_kind, "message": "must be a Secret or a ConfigMap of apiVersion v1, whole, with a name"} if {
	not known
}

resource_kind := sprintf("%v %v", [object.get(resource, "apiVersion", ""), object.get(resource, "kind", "")])

# METADATA
# title: The resource has a name
# description: spec.resource.metadata.name is not empty.
# custom:
#   id: resourcedistribution-name
deny contains {"rule": "resourcedistribution-name", "field": "spec.resource.metadata.name", "type": "required", "message": "the name of the resource in every namespace"} if {
	known
	object.get(resource, ["metadata", "name"], "") == ""
}

judged := {"errors": [], "warnings": []} if {
	resource == old_resource
} else := fairlead.object_problems("spec.resource", kinds[resource.kind], resource) if {
	known
	object.get(resource, ["metadata", "name"], "") != ""
} else := {"errors": [], "warnings": []}

warn contains warning if some warning in judged.warnings

# METADATA
# title: The resource can be created
# description: spec.resource is judged by the API server.
# custom:
#   id: resourcedistribution-resource
deny contains object.union(problem, {"rule": "resourcedistribution-resource"}) if {
	some problem in judged.errors
}

# METADATA
# title: The resource stays what it is
# description: An update changes neither apiVersion nor kind nor name of spec.resource.
# custom:
#   id: resourcedistribution-immutable
deny contains {"rule": "resourcedistribution-immutable", "field": sprintf("spec.resource.%s", [concat(".", path)]), "type": "forbidden", "message": "cannot be changed: create another ResourceDistribution"} if {
	input.operation == "UPDATE"
	some path in [["apiVersion"], ["kind"], ["metadata", "name"]]
	object.get(resource, path, "") != object.get(old_resource, path, "")
}

# METADATA
# title: Namespaces are named
# description: The names in spec.targets are those of namespaces.
# custom:
#   id: resourcedistribution-namespace
deny contains {"rule": "resourcedistribution-namespace", "field": sprintf("spec.targets.%s.list[%d].name", [member, i]), "type": "invalid", "value": namespace_, "message": message} if {
	some member, list in named
	some i, namespace_ in list
	message := fairlead.dns_label_error(namespace_)
	message != ""
}

# METADATA
# title: Namespaces are in or out
# description: No namespace is in spec.targets.includedNamespaces and in spec.targets.excludedNamespaces.
# custom:
#   id: resourcedistribution-both
deny contains {"rule": "resourcedistribution-both", "field": sprintf("spec.targets.excludedNamespaces.list[%d].name", [i]), "type": "invalid", "value": namespace_, "message": "is included too: remove it from one of the lists"} if {
	some i, namespace_ in named.excludedNamespaces
	namespace_ in included
}

included := {name_ | some name_ in named.includedNamespaces}

# METADATA
# title: The selector is valid
# description: spec.targets.namespaceSelector, namespaceLabelSelector in v1alpha1, is a valid label selector.
# custom:
#   id: resourcedistribution-selector
deny contains object.union(problem, {"rule": "resourcedistribution-selector"}) if {
	some member in ["namespaceLabelSelector", "namespaceSelector"]
	some problem in selector.valid(sprintf("spec.targets.%s", [member]), targets[member])
}
