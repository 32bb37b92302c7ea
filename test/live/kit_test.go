package live

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/test/addresses"
	"github.com/fairlead-io/fairlead/test/cluster/cluster"
	"github.com/fairlead-io/fairlead/webhook/replica"
	"github.com/fairlead-io/fairlead/webhook/table"
)

const (
	chart   = "../../charts/kruise"
	crds    = chart + "/files/crds/apps.kruise.io_"
	account = "system:serviceaccount:kruise-system:kruise-webhook"
	gates   = "DeletionProtectionForCRDCascadingGate=true"
	// patience is for what takes a Lease, which is sought every 2 s, and a busy machine.
	patience = 90 * time.Second
	base     = `
apiVersion: v1
kind: Namespace
metadata: {name: kruise-system}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: kruise-anchor}
`
	// canary is protected, so that deleting it shows whether our webhooks are in force.
	canary = `
apiVersion: v1
kind: Service
metadata: {name: canary, namespace: default, labels: {policy.kruise.io/delete-protection: Always}}
spec: {ports: [{port: 80}]}
`
)

// world is an API server with the admission service, which has the rights of the chart and no others.
type world struct {
	*testing.T
	*cluster.Cluster
	client  *kubernetes.Clientset
	metrics string
	log     string // the folder of the audit log
}

func newWorld(t *testing.T) *world {
	t.Helper()
	c := cluster.ForTest(t, cluster.Options{Level: cluster.LevelAPIServer})
	client, err := c.Client()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, Cluster: c, client: client, log: t.TempDir()}
	for _, kind := range []string{"sidecarsets", "clonesets", "containerrecreaterequests"} {
		file := crds + kind + ".yaml"
		w.must("", "apply", "--server-side", "-f", file)
		w.must("", "wait", "--for=condition=Established", "--timeout=60s", "-f", file)
	}
	w.must(base, "apply", "-f", "-")
	w.grant()
	w.serve()
	w.must(canary, "apply", "-f", "-")
	w.until("the webhooks are in force", func() bool {
		_, err := w.kubectl("", "delete", "service", "canary", "--dry-run=server")
		return err != nil && strings.Contains(err.Error(), "ResourcesProtectionDeletion")
	})
	return w
}

// grant applies the chart's rights of the account.
func (w *world) grant() {
	w.Helper()
	rendered, err := w.Helm(w.Context(), "template", "kruise", chart, "--set", "featureGates="+gates,
		"--show-only", "templates/webhook/rbac.yaml", "--show-only", "templates/webhook/live-rbac.yaml")
	if err != nil {
		w.Fatalf("rendering the rights: %v: %s", err, rendered)
	}
	w.must(rendered, "apply", "-f", "-")
}

// serve runs a replica until the test ends.
func (w *world) serve() {
	w.Helper()
	on := features.New("")
	if err := on.Set(gates); err != nil {
		w.Fatal(err)
	}
	address := addresses.Free(w.T, addresses.Loopback)
	w.metrics = addresses.Free(w.T, addresses.Loopback)
	limited := w.RESTConfig()
	limited.Impersonate = rest.ImpersonationConfig{
		UserName: account, Groups: []string{"system:serviceaccounts", "system:serviceaccounts:kruise-system", "system:authenticated"},
	}
	run := replica.Cluster{
		REST: limited, Secret: "kruise-webhook-certs", Identity: "replica-1",
		Options: replica.Options{
			BindAddress: address, MetricsAddr: w.metrics, Gates: on, Log: logr.Discard(), AccessLog: io.Discard,
			Table: table.Config{Host: address}, ShutdownGrace: 5 * time.Second, ProtectionLogPath: w.log,
		},
	}
	ctx, cancel := context.WithCancel(w.Context())
	done := make(chan error, 1)
	go func() { done <- run.Run(ctx) }()
	w.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			w.Errorf("the replica ended with %v", err)
		}
	})
}

// kubectl is what kubectl says; of a command that fails the error has it too.
func (w *world) kubectl(stdin string, args ...string) (string, error) {
	w.Helper()
	out, err := w.KubectlInput(w.Context(), strings.NewReader(stdin), args...)
	if err != nil {
		return out, fmt.Errorf("%w: %s", err, out)
	}
	return out, nil
}

func (w *world) must(stdin string, args ...string) string {
	w.Helper()
	out, err := w.kubectl(stdin, args...)
	if err != nil {
		w.Fatalf("kubectl %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// refused fails unless kubectl does, with all of these words.
func (w *world) refused(stdin string, args []string, words ...string) {
	w.Helper()
	out, err := w.kubectl(stdin, args...)
	if err == nil {
		w.Errorf("kubectl %s: allowed: %s", strings.Join(args, " "), out)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			w.Errorf("kubectl %s: %v, want %q in it", strings.Join(args, " "), err, word)
		}
	}
}

func (w *world) until(what string, holds func() bool) {
	w.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.Fatalf("not within %s: %s", patience, what)
		}
	}
}

// audit is the audit log without its times.
func (w *world) audit() string {
	w.Helper()
	text, err := os.ReadFile(filepath.Join(w.log, "protection.log"))
	if err != nil {
		w.Fatal(err)
	}
	return string(text)
}
