package validation

import (
	"fmt"
	"testing"
)

const neighbours = `
apiVersion: v1
kind: Namespace
metadata: {name: near}
---
apiVersion: apps.kruise.io/v1beta1
kind: CloneSet
metadata: {name: web, namespace: near}
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: "bank.test/web:v1"}]}}
`

func spread(name, target string) string {
	return fmt.Sprintf(`{apiVersion: apps.kruise.io/v1beta1, kind: WorkloadSpread, metadata: {name: %s, namespace: near},
spec: {targetRef: {apiVersion: apps.kruise.io/v1beta1, kind: CloneSet, name: %s}, subsets: [{name: a, maxReplicas: 1}]}}`, name, target)
}

func selectingBudget(name, app string) string {
	return fmt.Sprintf(`{apiVersion: policy.kruise.io/v1beta1, kind: PodUnavailableBudget, metadata: {name: %s, namespace: near},
spec: {selector: {matchLabels: {app: %s}}, maxUnavailable: 1}}`, name, app)
}

// neighboursCount creates, deletes and replaces objects that compete, each step at once after the one before it: the watch of the
// service may be behind.
func neighboursCount(t *testing.T, w *world) {
	w.Must(neighbours, "apply", "-f", "-")
	for _, kind := range []struct {
		plural string
		object func(name, of string) string
		words  string
	}{
		{"workloadspreads.apps.kruise.io", spread, `WorkloadSpread "first" has this target already`},
		{"podunavailablebudgets.policy.kruise.io", selectingBudget, `first`},
	} {
		for range 5 {
			w.Must(kind.object("first", "web"), "create", "-f", "-")
			w.Refused(kind.object("second", "web"), []string{"create", "-f", "-"}, kind.words)
			w.Must(kind.object("third", "other"), "create", "-f", "-")
			w.Must("", "-n", "near", "delete", kind.plural, "first", "third")
		}
	}
}
