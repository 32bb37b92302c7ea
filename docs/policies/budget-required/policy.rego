# METADATA
# title: Larger workloads have a budget
# description: >-
#   A workload with more replicas than parameters say has a PodUnavailableBudget: one that names it as its target, or that selects
#   the Pods of its template.
# custom:
#   match:
#     - apiGroups: [apps]
#       apiVersions: [v1]
#       resources: [deployments, statefulsets]
#     - apiGroups: [apps.kruise.io]
#       apiVersions: [v1alpha1, v1beta1]
#       resources: [clonesets, statefulsets]
package budget_required

request := input.request

workload := request.object

most := object.get(data.parameters, "replicas", 2)

# METADATA
# title: There is a budget
# custom:
#   id: budget-required
deny contains {"field": "spec.replicas", "message": message} if {
	workload.spec.replicas > most
	not scaled_down
	count(budgets) == 0
	message := sprintf("%d replicas need a PodUnavailableBudget in the namespace %s that names this %s or selects its Pods", [workload.spec.replicas, request.namespace, request.kind.kind])
}

# Fewer replicas than before are no reason to refuse.
scaled_down if request.oldObject.spec.replicas > workload.spec.replicas

budgets contains name if {
	some name, budget in data.inventory.namespace[request.namespace]["policy.kruise.io/v1beta1"].PodUnavailableBudget
	protects(budget.spec)
}

protects(spec) if {
	spec.targetRef.kind == request.kind.kind
	spec.targetRef.name == workload.metadata.name
	split(spec.targetRef.apiVersion, "/")[0] == request.kind.group
}

protects(spec) if {
	spec.selector
	every key, value in object.get(spec.selector, "matchLabels", {}) {
		labels[key] == value
	}
	every requirement in object.get(spec.selector, "matchExpressions", []) {
		meets(requirement)
	}
}

labels := object.get(workload, ["spec", "template", "metadata", "labels"], {})

meets(requirement) if {
	requirement.operator == "In"
	labels[requirement.key] in requirement.values
}

meets(requirement) if {
	requirement.operator == "NotIn"
	not object.get(labels, requirement.key, null) in requirement.values
}

meets(requirement) if {
	requirement.operator == "Exists"
	requirement.key in object.keys(labels)
}

meets(requirement) if {
	requirement.operator == "DoesNotExist"
	not requirement.key in object.keys(labels)
}
