package disruption

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fairlead-io/fairlead/test/cluster/cluster"
)

const (
	crds     = "../../../charts/kruise/files/crds/apps.kruise.io_sidecarsets.yaml"
	manifest = `
apiVersion: v1
kind: Namespace
metadata: {name: kruise-system}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: kruise-anchor}
---
apiVersion: apps.kruise.io/v1beta1
kind: SidecarSet
metadata: {name: agents}
spec:
  selector: {matchLabels: {app: web}}
  containers: [{name: agent, image: "bank.test/tool:v1"}]
---
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: default, namespace: shop}
`
)

// world is an API server, and the replicas that it reaches through a service.
type world struct {
	*cluster.Cluster
	// whole is the test whose parts share the world: replicas live as long as it.
	whole   *testing.T
	client  *kubernetes.Clientset
	service *service
	started int
	// fleet are the replicas that are meant to run.
	fleet []*replica
}

func newWorld(t *testing.T) *world {
	t.Helper()
	c := cluster.ForTest(t, cluster.Options{Level: cluster.LevelAPIServer})
	client, err := c.Client()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{Cluster: c, whole: t, client: client, service: newService(t)}
	w.kubectl(t, "", "apply", "--server-side", "-f", crds)
	until(t, "SidecarSets are served", func() bool { // kubectl wait fails while there is no condition at all
		_, err := w.Kubectl(t.Context(), "wait", "--for=condition=Established", "--timeout=60s", "-f", crds)
		return err == nil
	})
	w.kubectl(t, manifest, "apply", "-f", "-")
	return w
}

func (w *world) kubectl(t *testing.T, stdin string, args ...string) {
	t.Helper()
	if out, err := w.KubectlInput(t.Context(), strings.NewReader(stdin), args...); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// start runs a replica.
func (w *world) start() *replica {
	w.whole.Helper()
	w.started++
	name := fmt.Sprintf("replica-%d", w.started)
	host, port, err := net.SplitHostPort(w.service.address)
	if err != nil {
		w.whole.Fatal(err)
	}
	env := []string{"POD_NAME=" + name, "WEBHOOK_HOST=" + host, "WEBHOOK_PORT=" + port, "KUBECONFIG=" + w.Kubeconfig()}
	r := start(w.whole, name, env, nil)
	w.service.add(r)
	return r
}

// startFleet runs three replicas at once and waits until all serve.
func (w *world) startFleet(t *testing.T) {
	t.Helper()
	w.fleet = []*replica{w.start(), w.start(), w.start()}
	for _, r := range w.fleet {
		w.untilServing(t, r)
		t.Logf("%s was ready %s after its start", r.name, r.readyAt.Sub(r.started).Round(time.Millisecond))
	}
}

func (w *world) untilServing(t *testing.T, r *replica) {
	t.Helper()
	until(t, r.name+" serves", func() bool {
		if r.gone() {
			t.Fatalf("%s ended: %v", r.name, r.err)
		}
		return w.service.has(r)
	})
}

func (w *world) traffic(t *testing.T) *traffic {
	t.Helper()
	return startTraffic(t, w.client.CoreV1().Pods("shop"))
}

// untilRegistered waits for the first Pod with a sidecar.
func (w *world) untilRegistered(t *testing.T) {
	t.Helper()
	until(t, "a Pod is injected", func() bool {
		dry, err := w.client.CoreV1().Pods("shop").Create(t.Context(), pod(), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && len(dry.Spec.Containers) == 2
	})
}

// swapPolicies changes the SidecarSet each second until the test ends.
func (w *world) swapPolicies(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for version := 2; ctx.Err() == nil; version++ {
			patch := fmt.Sprintf(`[{"op":"replace","path":"/spec/containers/0/image","value":"bank.test/tool:v%d"}]`, version)
			// The API server may be away just then.
			_, _ = w.client.RESTClient().Patch("application/json-patch+json").AbsPath("/apis/apps.kruise.io/v1beta1/sidecarsets/agents").
				Body([]byte(patch)).DoRaw(ctx)
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
}

func (w *world) secret(t *testing.T) *corev1.Secret {
	t.Helper()
	secret, err := w.client.CoreV1().Secrets("kruise-system").Get(t.Context(), "kruise-webhook-certs", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return secret
}
