package native

import (
	"fmt"
	"slices"
)

func sorted(texts []string) []string { return slices.Sorted(slices.Values(texts)) }

// unitedDeployment is that subsets stay where they are, and what of the template of a StatefulSet stays.
func unitedDeployment() []problem {
	all := fixed("uniteddeployment-selector-immutable", changed, "", "spec.selector")
	all = append(all, templates("advancedStatefulSetTemplate", onlyMayChange("template", "updateStrategy"), "ordinals", "reserveOrdinals")...)
	all = append(all, templates("statefulSetTemplate",
		onlyMayChange("minReadySeconds", "ordinals", "persistentVolumeClaimRetentionPolicy", "template", "updateStrategy"))...)
	return append(all, subsets("nodeSelectorTerm", "{}"), subsets("tolerations", "[]"))
}

// templates are the mistakes of changing a template of a StatefulSet, where the object was one of it and still is. Claim
// templates, which are filled in, and what the service fills in of other members, are not compared.
func templates(kind, detail string, more ...string) (all []problem) {
	const rule = "uniteddeployment-template-immutable"
	at := "spec.template." + kind
	both := path("object", at) + ".hasValue() && " + path("oldObject", at) + ".hasValue() && "
	conditions := map[string]string{
		"podManagementPolicy":  differs(at+".spec.podManagementPolicy", `"OrderedReady"`),
		"replicas":             given(at + ".spec.replicas"),
		"revisionHistoryLimit": given(at + ".spec.revisionHistoryLimit"),
		"selector":             differs(at+".spec.selector", ""),
		"serviceName":          differs(at+".spec.serviceName", `""`),
	}
	for _, member := range more {
		conditions[member] = given(at + ".spec." + member)
	}
	for _, member := range sorted(keys(conditions)) {
		all = append(all, when(rule, both+conditions[member], quoted(at+".spec."+member+": Forbidden: "+detail)))
	}
	return all
}

func keys(of map[string]string) (all []string) {
	for key := range of {
		all = append(all, key)
	}
	return all
}

// subsets is that a member of subsets stays.
func subsets(member, nothing string) problem {
	const here, there = "object.?spec.?topology.?subsets.orValue([])", "oldObject.?spec.?topology.?subsets.orValue([])"
	value := func(of string) string { return fmt.Sprintf("dyn(%s).?%s.orValue(%s)", of, member, nothing) }
	return problem{"uniteddeployment-subset-immutable", fmt.Sprintf(
		`%s.filter(s, %s.exists(o, o.name == s.name && %s != %s)).map(s, "spec.topology.subsets[" + string(%s.map(n, n.name).indexOf(s.name)) + %s)`,
		here, there, value("o"), value("s"), here, quoted("]."+member+": Forbidden: cannot be changed: add a subset of another name"))}
}
