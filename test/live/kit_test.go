package live

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"

	"github.com/fairlead-io/fairlead/test/addresses"
	"github.com/fairlead-io/fairlead/test/inprocess"
	"github.com/fairlead-io/fairlead/webhook/table"
)

const (
	gates = "DeletionProtectionForCRDCascadingGate=true"
	base  = `
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
	inprocess.World
	client  *kubernetes.Clientset
	metrics string
	log     string // the folder of the audit log
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{World: inprocess.NewWorld(t), log: t.TempDir()}
	var err error
	if w.client, err = w.Client(); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"sidecarsets", "clonesets", "containerrecreaterequests"} {
		w.Define(filepath.Join(w.Chart(), "files", "crds", "apps.kruise.io_"+kind+".yaml"))
	}
	w.Must(base, "apply", "-f", "-")
	w.Grant("featureGates=" + gates)
	w.serve()
	w.Must(canary, "apply", "-f", "-")
	w.Until("the webhooks are in force", func() bool {
		_, err := w.Try("", "delete", "service", "canary", "--dry-run=server")
		return err != nil && strings.Contains(err.Error(), "ResourcesProtectionDeletion")
	})
	return w
}

// serve runs a replica until the test ends.
func (w *world) serve() {
	w.Helper()
	address := addresses.Free(w.T, addresses.Loopback)
	w.metrics = addresses.Free(w.T, addresses.Loopback)
	run := w.Replica(address, gates)
	run.MetricsAddr, run.Table, run.ProtectionLogPath = w.metrics, table.Config{Host: address}, w.log
	w.Part("the replica", run.Run)
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
