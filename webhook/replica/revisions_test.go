package replica

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Files hold revisions too, in the namespace that is ours in a cluster; others with the name are none of ours.
func TestStandaloneInjectsRevisions(t *testing.T) {
	const revision = `
apiVersion: apps/v1
kind: ControllerRevision
metadata: {name: agents-1, namespace: kruise-system, labels: {kruise.io/sidecarset-name: agents, apps.kruise.io/sidecarset-custom-version: v1}}
revision: 1
data: {spec: {$patch: replace, containers: [{name: older, image: "bank.test/tool:v0"}]}}
`
	asking := strings.Replace(sidecarSet, "  containers:", "  injectionStrategy: {revision: {customVersion: v1}}\n  containers:", 1)
	elsewhere := strings.NewReplacer("kruise-system", "shop", "older", "stranger").Replace(revision)
	a := startAlone(t, map[string]string{"a.yaml": asking, "b.yaml": revision, "c.yaml": elsewhere})
	if diff := cmp.Diff([]string{"older", "web"}, a.containers(t)); diff != "" {
		t.Errorf("the first request after readiness: %s", diff)
	}
	a.write(t, "b.yaml", strings.Replace(revision, "older", "oldest", 1))
	a.expectContainers(t, "oldest", "web")
}
