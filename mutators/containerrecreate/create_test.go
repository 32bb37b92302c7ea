package containerrecreate

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func TestCapture(t *testing.T) {
	w := shop()
	for name, c := range map[string]struct {
		world        world
		object, want string
	}{
		"all that there is": {w, `
metadata: {name: r}
spec: {podName: web-0, containers: [{name: web}, {name: log}, {name: bare}, {name: nap}]}
`, `
metadata:
  name: r
  labels: {crr.apps.kruise.io/active: "true", crr.apps.kruise.io/node-name: n1, crr.apps.kruise.io/pod-uid: u-1}
spec:
  podName: web-0
  strategy: {failurePolicy: Fail, terminationGracePeriodSeconds: 45}
  containers:
  - name: web
    preStop: {httpGet: {path: /quit, port: admin, scheme: HTTP}}
    ports: [{name: admin, containerPort: 8080, protocol: TCP, future: 1}]
    statusContext: {containerID: containerd://w, restartCount: 3}
  - name: log
    preStop: {exec: {command: [flush]}}
    statusContext: {containerID: containerd://l, restartCount: 12}
  - {name: bare, statusContext: {containerID: containerd://b, restartCount: 0}}
  - {name: nap, preStop: {sleep: {seconds: 7}}, statusContext: {containerID: containerd://n, restartCount: 1}}
`},
		"what the user chose stays, but for our labels": {w, `
metadata:
  name: r
  future: {x: 1}
  labels: {mine: a, crr.apps.kruise.io/active: "false", crr.apps.kruise.io/node-name: elsewhere, crr.apps.kruise.io/pod-uid: other}
spec:
  podName: web-0
  future: [1]
  strategy: {failurePolicy: Ignore, orderedRecreate: true, terminationGracePeriodSeconds: 0, future: 1}
  containers: [{name: bare, preStop: null, future: true}]
`, `
metadata:
  name: r
  future: {x: 1}
  labels: {mine: a, crr.apps.kruise.io/active: "true", crr.apps.kruise.io/node-name: n1, crr.apps.kruise.io/pod-uid: u-1}
spec:
  podName: web-0
  future: [1]
  strategy: {failurePolicy: Ignore, orderedRecreate: true, terminationGracePeriodSeconds: 0, future: 1}
  containers: [{name: bare, preStop: null, future: true, statusContext: {containerID: containerd://b, restartCount: 0}}]
`},
		"an empty policy, a Pod without a period, a virtual node": {
			world{pods: w.with(t, `{spec: {terminationGracePeriodSeconds: null}}`).pods, nodes: map[string]string{"n1": `{type: virtual-kubelet}`}}, `
metadata: {name: r, labels: null}
spec: {podName: web-0, containers: [{name: bare}], strategy: {failurePolicy: ""}}
`, `
metadata:
  name: r
  labels: {type: virtual-kubelet, crr.apps.kruise.io/active: "true", crr.apps.kruise.io/node-name: n1, crr.apps.kruise.io/pod-uid: u-1}
spec:
  podName: web-0
  strategy: {failurePolicy: Fail}
  containers: [{name: bare, statusContext: {containerID: containerd://b, restartCount: 0}}]
`},
		"a finished Pod whose sidecars are to go": {
			w.with(t, `{metadata: {deletionTimestamp: "2026-01-02T03:04:05Z"}, status: {phase: Succeeded, conditions: [{type: SidecarTerminated, status: "False"}]}}`), `
metadata: {name: r}
spec: {podName: web-0, containers: [{name: bare}], strategy: {terminationGracePeriodSeconds: 3}}
`, `
metadata:
  name: r
  labels: {crr.apps.kruise.io/active: "true", crr.apps.kruise.io/node-name: n1, crr.apps.kruise.io/pod-uid: u-1}
spec:
  podName: web-0
  strategy: {failurePolicy: Fail, terminationGracePeriodSeconds: 3}
  containers: [{name: bare, statusContext: {containerID: containerd://b, restartCount: 0}}]
`},
		"no containers is a matter of the field's rule": {w, `
metadata: {name: r}
spec: {podName: web-0, containers: []}
`, `
metadata:
  name: r
  labels: {crr.apps.kruise.io/active: "true", crr.apps.kruise.io/node-name: n1, crr.apps.kruise.io/pod-uid: u-1}
spec: {podName: web-0, containers: [], strategy: {failurePolicy: Fail, terminationGracePeriodSeconds: 45}}
`},
	} {
		t.Run(name, func(t *testing.T) {
			for _, version := range []string{"v1alpha1", "v1beta1"} {
				req := creation(t, c.object)
				req.Kind.Version = version
				sameYAML(t, c.want, patched(t, req, New(c.world, true).Handle(t.Context(), req)))
			}
		})
	}
}

