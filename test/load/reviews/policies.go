package reviews

import (
	"encoding/json"
	"fmt"
	"strings"
)

// PoliciesPath is where the set of Policies is served.
const PoliciesPath = "/policies/bench"

// concerning are rules as users write them for Pods. They find nothing in Matched, and the label of Unmatched.
const concerning = `
# METADATA
# custom: {id: registry, match: [{apiGroups: [""], resources: [pods]}]}
deny contains msg if {
	some container in input.request.object.spec.containers
	some registry in data.parameters.forbidden
	startswith(container.image, registry)
	msg := sprintf("%s comes from %s", [container.image, registry])
}

# METADATA
# custom: {id: tag, match: [{apiGroups: [""], resources: [pods]}]}
deny contains {"message": sprintf("%s moves", [container.image]), "field": sprintf("spec.containers[%d].image", [i])} if {
	some i, container in input.request.object.spec.containers
	endswith(container.image, ":latest")
}

# METADATA
# custom: {id: label, match: [{apiGroups: [""], resources: [pods]}]}
deny contains "nobody is alone" if input.request.object.metadata.labels.app == "alone"
`

// Policies is a ConfigMap with a set of rules, of which three concern Pods and each of the others a kind of its own.
func Policies(others int) json.RawMessage {
	resources := append(make([]string, 0, 1+others), "pods")
	var rest strings.Builder
	for i := range others {
		resource := fmt.Sprintf("things%d", i)
		resources = append(resources, resource)
		fmt.Fprintf(&rest, `
# METADATA
# custom: {id: other-%d, match: [{apiGroups: [""], resources: [%s]}]}
deny contains msg if {
	some name, value in input.request.object.metadata.annotations
	regex.match("^[0-9]+$", value)
	msg := sprintf("%%s of thing %d is a number: %%s", [name, value])
}
`, i, resource, i)
	}
	module := "# METADATA\n# scope: package\n# custom: {match: [{apiGroups: [\"\"], resources: [" + strings.Join(resources, ", ") + "]}]}\npackage bench\n"
	return encode(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "bench", "namespace": "kruise-system", "labels": map[string]string{"fairlead.io/policy": "true"}},
		"data": map[string]string{
			"bench.rego": module + concerning + rest.String(), "settings.yaml": "parameters: {forbidden: [evil.example.com/, old.example.com/]}\n",
		},
	})
}
