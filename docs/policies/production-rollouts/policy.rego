# METADATA
# title: The release team changes production
# description: >-
#   In the namespaces that settings select, or parameters name, nobody else changes how Pods of a workload look and how they are
#   replaced. Scaling is for everyone who may.
# custom:
#   match:
#     - apiGroups: [apps]
#       apiVersions: [v1]
#       resources: [deployments, statefulsets, daemonsets]
#       operations: [UPDATE]
#     - apiGroups: [apps.kruise.io]
#       apiVersions: [v1alpha1, v1beta1]
#       resources: [clonesets, statefulsets, daemonsets, uniteddeployments]
#       operations: [UPDATE]
package production_rollouts

request := input.request

groups := {group | some group in object.get(data.parameters, "groups", [])}

users := {user | some user in object.get(data.parameters, "users", [])}

# namespaces are patterns such as shop-*; none is all that namespaceSelector lets through.
namespaces := object.get(data.parameters, "namespaces", [])

# METADATA
# title: Only the release team changes rollouts
# custom:
#   id: production-rollouts
deny contains {"field": sprintf("spec.%s", [member]), "message": message} if {
	production
	not released
	some member in ["template", "updateStrategy", "strategy", "paused", "topology", "volumeClaimTemplates"]
	object.get(request.object.spec, member, null) != object.get(request.oldObject.spec, member, null)
	message := sprintf("%s is in none of the groups that may change rollouts in %s: %s", [request.userInfo.username, request.namespace, concat(", ", groups)])
}

production if count(namespaces) == 0

production if {
	some pattern in namespaces
	glob.match(pattern, [], request.namespace)
}

released if request.userInfo.username in users

released if {
	some group in object.get(request.userInfo, "groups", [])
	group in groups
}