// The patch must not send back what the user wrote: a number beyond 2^53 in it would be safe only as long as nobody
// decodes it.
func TestThePatchIsMinimal(t *testing.T) {
	req := creation(t, `{metadata: {name: r, labels: {a: b}}, spec: {podName: web-0, containers: [{name: bare}], strategy: {failurePolicy: Fail}}}`)
	req.Object = jsontext.Value(strings.Replace(string(req.Object), `"podName"`, `"future":9007199254740993,"podName"`, 1))
	want := `[{"op":"add","path":"/metadata/labels/crr.apps.kruise.io~1active","value":"true"},` +
		`{"op":"add","path":"/metadata/labels/crr.apps.kruise.io~1node-name","value":"n1"},` +
		`{"op":"add","path":"/metadata/labels/crr.apps.kruise.io~1pod-uid","value":"u-1"},` +
		`{"op":"add","path":"/spec/containers/0/statusContext","value":{"containerID":"containerd://b","restartCount":0}},` +
		`{"op":"add","path":"/spec/strategy/terminationGracePeriodSeconds","value":45}]`
	if got := string(New(shop(), true).Handle(t.Context(), req).Patch); got != want {
		t.Errorf("patch\n%s, want\n%s", got, want)
	}
}

func TestRefusals(t *testing.T) {
	w := shop()
	one := `{metadata: {name: r}, spec: {podName: web-0, containers: [{name: bare}]}}`
	for name, c := range map[string]struct {
		world   world
		off     bool
		object  string
		code    int32
		message string
	}{
		"the gate is off, whatever the object":  {w, true, `{spec: 1}`, 403, "KruiseDaemon"},
		"no object":                             {w, false, `1`, 400, "decoding ContainerRecreateRequest: expected an object"},
		"a spec that is none":                   {w, false, `{spec: [a]}`, 400, "spec: must be an object, not a list"},
		"labels that are none":                  {w, false, `{metadata: {labels: a}}`, 400, "metadata.labels: must be an object of names and values, not a string"},
		"a strategy that is none":               {w, false, `{spec: {strategy: 1}}`, 400, "spec.strategy: must be an object with fields such as failurePolicy, orderedRecreate, forceRecreate, not a number"},
		"containers that are no list":           {w, false, `{spec: {containers: {}}}`, 400, "spec.containers: must be a list, not an object"},
		"a container that is no object":         {w, false, `{spec: {podName: web-0, containers: [web]}}`, 400, "spec.containers[0]: must be an object with fields such as name, preStop, ports, not a string"},
		"no Pod's name":                         {w, false, `{spec: {containers: [{name: bare}]}}`, 400, "spec.podName: Required value"},
		"a name that no Pod can have":           {w, false, `{spec: {podName: a/../b, containers: [{name: bare}]}}`, 400, `spec.podName: Invalid value: "a/../b"`},
		"no such Pod":                           {w, false, `{spec: {podName: web-9, containers: [{name: bare}]}}`, 400, `spec.podName: Not found: there is no Pod "web-9" in namespace "shop"`},
		"a Pod that is being deleted":           {w.with(t, `{metadata: {deletionTimestamp: "2026-01-02T03:04:05Z"}}`), false, one, 400, "is being deleted"},
		"a Pod that has succeeded":              {w.with(t, `{status: {phase: Succeeded}}`), false, one, 400, "is in phase Succeeded"},
		"a Pod that has failed":                 {w.with(t, `{status: {phase: Failed}}`), false, one, 400, "is in phase Failed"},
		"a Pod without a node":                  {w.with(t, `{spec: {nodeName: null}}`), false, one, 400, "has no node yet"},
		"a node that is gone":                   {w.with(t, `{spec: {nodeName: n2}}`), false, one, 400, `node "n2" does not exist`},
		"a container twice":                     {w, false, `{spec: {podName: web-0, containers: [{name: bare}, {name: bare}]}}`, 400, `spec.containers[1].name: Duplicate value: "bare"`},
		"a container without a name":            {w, false, `{spec: {podName: web-0, containers: [{}]}}`, 400, "spec.containers[0].name: Required value"},
		"a hook from the user":                  {w, false, `{spec: {podName: web-0, containers: [{name: bare, preStop: {exec: {command: [a]}}}]}}`, 400, "spec.containers[0].preStop: Forbidden"},
		"ports from the user":                   {w, false, `{spec: {podName: web-0, containers: [{name: bare, ports: [{containerPort: 1}]}]}}`, 400, "spec.containers[0].ports: Forbidden"},
		"an instance from the user":             {w, false, `{spec: {podName: web-0, containers: [{name: bare, statusContext: {containerID: a, restartCount: 0}}]}}`, 400, "spec.containers[0].statusContext: Forbidden"},
		"the first container at fault counts":   {w, false, `{spec: {podName: web-0, containers: [{name: bare}, {name: late}, {name: bare}]}}`, 400, "spec.containers[1].name"},
		"a container that the Pod has not":      {w, false, `{spec: {podName: web-0, containers: [{name: x}]}}`, 400, `spec.containers[0].name: Not found: Pod "web-0" has no container "x"`},
		"an ephemeral container":                {w, false, `{spec: {podName: web-0, containers: [{name: debugger}]}}`, 400, `has no container "debugger"`},
		"an init container":                     {w, false, `{spec: {podName: web-0, containers: [{name: setup}]}}`, 400, "is an init container"},
		"a container without a status":          {w, false, `{spec: {podName: web-0, containers: [{name: new}]}}`, 400, "has no status of that container"},
		"a container that has never started":    {w, false, `{spec: {podName: web-0, containers: [{name: late}]}}`, 400, "has never started"},
		"an API server that does not answer":    {world{fault: errors.New("connection refused")}, false, one, 500, "reading Pod shop/web-0: connection refused"},
		"an API server that refuses us":         {world{fault: apierrors.NewForbidden(podResource, "web-0", errors.New("no role"))}, false, one, 500, "forbidden"},
		"an API server that is late":            {world{fault: context.DeadlineExceeded}, false, one, 503, "deadline"},
		"an API server that has too much to do": {world{fault: apierrors.NewTooManyRequests("later", 1)}, false, one, 500, "later"},
	} {
		t.Run(name, func(t *testing.T) {
			response := New(c.world, !c.off).Handle(t.Context(), creation(t, c.object))
			if response.Allowed || response.Status == nil || response.Status.Code != c.code || !strings.Contains(response.Status.Message, c.message) {
				t.Errorf("answer %+v %+v, want %d %q", response, response.Status, c.code, c.message)
			}
			if verdict := response.Fault == 0; verdict != (c.code < 500) {
				t.Errorf("fault %d for %d", response.Fault, c.code)
			}
		})
	}
}

func TestLongNodeNames(t *testing.T) {
	long := strings.Repeat("a", 60) + ".example.com"
	// printf '%s' "$long" | sha256sum
	if got, want := NodeLabelValue(long), strings.Repeat("a", 46)+"-"+longHash; got != want || len(got) != 63 {
		t.Errorf("%s, want %s", got, want)
	}
	if got := NodeLabelValue(long[:63]); got != long[:63] {
		t.Errorf("a name of 63 characters became %s", got)
	}
}
