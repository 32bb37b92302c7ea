package articles

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/test/addresses"
	"github.com/fairlead-io/fairlead/test/cluster/cluster"
	"github.com/fairlead-io/fairlead/test/installation"
	"github.com/fairlead-io/fairlead/webhook/replica"
	"github.com/fairlead-io/fairlead/webhook/table"
)

const (
	chart   = "../../charts/kruise"
	account = "system:serviceaccount:kruise-system:kruise-webhook"
	// patience is for what takes a Lease, which is sought every 2 s, and a busy machine.
	patience = 90 * time.Second
	// around is what the articles take for granted: namespaces, and the Pod whose containers are restarted. No controller is
	// here to make the accounts that Pods need.
	around = `
apiVersion: v1
kind: Namespace
metadata: {name: demo}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: default, namespace: default}
---
apiVersion: v1
kind: Node
metadata: {name: node1}
---
apiVersion: v1
kind: Pod
metadata: {name: pod-name, namespace: default}
spec:
  nodeName: node1
  containers:
  - {name: app, image: nginx}
  - {name: sidecar, image: busybox}
`
	// running is the kubelet's report about that Pod.
	running = `{"status":{"phase":"Running","containerStatuses":[
{"name":"app","containerID":"containerd://a","restartCount":0,"image":"nginx","imageID":"a","ready":true,"state":{"running":{"startedAt":"2026-01-02T03:04:05Z"}}},
{"name":"sidecar","containerID":"containerd://b","restartCount":4,"image":"busybox","imageID":"b","ready":true,"state":{"running":{"startedAt":"2026-01-02T03:04:05Z"}}}]}}`
	// probe has no containers, which only our rules refuse.
	probe = `{apiVersion: apps.kruise.io/v1alpha1, kind: SidecarSet, metadata: {name: probe}, spec: {selector: {matchLabels: {app: probe}}}}`
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard()) // controller-runtime complains of a process that sets none
	os.Exit(m.Run())
}

// world is an API server with the chart, whose admission service runs in the test's process with the rights of its account.
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
	if out, err := c.Helm(t.Context(), "upgrade", "--install", "--no-hooks", installation.Release, chart, "--namespace", "default"); err != nil {
		t.Fatalf("installing the chart: %v: %s", err, out)
	}
	w.serve()
	w.until("rules are asked", func() bool {
		_, err := w.kubectl(probe, "apply", "--dry-run=server", "-f", "-")
		return err != nil && strings.Contains(err.Error(), "at least one container or init container")
	})
	w.must(around, "apply", "-f", "-")
	w.must("", "patch", "pod", "pod-name", "--subresource=status", "--type=merge", "-p", running)
	return w
}

// serve runs a replica until the test ends, which the chart's Services reach.
func (w *world) serve() {
	w.Helper()
	host := addresses.Host(w)
	address := addresses.Free(w, host)
	gates := features.New("")
	if err := gates.Set("ImagePullJobGate=true"); err != nil { // as the chart has it
		w.Fatal(err)
	}
	limited := rest.CopyConfig(w.RESTConfig())
	limited.Impersonate = rest.ImpersonationConfig{
		UserName: account, Groups: []string{"system:serviceaccounts", "system:serviceaccounts:kruise-system", "system:authenticated"},
	}
	run := replica.Cluster{
		REST: limited, Secret: "kruise-webhook-certs", Identity: "replica", ConversionService: "kruise-conversion", PodIP: host,
		Options: replica.Options{
			BindAddress: address, MetricsAddr: "0", Gates: gates, Log: logr.Discard(), AccessLog: io.Discard,
			Table: table.Config{}, ShutdownGrace: time.Second, Version: "test",
		},
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run.Run(ctx) }()
	w.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			w.Errorf("the replica ended with %v", err)
		}
	})
	for _, service := range []string{"kruise-conversion", "kruise-admission"} {
		w.reach(service, address)
	}
}

// reach lets a Service lead to an address.
func (w *world) reach(service, address string) {
	w.Helper()
	slice := addresses.Slice(w, service+"-test", service, address)
	slices := w.client.DiscoveryV1().EndpointSlices(installation.Namespace)
	if _, err := slices.Create(w.Context(), slice, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		if err := slices.Delete(context.Background(), slice.Name, metav1.DeleteOptions{}); err != nil {
			w.Error(err)
		}
	})
}

func (w *world) until(what string, holds func() bool) {
	w.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.Fatalf("not within %s: %s", patience, what)
		}
	}
}

// kubectl is what kubectl says; of a command that fails the error has it. It also works while a test cleans up.
func (w *world) kubectl(stdin string, args ...string) (string, error) {
	w.Helper()
	out, err := w.KubectlInput(context.Background(), strings.NewReader(stdin), args...)
	if err != nil {
		return out, fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return out, nil
}

func (w *world) must(stdin string, args ...string) string {
	w.Helper()
	out, err := w.kubectl(stdin, args...)
	if err != nil {
		w.Fatal(err)
	}
	return out
}

// read returns the object of a manifest, in the manifest's version.
func (w *world) read(file string) (object map[string]any) {
	w.Helper()
	if err := json.Unmarshal([]byte(w.must("", "get", "-f", file, "-o", "json")), &object); err != nil {
		w.Fatal(err)
	}
	return object
}
