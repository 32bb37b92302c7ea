package containerrecreate

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/webhook/admission"
)

const stored = `
metadata:
  name: r
  resourceVersion: "7"
  finalizers: [crr.apps.kruise.io/unready-acquired, other]
  labels: {a: b, crr.apps.kruise.io/active: "true", crr.apps.kruise.io/node-name: n1, crr.apps.kruise.io/pod-uid: u-1}
  annotations: {crr.apps.kruise.io/unready-acquired: "2026-01-02T03:04:05Z"}
spec:
  podName: web-0
  ttlSecondsAfterFinished: 5
  strategy: {failurePolicy: Fail, orderedRecreate: false, terminationGracePeriodSeconds: 45}
  containers:
  - {name: web, preStop: {httpGet: {path: /quit, port: admin}}, statusContext: {containerID: c, restartCount: 0}}
`

func TestUpdates(t *testing.T) {
	for name, c := range map[string]struct {
		version string
		off     bool
		from    string
		to      string
		message string // of the 403, "" when allowed
	}{
		"nothing":                      {"v1beta1", false, "", "", ""},
		"a label":                      {"v1beta1", false, "a: b", "a: c", ""},
		"active is removed":            {"v1beta1", false, `crr.apps.kruise.io/active: "true", `, "", ""},
		"a finalizer is removed":       {"v1beta1", false, "[crr.apps.kruise.io/unready-acquired, other]", "[other]", ""},
		"a finalizer is added":         {"v1beta1", false, ", other]", ", other, third]", ""},
		"false is left out":            {"v1beta1", false, "orderedRecreate: false, ", "", ""},
		"a null":                       {"v1beta1", false, "podName: web-0", "podName: web-0\n  activeDeadlineSeconds: null", ""},
		"true":                         {"v1beta1", false, "orderedRecreate: false", "orderedRecreate: true", "spec: Forbidden"},
		"the time to live":             {"v1alpha1", false, "Finished: 5", "Finished: 6", "spec: Forbidden"},
		"a deadline":                   {"v1beta1", false, "podName: web-0", "podName: web-0\n  activeDeadlineSeconds: 9", "spec: Forbidden"},
		"an instance":                  {"v1beta1", false, "containerID: c", "containerID: d", "spec: Forbidden"},
		"a hook's port":                {"v1beta1", false, "port: admin", "port: 1", "spec: Forbidden"},
		"the Pod's uid":                {"v1beta1", false, "pod-uid: u-1", "pod-uid: u-2", `metadata.labels[crr.apps.kruise.io/pod-uid]: Forbidden: it cannot be changed from "u-1" to "u-2"`},
		"the node":                     {"v1alpha1", false, "node-name: n1", "node-name: n2", "node-name]: Forbidden"},
		"the node's label is removed":  {"v1beta1", false, "crr.apps.kruise.io/node-name: n1, ", "", "node-name]: Forbidden"},
		"all labels are removed":       {"v1beta1", false, "  labels: {a", "  other: {a", "pod-uid]: Forbidden"},
		"the time is moved":            {"v1alpha1", false, "T03:04:05Z", "T03:04:06Z", "unready-acquired]: Forbidden"},
		"the time is removed":          {"v1alpha1", false, `annotations: {crr`, `annotations: {x`, "unready-acquired]: Forbidden"},
		"the time is moved in v1beta1": {"v1beta1", false, "T03:04:05Z", "T03:04:06Z", ""},
		"gate off: nothing":            {"v1beta1", true, "", "", "KruiseDaemon"},
		"gate off: a label":            {"v1beta1", true, "a: b", "a: c", "KruiseDaemon"},
		"gate off: finalizer added":    {"v1beta1", true, ", other]", ", third]", "KruiseDaemon"},
		"gate off: released":           {"v1beta1", true, "finalizers: [crr.apps.kruise.io/unready-acquired, other]", "finalizers: [other]", ""},
		"gate off: released, newer":    {"v1beta1", true, "resourceVersion: \"7\"\n  finalizers: [crr.apps.kruise.io/unready-acquired, other]", "generation: 2", ""},
		"gate off: released and more":  {"v1beta1", true, "other]\n  labels: {a: b", "]\n  labels: {a: c", "KruiseDaemon"},
		"gate off: deleting":           {"v1beta1", true, "  name: r\n", "  name: r\n  deletionTimestamp: \"2026-01-02T03:04:05Z\"\n", ""},
		"another Pod":                  {"v1beta1", false, "podName: web-0", "podName: web-1", "spec: Forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.from != "" && !strings.Contains(stored, c.from) {
				t.Fatalf("the stored object has no %q", c.from)
			}
			req := update(t, strings.Replace(stored, c.from, c.to, 1))
			req.Kind.Version = c.version
			response := New(world{}, !c.off).Handle(t.Context(), req)
			if c.message == "" {
				if !response.Allowed || response.Patch != nil {
					t.Errorf("answer %+v %+v", response, response.Status)
				}
				return
			}
			if response.Allowed || response.Fault != 0 || response.Status.Code != 403 || !strings.Contains(response.Status.Message, c.message) {
				t.Errorf("answer %+v %+v, want 403 %q", response, response.Status, c.message)
			}
		})
	}
}

// A client that does not know every field writes back less than there is; a finalizer must be removable even so.
func TestADeletedRequestCanAlwaysGo(t *testing.T) {
	gone := strings.Replace(stored, "  name: r\n", "  name: r\n  deletionTimestamp: \"2026-01-02T03:04:05Z\"\n", 1)
	gone = strings.Replace(gone, "preStop: {httpGet: {path: /quit, port: admin}}, ", "", 1)
	if response := New(world{}, true).Handle(t.Context(), update(t, gone)); !response.Allowed {
		t.Errorf("refused: %+v", response.Status)
	}
}

func TestOtherRequestsPass(t *testing.T) {
	for name, req := range map[string]*admission.Request{
		"status": {Operation: admission.Update, SubResource: "status", Object: []byte(`{"spec":{}}`), OldObject: []byte(`{"spec":{"podName":"a"}}`)},
		"delete": {Operation: admission.Delete, OldObject: []byte(`{}`)},
	} {
		if response := New(world{}, false).Handle(t.Context(), req); !response.Allowed || response.Patch != nil {
			t.Errorf("%s: %+v", name, response)
		}
	}
}

func TestUndecodableUpdates(t *testing.T) {
	for name, objects := range map[string][2]string{
		"no object":         {``, `{}`},
		"no old object":     {`{}`, ``},
		"a broken object":   {`{`, `{}`},
		"an ill-typed spec": {`{"spec":{"ttlSecondsAfterFinished":"a"}}`, `{"spec":{}}`},
	} {
		req := &admission.Request{Operation: admission.Update}
		if objects[0] != "" {
			req.Object = []byte(objects[0])
		}
		if objects[1] != "" {
			req.OldObject = []byte(objects[1])
		}
		response := New(world{}, true).Handle(t.Context(), req)
		if response.Allowed || response.Fault != 0 || response.Status.Code != 400 {
			t.Errorf("%s: %+v %+v", name, response, response.Status)
		}
	}
}

func update(t *testing.T, object string) *admission.Request {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(object))
	if err != nil {
		t.Fatal(err)
	}
	old, err := yaml.YAMLToJSON([]byte(stored))
	if err != nil {
		t.Fatal(err)
	}
	req := &admission.Request{Operation: admission.Update, Namespace: "shop", Object: raw, OldObject: old}
	req.Kind.Version = "v1beta1"
	return req
}
