package policies

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fairlead-io/fairlead/test/addresses"
	"github.com/fairlead-io/fairlead/test/inprocess"
	"github.com/fairlead-io/fairlead/validators/userpolicy/sources"
	"github.com/fairlead-io/fairlead/webhook/replica"
	"github.com/fairlead-io/fairlead/webhook/table"
)

const (
	crds = "../../charts/kruise/files/crds"
	base = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: kruise-anchor}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop}
`
)

var (
	apply = []string{"apply", "-f", "-"}
	// warned applies nothing, and fails if there is a warning, which its error has.
	warned = []string{"apply", "--dry-run=server", "--warnings-as-errors", "-f", "-"}
)

// world is an API server with the admission service.
type world struct {
	inprocess.World
	client *kubernetes.Clientset
	// address is where a replica serves; one that takes another's place serves there too, as behind a Service.
	address string
	// log has the lines of decisions.
	log *lines
	// stop ends the replica.
	stop func()
}

func newWorld(t *testing.T, change func(*replica.Cluster)) *world {
	t.Helper()
	w := &world{World: inprocess.NewWorld(t), address: addresses.Free(t, addresses.Loopback)}
	var err error
	if w.client, err = w.Client(); err != nil {
		t.Fatal(err)
	}
	w.Define(crds)
	w.Grant("policies.inventory[0].resource=services")
	w.Must("", "delete", "validatingwebhookconfiguration", table.PoliciesName, "--ignore-not-found")
	w.Must(base, "apply", "-f", "-")
	// What a test before left in the same cluster: a manifest that is applied already is not sent again.
	w.Must("", "delete", "configmaps", "--all", "-n", "shop")
	w.Must("", "delete", "configmaps", "-n", "kruise-system", "-l", sources.Label)
	w.Must("", "delete", "configmaps", "-n", "kruise-system", "-l", sources.BundleLabel)
	w.serve(change)
	return w
}

// serve runs a replica.
func (w *world) serve(change func(*replica.Cluster)) {
	w.Helper()
	run := w.Replica(w.address)
	w.log = &lines{}
	run.Table, run.AccessLog = table.Config{Host: w.address}, w.log
	run.Log = logr.FromSlogHandler(slog.NewTextHandler(w.Output(), nil))
	if change != nil {
		change(run)
	}
	w.stop = w.Part("the replica", run.Run)
}

// set is a ConfigMap with a set of policies.
func set(name string, files map[string]string) string {
	object, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": files,
		"metadata": map[string]any{"name": name, "namespace": "kruise-system", "labels": map[string]string{sources.Label: "true"}},
	})
	if err != nil {
		panic(err)
	}
	return string(object)
}

// module is a Rego module that matches ConfigMaps, with rules.
func module(name, rules string) string {
	return "# METADATA\n# scope: package\n# custom:\n#   match:\n#     - {apiGroups: [\"\"], resources: [configmaps], operations: [CREATE, UPDATE]}\npackage " +
		name + "\n\nobject := input.request.object\n\n" + rules
}

// configMap is one to be judged.
func configMap(name, data string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", namespace: shop}\ndata: " + data + "\n"
}

// status is what the annotation of a set says.
func (w *world) status(name string) (status sources.Status) {
	w.Helper()
	object, err := w.client.CoreV1().ConfigMaps("kruise-system").Get(w.Context(), name, metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	_ = json.Unmarshal([]byte(object.Annotations[sources.StatusAnnotation]), &status) // none yet is an empty one
	return status
}

// refused says whether the API server refuses a manifest with a text.
func (w *world) refused(manifest, text string) bool {
	w.Helper()
	_, err := w.Try(manifest, "apply", "--dry-run=server", "-f", "-")
	return err != nil && strings.Contains(err.Error(), text)
}

// asRequester is a kubectl that acts as a service account.
func asRequester(account string, args ...string) []string {
	return append(args, "--as=system:serviceaccount:"+account, "--as-group=system:masters")
}

// entries are the webhooks of the third configuration.
func (w *world) entries() (names []string) {
	w.Helper()
	live, err := w.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(context.WithoutCancel(w.Context()), table.PoliciesName, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	for _, entry := range live.Webhooks {
		names = append(names, entry.Name)
	}
	return names
}

// lines is a log that can be looked at.
type lines struct {
	mu  sync.Mutex
	all strings.Builder
}

func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(line)
}

// decisions are the lines about a set.
func (l *lines) decisions(set string) (found []map[string]any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.all.String()) {
		var decoded map[string]any
		if json.Unmarshal([]byte(line), &decoded) == nil && decoded["msg"] == "policy" && decoded["set"] == set {
			found = append(found, decoded)
		}
	}
	return found
}

func replaced(manifest, before, after string) string {
	return strings.Replace(manifest, before, after, 1)
}
