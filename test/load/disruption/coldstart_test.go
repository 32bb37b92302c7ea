//go:build load

package disruption

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"
)

const (
	sidecarSets, namespaces = 10000, 2000
	coldStartCap            = 10 * time.Second
	// atOnce is how many of them are created side by side.
	atOnce = 16
)

// TestColdStart has a replica start on one core in a cluster with many SidecarSets and namespaces.
func TestColdStart(t *testing.T) {
	w := newWorld(t)
	began := time.Now()
	if err := fill(t.Context(), w.client); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d SidecarSets and %d namespaces were made in %s", sidecarSets, namespaces, time.Since(began).Round(time.Second))
	host, port, err := net.SplitHostPort(w.service.address)
	if err != nil {
		t.Fatal(err)
	}
	env := []string{
		"GOMAXPROCS=1", "POD_NAME=cold", "WEBHOOK_HOST=" + host, "WEBHOOK_PORT=" + port, "KUBECONFIG=" + w.Kubeconfig(),
	}
	for _, what := range []string{"first, which makes the CA and registers", "second"} {
		r := start(t, "cold", env, oneCore(t))
		w.service.add(r)
		until(t, "the replica is ready", r.ready.Load)
		took := r.readyAt.Sub(r.started)
		usage, err := usageOf(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("the %s: ready after %s, of which %s on the processor; %d MiB resident", what, took.Round(10*time.Millisecond), usage.cpu, usage.resident>>20)
		if took > coldStartCap {
			t.Errorf("the %s replica was ready after %s, want %s", what, took, coldStartCap)
		}
		until(t, "connections go to it", func() bool { return w.service.has(r) })
		w.untilRegistered(t)
		r.terminate(t)
	}
}

// oneCore is the command that keeps a program on one core, if this machine has it.
func oneCore(t *testing.T) []string {
	path, err := exec.LookPath("taskset")
	if err != nil {
		t.Log("there is no taskset; the replica is kept to one core by GOMAXPROCS alone")
		return nil
	}
	return []string{path, "-c", "0"}
}

// fill makes the objects.
func fill(ctx context.Context, client *kubernetes.Clientset) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	create := func(path, body string) {
		group.Go(func() error {
			return client.RESTClient().Post().AbsPath(path).SetHeader("Content-Type", "application/json").Body([]byte(body)).Do(ctx).Error()
		})
	}
	for i := range namespaces {
		create("/api/v1/namespaces", fmt.Sprintf(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"tenant-%d","labels":{"team":"team-%d"}}}`, i, i%50))
	}
	for i := range sidecarSets {
		create("/apis/apps.kruise.io/v1beta1/sidecarsets", fmt.Sprintf(sidecarSet, i, i, i%50, i, i, i))
	}
	return group.Wait()
}

// sidecarSet is one of many, of the usual size: a container with a volume, some environment and limits.
const sidecarSet = `{"apiVersion":"apps.kruise.io/v1beta1","kind":"SidecarSet","metadata":{"name":"many-%d"},"spec":{
	"selector":{"matchLabels":{"app":"app-%d"}},"namespaceSelector":{"matchLabels":{"team":"team-%d"}},
	"updateStrategy":{"type":"NotUpdate"},
	"containers":[{"name":"agent-%d","image":"bank.test/tool:v1","command":["/agent"],"args":["--config=/etc/agent/config.yaml"],
		"env":[{"name":"NODE","valueFrom":{"fieldRef":{"fieldPath":"spec.nodeName"}}}],
		"resources":{"limits":{"cpu":"200m","memory":"128Mi"}},
		"volumeMounts":[{"name":"buffer-%d","mountPath":"/buf"}],
		"podInjectPolicy":"BeforeAppContainer","shareVolumePolicy":{"type":"disabled"},"upgradeStrategy":{"upgradeType":"ColdUpgrade"}}],
	"volumes":[{"name":"buffer-%d","emptyDir":{}}]}}`
