//go:build e2e

package e2e

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/test/cluster/cluster"
	"github.com/fairlead-io/fairlead/test/installation"
)

// TestObjectsBeforeTheProduct is a cluster that is built from Git: definitions and objects are there first, undefaulted and
// unjudged, two definitions are missing, and then comes the product. The workloads' own controllers are still to come, so what
// it asserts is what the present ones do: nothing crashes, a Pod of the undefaulted CloneSet gets its sidecar and turns Ready,
// and the definitions that arrive later need no restart.
func TestObjectsBeforeTheProduct(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{Nodes: 1})
	root, err := installation.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	definitions := filepath.Join(root, "charts", "kruise", "files", "crds")
	kubectl(t, c, "apply", "--server-side", "-f", definitions)
	kubectl(t, c, "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
	early := filepath.Join("testdata", "early-objects.yaml")
	kubectl(t, c, "apply", "-f", early)
	missing := []string{"workloadspreads.apps.kruise.io", "nodepodprobes.apps.kruise.io"}
	kubectl(t, c, append([]string{"delete", "crd"}, missing...)...)
	install(t, c, "crds.managed=false")
	earlySidecarIsInjected(t, c)
	for _, name := range missing {
		kubectl(t, c, "apply", "--server-side", "-f", filepath.Join(definitions, definitionFile(name)))
	}
	// Applying everything once more now meets defaulting and, as it comes, validation.
	kubectl(t, c, "apply", "-f", early)
	earlySidecarHasItsHash(t, c)
	nothingCrashed(t, c)
}

func definitionFile(crd string) string {
	plural, group, _ := strings.Cut(crd, ".")
	return group + "_" + plural + ".yaml"
}

// earlySidecarIsInjected looks at the CloneSet's very first Pod, which its controller has held back until the webhooks were there.
func earlySidecarIsInjected(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	kubectl(t, c, "-n", "early", "wait", "clone", "pool", "--for=jsonpath={.status.readyReplicas}=1", "--timeout=2m")
	pod := earlyPod(t, c)
	names := kubectl(t, c, "-n", "early", "get", pod, "-o", "jsonpath={.spec.containers[*].name}")
	if want := "side c"; names != want {
		t.Errorf("the Pod has the containers %q, want %q: the default of podInjectPolicy is BeforeAppContainer", names, want)
	}
	hashes := kubectl(t, c, "-n", "early", "get", pod, "-o", `jsonpath={.metadata.annotations.kruise\.io/sidecarset-hash}`)
	if !strings.HasPrefix(hashes, `{"early":{`) || strings.Contains(hashes, `"hash":""`) {
		t.Errorf("the Pod's hash annotation is %s, want an entry of SidecarSet early with a hash", hashes)
	}
}

func earlyPod(t *testing.T, c *cluster.Cluster) string {
	t.Helper()
	pods := strings.Fields(kubectl(t, c, "-n", "early", "get", "pods", "-l", "app=pool", "-o", "name"))
	if len(pods) != 1 {
		t.Fatalf("the CloneSet has the Pods %v, want 1", pods)
	}
	return pods[0]
}

// earlySidecarHasItsHash checks that the undefaulted SidecarSet gets, at its first update, the hash that its Pod recorded
// before.
func earlySidecarHasItsHash(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	kubectl(t, c, "label", "sidecarset", "early", "seen=yes")
	hash := kubectl(t, c, "get", "sidecarset", "early", "-o", `jsonpath={.metadata.annotations.kruise\.io/sidecarset-hash}`)
	recorded := kubectl(t, c, "-n", "early", "get", earlyPod(t, c), "-o", `jsonpath={.metadata.annotations.kruise\.io/sidecarset-hash}`)
	if hash == "" || !strings.Contains(recorded, `"hash":"`+hash+`"`) {
		t.Errorf("SidecarSet early has the hash %q, its Pod recorded %s", hash, recorded)
	}
}

// nothingCrashed watches for a while, since a controller that meets what it does not expect may take a sync to fall.
func nothingCrashed(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Second) {
		restarts := kubectl(t, c, "-n", installation.Namespace, "get", "pods", "-o", "jsonpath={.items[*].status.containerStatuses[*].restartCount}")
		if strings.Trim(restarts, "0 ") != "" {
			t.Fatalf("Pods of the product were restarted: %s", restarts)
		}
	}
	for _, plane := range []string{"kruise-webhook", "controller-manager"} {
		// By their label, because kubectl 1.30 reads the logs of one Pod of a Deployment only.
		logs := kubectl(t, c, "-n", installation.Namespace, "logs", "-l", "control-plane="+plane, "--tail=-1")
		for line := range strings.Lines(logs) {
			if strings.Contains(line, "panic") || strings.Contains(line, "nil pointer") {
				t.Errorf("%s logs %s", plane, line)
			}
		}
	}
}
