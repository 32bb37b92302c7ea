package validation

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/kubernetes"

	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/test/addresses"
	"github.com/fairlead-io/fairlead/test/cluster/cluster"
	"github.com/fairlead-io/fairlead/webhook/replica"
	"github.com/fairlead-io/fairlead/webhook/table"
)

const (
	crds = "../../charts/kruise/files/crds"
	// patience is for what takes a Lease, which is sought every 2 s, and a busy machine.
	patience = 60 * time.Second
	base     = `
apiVersion: v1
kind: Namespace
metadata: {name: kruise-system}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kruise-configuration, namespace: kruise-system}
data:
  SidecarSet_PatchPodMetadata_WhiteList: '{"rules":[{"allowedAnnotationKeyExprs":["^ok/"]}]}'
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: kruise-anchor}
`
)

// world is an API server with the admission service.
type world struct {
	*testing.T
	*cluster.Cluster
	client *kubernetes.Clientset
}

func newWorld(t *testing.T) *world {
	t.Helper()
	c := cluster.ForTest(t, cluster.Options{Level: cluster.LevelAPIServer})
	client, err := c.Client()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, Cluster: c, client: client}
	w.must("", "apply", "--server-side", "-f", crds)
	w.must("", "wait", "--for=condition=Established", "--timeout=60s", "-f", crds)
	w.must(base, "apply", "-f", "-")
	w.serve()
	return w
}

// serve runs the service, and waits until the API server asks it about SidecarSets.
func (w *world) serve() {
	w.Helper()
	address := addresses.Free(w, addresses.Loopback)
	gates := features.New("")
	if err := gates.Set("ImagePullJobGate=true,ResourceDistributionGate=true"); err != nil {
		w.Fatal(err)
	}
	run := replica.Cluster{
		REST: w.RESTConfig(), Secret: "kruise-webhook-certs", Identity: "replica",
		Options: replica.Options{
			BindAddress: address, Gates: gates, Log: logr.Discard(), AccessLog: io.Discard,
			Table: table.Config{Host: address}, ShutdownGrace: 5 * time.Second,
		},
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run.Run(ctx) }()
	w.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			w.Error(err)
		}
	})
	w.until("rules are asked", func() bool {
		_, err := w.kubectl(sidecarSet("probe", "{}", ""), "apply", "--dry-run=server", "-f", "-")
		return err != nil && strings.Contains(err.Error(), "at least one container or init container")
	})
}

func (w *world) until(what string, holds func() bool) {
	w.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.Fatalf("not within %s: %s", patience, what)
		}
	}
}

func (w *world) kubectl(stdin string, args ...string) (string, error) {
	return w.KubectlInput(w.Context(), strings.NewReader(stdin), args...)
}

func (w *world) must(stdin string, args ...string) string {
	w.Helper()
	out, err := w.kubectl(stdin, args...)
	if err != nil {
		w.Fatalf("kubectl %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return out
}

// refused runs kubectl, which must fail and say all of want.
func (w *world) refused(t *testing.T, stdin string, args []string, want ...string) {
	t.Helper()
	out, err := w.kubectl(stdin, args...)
	if err == nil {
		t.Fatalf("kubectl %s is accepted: %s", strings.Join(args, " "), out)
	}
	for _, part := range want {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("kubectl %s: %v; want %q in it", strings.Join(args, " "), err, part)
		}
	}
}

// read returns a SidecarSet as the version shows it.
func (w *world) read(version, name string) (object map[string]any) {
	w.Helper()
	out := w.must("", "get", "sidecarsets."+version+".apps.kruise.io", name, "-o", "json")
	if err := json.Unmarshal([]byte(out), &object); err != nil {
		w.Fatal(err)
	}
	return object
}

// sidecarSet is a manifest with a spec, as YAML without braces of its own, beside a selector.
func sidecarSet(name, annotations, spec string) string {
	return "apiVersion: apps.kruise.io/v1beta1\nkind: SidecarSet\nmetadata: {name: " + name + ", annotations: " + annotations + "}\n" +
		"spec:\n  selector: {matchLabels: {app: " + name + "}}\n" + spec
}
