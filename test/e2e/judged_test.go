//go:build e2e

package e2e

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/test/cluster/cluster"
)

// refused runs kubectl, which has to fail with all of the words in its message.
func refused(t *testing.T, c *cluster.Cluster, words []string, args ...string) {
	t.Helper()
	_, err := c.Kubectl(t.Context(), args...)
	if err == nil {
		t.Errorf("kubectl %s succeeded, want a refusal with %q", strings.Join(args, " "), words)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("kubectl %s: %v, want %q in it", strings.Join(args, " "), err, word)
		}
	}
}

// labelsProtect deletes what the label of deletion protection holds, and what it does not, each first as a dry run, which is
// judged the same. The CloneSet names its replicas, since nothing defaults them yet.
func labelsProtect(t *testing.T, c *cluster.Cluster) {
	kubectl(t, c, "apply", "-f", filepath.Join("testdata", "protected-objects.yaml"))
	kubectl(t, c, "-n", "dp-empty", "wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/finished", "--timeout=2m")
	kubectl(t, c, "-n", "dp-claims", "wait", "--for=jsonpath={.status.phase}=Bound", "pvc/bound", "--timeout=1m")
	for _, mode := range []string{"--dry-run=server", "--wait=false"} {
		refused(t, c, []string{"Forbidden", "policy.kruise.io/delete-protection=Cascading", "1>0"}, "delete", "ns", "dp-claims", mode)
		kubectl(t, c, "delete", "ns", "dp-empty", mode)
		kubectl(t, c, "delete", "ns", "dp-typo", mode)
		refused(t, c, []string{"policy.kruise.io/delete-protection=Always"}, "-n", "dp-work", "delete", "deploy", "-l", "tier=web", mode)
		refused(t, c, []string{"Cascading", "replicas 1>0"}, "-n", "dp-work", "delete", "clone", "one", mode)
		refused(t, c, []string{"Always"}, "-n", "dp-work", "delete", "svc", "front", "back", mode)
	}
	kubectl(t, c, "-n", "dp-work", "scale", "clone", "one", "--replicas=0")
	kubectl(t, c, "-n", "dp-work", "delete", "clone", "one")
	left := kubectl(t, c, "-n", "dp-work", "get", "deploy,svc", "-o", "name")
	if want := "deployment.apps/keep\nservice/front"; strings.TrimSpace(left) != want {
		t.Errorf("what is left is %q, want %q", left, want)
	}
	namespaceWaitsForItsProtectedObjects(t, c)
}

// namespaceWaitsForItsProtectedObjects: a namespace without the label can be deleted, but what is protected in it stays, and
// the namespace says why, until the labels go.
func namespaceWaitsForItsProtectedObjects(t *testing.T, c *cluster.Cluster) {
	kubectl(t, c, "-n", "dp-work", "create", "configmap", "plain")
	kubectl(t, c, "delete", "ns", "dp-work", "--wait=false")
	const says = "jsonpath={.status.conditions[?(@.type=='NamespaceDeletionContentFailure')].message}"
	deadline := time.Now().Add(soon)
	for !strings.Contains(kubectl(t, c, "get", "ns", "dp-work", "-o", says), "delete-protection") {
		if time.Now().After(deadline) {
			t.Fatalf("the namespace's condition does not quote the protection: %s", kubectl(t, c, "get", "ns", "dp-work", "-o", says))
		}
		time.Sleep(time.Second)
	}
	kubectl(t, c, "-n", "dp-work", "label", "deploy/keep", "svc/front", "policy.kruise.io/delete-protection-")
	kubectl(t, c, "wait", "--for=delete", "ns/dp-work", "--timeout=60s")
}

// restartIsCaptured asks for a restart of a container that really runs, in the old version, and reads it in the new one.
func restartIsCaptured(t *testing.T, c *cluster.Cluster) {
	apply(t, c, `
apiVersion: apps.kruise.io/v1alpha1
kind: ContainerRecreateRequest
metadata: {name: restart, namespace: default}
spec: {podName: ordered, containers: [{name: second}]}
`)
	captured := kubectl(t, c, "get", "containerrecreaterequests.v1beta1.apps.kruise.io", "restart", "-o", "jsonpath={.spec.containers[0].statusContext.containerID}")
	running := kubectl(t, c, "get", "pod", "ordered", "-o", "jsonpath={.status.containerStatuses[?(@.name=='second')].containerID}")
	if captured != running || captured == "" {
		t.Errorf("captured %q, the container that runs is %q", captured, running)
	}
	refused(t, c, []string{"no-such-pod"}, "create", "-f", filepath.Join("testdata", "restart-of-no-pod.yaml"))
}

// mistakesAreNamed applies a SidecarSet with three mistakes, which one answer names by their fields.
func mistakesAreNamed(t *testing.T, c *cluster.Cluster) {
	refused(t, c, []string{
		"spec.containers[0].volumeMounts[0].name", "undeclared", "hotUpgradeEmptyImage", "partition and selector",
	}, "apply", "-f", filepath.Join("..", "..", "docs", "examples", "judged", "refused-sidecarset.yaml"))
}
