package containerrecreate

import (
	"context"
	"encoding/json"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/webhook/admission"
)

// world is a cluster as YAML; what is not in it does not exist.
type world struct {
	pods, nodes map[string]string
	fault       error
}

func (w world) Pod(_ context.Context, namespace, name string) (jsontext.Value, error) {
	if w.fault != nil {
		return nil, w.fault
	}
	if text, found := w.pods[namespace+"/"+name]; found {
		return yaml.YAMLToJSON([]byte(text))
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, name)
}

func (w world) NodeLabels(_ context.Context, name string) (map[string]string, error) {
	labels := make(map[string]string)
	text, found := w.nodes[name]
	if !found {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "nodes"}, name)
	}
	return labels, yaml.Unmarshal([]byte(text), &labels)
}

// shop is a node with one Pod: "web" has an HTTP hook, "log" an exec hook, "bare" none, "late" has never started and
// "new" has no status.
func shop() world {
	return world{
		nodes: map[string]string{"n1": `{zone: a}`},
		pods: map[string]string{"shop/web-0": `
metadata: {name: web-0, namespace: shop, uid: u-1}
spec:
  nodeName: n1
  terminationGracePeriodSeconds: 45
  initContainers: [{name: setup}]
  containers:
  - name: web
    ports: [{name: admin, containerPort: 8080, protocol: TCP, future: 1}]
    lifecycle: {preStop: {httpGet: {path: /quit, port: admin, scheme: HTTP}}}
  - name: log
    ports: [{containerPort: 9000}]
    lifecycle: {postStart: {exec: {command: [a]}}, preStop: {exec: {command: [flush]}}}
  - {name: bare, lifecycle: {preStop: {}}}
  - {name: nap, lifecycle: {preStop: {sleep: {seconds: 7}}}}
  - {name: late}
  - {name: new}
  ephemeralContainers: [{name: debugger}]
status:
  phase: Running
  containerStatuses:
  - {name: bare, containerID: containerd://b, restartCount: 0}
  - {name: late, containerID: "", restartCount: 0}
  - {name: log, containerID: containerd://l, restartCount: 12}
  - {name: nap, containerID: containerd://n, restartCount: 1}
  - {name: web, containerID: containerd://w, restartCount: 3}
  initContainerStatuses:
  - {name: setup, containerID: containerd://s, restartCount: 0}
`},
	}
}

// with changes a Pod's manifest by a JSON merge patch.
func (w world) with(t *testing.T, patch string) world {
	t.Helper()
	pod, err := yaml.YAMLToJSON([]byte(w.pods["shop/web-0"]))
	if err != nil {
		t.Fatal(err)
	}
	merge, err := yaml.YAMLToJSON([]byte(patch))
	if err != nil {
		t.Fatal(err)
	}
	changed, err := jsonpatch.MergePatch(pod, merge)
	if err != nil {
		t.Fatal(err)
	}
	w.pods = map[string]string{"shop/web-0": string(changed)}
	return w
}

func creation(t *testing.T, object string) *admission.Request {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(object))
	if err != nil {
		t.Fatal(err)
	}
	req := &admission.Request{Operation: admission.Create, Namespace: "shop", Object: raw}
	req.Kind.Version = "v1beta1"
	return req
}

// patched is what a patch makes of the request's object.
func patched(t *testing.T, req *admission.Request, response admission.Response) []byte {
	t.Helper()
	if !response.Allowed {
		t.Fatalf("refused: %+v", response.Status)
	}
	if response.Patch == nil {
		return req.Object
	}
	patch, err := jsonpatch.DecodePatch(response.Patch)
	if err != nil {
		t.Fatal(err)
	}
	object, err := patch.Apply(req.Object)
	if err != nil {
		t.Fatalf("applying %s: %v", response.Patch, err)
	}
	return object
}

func sameYAML(t *testing.T, want string, got []byte) {
	t.Helper()
	var a, b any
	if err := yaml.Unmarshal([]byte(want), &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(got, &b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("object (-want +got):\n%s", diff)
	}
}

const longHash = "43c9a14c2b264b70"

var podResource = schema.GroupResource{Resource: "pods"}
