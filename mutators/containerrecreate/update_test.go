package containerrecreate

import (
	"bytes"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/validators"
	"github.com/fairlead-io/fairlead/validators/facts"
	"github.com/fairlead-io/fairlead/validators/overlap"
	"github.com/fairlead-io/fairlead/webhook/admission"
)

const stored = `
apiVersion: apps.kruise.io/v1beta1
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
	judges := rules(t)
	for name, c := range map[string]struct {
		version string
		off     bool
		from    string
		to      string
		message string // of the 403, "" when allowed
	}{
		"what was captured":            {"v1beta1", false, ", preStop: {httpGet: {path: /quit, port: admin}}, statusContext: {containerID: c, restartCount: 0}", "", ""},
		"a part of what was captured":  {"v1alpha1", false, "path: /quit, ", "", ""},
		"what was filled in":           {"v1beta1", false, "failurePolicy: Fail, orderedRecreate: false, terminationGracePeriodSeconds: 45", "", ""},
		"the strategy":                 {"v1beta1", false, "  strategy: {failurePolicy: Fail, orderedRecreate: false, terminationGracePeriodSeconds: 45}\n", "", ""},
		"an empty policy":              {"v1beta1", false, "failurePolicy: Fail", `failurePolicy: ""`, ""},
		"another hook":                 {"v1beta1", false, "httpGet: {path: /quit, port: admin}", "exec: {command: [a]}", "spec: Forbidden"},
		"another container":            {"v1beta1", false, "name: web,", "name: log,", "spec: Forbidden"},
		"one container more":           {"v1beta1", false, "  - {name: web,", "  - {name: log}\n  - {name: web,", "spec: Forbidden"},
		"instead of it, one without":   {"v1beta1", false, "  - {name: web, preStop: {httpGet: {path: /quit, port: admin}}, statusContext: {containerID: c, restartCount: 0}}", "  - {name: log}", "spec: Forbidden"},
		"the policy":                   {"v1beta1", false, "failurePolicy: Fail", "failurePolicy: Ignore", "spec: Forbidden"},
		"the time to live is left out": {"v1beta1", false, "  ttlSecondsAfterFinished: 5\n", "", "spec: Forbidden"},
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
		"the Pod's uid":                {"v1beta1", false, "pod-uid: u-1", "pod-uid: u-2", `metadata.labels[crr.apps.kruise.io/pod-uid]: Forbidden: is immutable: put back "u-1"`},
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
			for _, object := range []*jsontext.Value{&req.Object, &req.OldObject} {
				*object = bytes.Replace(*object, []byte("v1beta1"), []byte(c.version), 1)
			}
			response := New(world{}, !c.off).Handle(t.Context(), req)
			if response.Allowed {
				req.Object = patched(t, req, response)
				response = judges.Handle(t.Context(), req)
			}
			if c.message == "" {
				if !response.Allowed {
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

// rules judge what the capture lets through.
func rules(t *testing.T) admission.Handler {
	t.Helper()
	engine, err := validators.New(t.Context(), validators.Options{
		Builtins: facts.Builtins(facts.Sources{SidecarSets: overlap.NewIndex()}), Log: logr.Discard(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return engine.Handler(schema.GroupKind{Group: "apps.kruise.io", Kind: "ContainerRecreateRequest"})
}

// Written back as it was created, a request is what is stored, byte for byte: there is nothing to write.
func TestAManifestWrittenAgain(t *testing.T) {
	req := update(t, strings.NewReplacer(
		", preStop: {httpGet: {path: /quit, port: admin}}, statusContext: {containerID: c, restartCount: 0}", "",
		"failurePolicy: Fail, orderedRecreate: false, terminationGracePeriodSeconds: 45", "orderedRecreate: false",
	).Replace(stored))
	sameYAML(t, stored, patched(t, req, New(world{}, true).Handle(t.Context(), req)))
}

// Without the entry that captures, nothing is put back: a request that lost what it names would stop any instance.
func TestRulesAloneRefuseALoss(t *testing.T) {
	req := update(t, strings.Replace(stored, ", statusContext: {containerID: c, restartCount: 0}", "", 1))
	if got := rules(t).Handle(t.Context(), req); got.Allowed || got.Status.Code != 403 {
		t.Errorf("answer %+v %+v", got, got.Status)
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
		"an ill-typed spec": {`{"spec":{"strategy":"a"}}`, `{"spec":{}}`},
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
