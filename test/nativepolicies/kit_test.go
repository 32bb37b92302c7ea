package nativepolicies

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/test/addresses"
	"github.com/fairlead-io/fairlead/test/cluster/cluster"
	"github.com/fairlead-io/fairlead/test/inprocess"
	"github.com/fairlead-io/fairlead/webhook/table"
)

const base = `
apiVersion: v1
kind: Namespace
metadata: {name: kruise-system}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: kruise-anchor}
`

// world is an API server with the definitions and the objects.
type world struct {
	inprocess.World
	client  rest.Interface
	objects []map[string]any
	// rendered are the policies as the chart has them.
	rendered string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	// The controller manager checks the types of expressions.
	w := &world{World: inprocess.World{T: t, Cluster: cluster.ForTest(t, cluster.Options{Level: cluster.LevelAPIServer, Controllers: true})}}
	client, err := kubernetes.NewForConfig(w.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	w.client = client.Discovery().RESTClient()
	w.Define(w.Chart() + "/files/crds")
	w.Must(base, "apply", "-f", "-")
	w.objects = read[map[string]any](t, "testdata/objects.yaml")
	all, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": w.objects})
	if err != nil {
		t.Fatal(err)
	}
	w.Must(string(all), "apply", "--server-side", "--force-conflicts", "-f", "-")
	t.Cleanup(func() { _, _ = w.Try(string(all), "delete", "--ignore-not-found", "-f", "-") })
	w.rendered = w.render("")
	return w
}

// render are the policies of the chart with these feature gates.
func (w *world) render(gates string) string {
	w.Helper()
	rendered, err := w.Helm(w.Context(), "template", "kruise", w.Chart(), "--set", "nativePolicies.enabled=true",
		"--set", "featureGates="+gates, "--show-only", "templates/native-policies.yaml")
	if err != nil {
		w.Fatalf("rendering the chart: %v: %s", err, rendered)
	}
	return rendered
}

// enforce puts the policies into force and waits until they are.
func (w *world) enforce() {
	w.Helper()
	w.Must(w.rendered, "apply", "--server-side", "-f", "-")
	w.Cleanup(func() { _, _ = w.Try(w.rendered, "delete", "--ignore-not-found", "-f", "-") })
	deployment, spread := w.object("Deployment web default"), w.object("WorkloadSpread beta")
	w.label(deployment, "Always")
	defer w.label(deployment, "")
	w.Until("policies are in force", func() bool {
		return w.remove(deployment).code == 403 &&
			w.update(spread, json.RawMessage(`{"spec":{"targetRef":{"kind":"StatefulSet"}}}`)).code == 422
	})
}

// relent takes the policies away and waits until they are out of force.
func (w *world) relent() {
	w.Helper()
	w.Must(w.rendered, "delete", "-f", "-")
	deployment, spread := w.object("Deployment web default"), w.object("WorkloadSpread beta")
	w.label(deployment, "Always")
	defer w.label(deployment, "")
	w.Until("policies are out of force", func() bool {
		return w.remove(deployment).code == 200 &&
			w.update(spread, json.RawMessage(`{"spec":{"targetRef":{"kind":"StatefulSet"}}}`)).code == 200
	})
}

// serve runs the service and waits until it is asked about deletions and updates.
func (w *world) serve() {
	w.Helper()
	address := addresses.Free(w, addresses.Loopback)
	run := w.Replica(address, "ImagePullJobGate=true,ResourceDistributionGate=true")
	run.REST, run.Table = w.RESTConfig(), table.Config{Host: address}
	w.Part("the replica", run.Run)
	deployment := w.object("Deployment web default")
	w.label(deployment, "Always")
	defer w.label(deployment, "")
	w.Until("the service is asked", func() bool {
		return w.remove(deployment).code == 403 &&
			w.update(w.object("WorkloadSpread beta"), json.RawMessage(`{"spec":{"targetRef":{"kind":"StatefulSet"}}}`)).code == 400
	})
}

// object finds one by kind, name and, where two have those, namespace.
func (w *world) object(words string) map[string]any {
	w.Helper()
	for _, object := range w.objects {
		metadata := object["metadata"].(map[string]any)
		if strings.HasPrefix(fmt.Sprint(object["kind"], " ", metadata["name"], " ", metadata["namespace"])+" ", words+" ") {
			return object
		}
	}
	w.Fatalf("there is no object %s", words)
	return nil
}

// answer is what the API server said.
type answer struct {
	code int32
	text string
}

// said is the text without who says it.
func (a answer) said() string {
	for _, who := range []string{" denied request: ", " denied the request: "} {
		if _, after, found := strings.Cut(a.text, who); found {
			return after
		}
	}
	return a.text
}

func answerOf(err error) answer {
	if err == nil {
		return answer{code: 200}
	}
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return answer{status.Status().Code, err.Error()}
	}
	return answer{-1, err.Error()}
}

func path(object map[string]any) (all []string) {
	version := object["apiVersion"].(string)
	all = []string{"/apis/" + version}
	if !strings.Contains(version, "/") {
		all = []string{"/api/" + version}
	}
	metadata := object["metadata"].(map[string]any)
	if namespace, ok := metadata["namespace"].(string); ok {
		all = append(all, "namespaces", namespace)
	}
	resource := strings.ToLower(object["kind"].(string)) + "s"
	if strings.HasSuffix(resource, "ss") {
		resource = strings.TrimSuffix(resource, "s") + "es"
	}
	return append(all, resource, metadata["name"].(string))
}

// update patches an object as a dry run, so that the next case finds it as it was.
func (w *world) update(object map[string]any, patch json.RawMessage) answer {
	return answerOf(w.client.Patch("application/merge-patch+json").AbsPath(path(object)...).Param("dryRun", "All").
		Body([]byte(patch)).Do(w.Context()).Error())
}

// remove deletes an object as a dry run.
func (w *world) remove(object map[string]any) answer {
	return answerOf(w.client.Delete().AbsPath(path(object)...).Param("dryRun", "All").Do(w.Context()).Error())
}

// label sets the label of deletion protection; "" takes it away.
func (w *world) label(object map[string]any, value string) {
	w.Helper()
	text := "null"
	if value != "" {
		text = `"` + value + `"`
	}
	patch := `{"metadata":{"labels":{"policy.kruise.io/delete-protection":` + text + `}}}`
	if err := w.client.Patch("application/merge-patch+json").AbsPath(path(object)...).Body([]byte(patch)).Do(w.Context()).Error(); err != nil {
		w.Fatalf("labelling %v: %v", path(object), err)
	}
}

func read[T any](t *testing.T, file string) (all []T) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = yaml.Unmarshal(text, &all)
	}
	if err != nil || len(all) == 0 {
		t.Fatalf("reading %s: %v", file, err)
	}
	return all
}
