package validation

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"

	"github.com/fairlead-io/fairlead/test/addresses"
	"github.com/fairlead-io/fairlead/test/inprocess"
	"github.com/fairlead-io/fairlead/webhook/table"
)

const (
	crds = "../../charts/kruise/files/crds"
	base = `
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
	w.Define(crds)
	w.Must(base, "apply", "-f", "-")
	w.serve()
	return w
}

// serve runs the service, and waits until the API server asks it about SidecarSets.
func (w *world) serve() {
	w.Helper()
	address := addresses.Free(w, addresses.Loopback)
	run := w.Replica(address, "ImagePullJobGate=true,ResourceDistributionGate=true")
	run.REST, run.Table = w.RESTConfig(), table.Config{Host: address}
	w.Part("the replica", run.Run)
	w.Until("rules are asked", func() bool {
		_, err := w.Try(sidecarSet("probe", "{}", ""), "apply", "--dry-run=server", "-f", "-")
		return err != nil && strings.Contains(err.Error(), "at least one container or init container")
	})
}

// read returns a SidecarSet as the version shows it.
func (w *world) read(version, name string) (object map[string]any) {
	w.Helper()
	out := w.Must("", "get", "sidecarsets."+version+".apps.kruise.io", name, "-o", "json")
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
