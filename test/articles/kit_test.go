package articles

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fairlead-io/fairlead/test/addresses"
	"github.com/fairlead-io/fairlead/test/inprocess"
	"github.com/fairlead-io/fairlead/test/installation"
)

const (
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
	inprocess.World
	client *kubernetes.Clientset
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{World: inprocess.NewWorld(t)}
	var err error
	if w.client, err = w.Client(); err != nil {
		t.Fatal(err)
	}
	if out, err := w.Helm(t.Context(), "upgrade", "--install", "--no-hooks", installation.Release, w.Chart(), "--namespace", "default"); err != nil {
		t.Fatalf("installing the chart: %v: %s", err, out)
	}
	w.serve()
	w.Until("rules are asked", func() bool {
		_, err := w.Try(probe, "apply", "--dry-run=server", "-f", "-")
		return err != nil && strings.Contains(err.Error(), "at least one container or init container")
	})
	w.Must(around, "apply", "-f", "-")
	w.Must("", "patch", "pod", "pod-name", "--subresource=status", "--type=merge", "-p", running)
	return w
}

// serve runs a replica until the test ends, which the chart's Services reach.
func (w *world) serve() {
	w.Helper()
	host := addresses.Host(w)
	address := addresses.Free(w, host)
	run := w.Replica(address, "ImagePullJobGate=true") // as the chart has it
	run.ConversionService, run.PodIP = "kruise-conversion", host
	w.Part("the replica", run.Run)
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

// read returns the object of a manifest, in the manifest's version.
func (w *world) read(file string) (object map[string]any) {
	w.Helper()
	if err := json.Unmarshal([]byte(w.Must("", "get", "-f", file, "-o", "json")), &object); err != nil {
		w.Fatal(err)
	}
	return object
}
