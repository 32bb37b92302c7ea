package validators_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/webhook/admission"
)

// strangers are values of every kind, so that at least some fit no field.
var strangers = []any{
	nil, true, 7.0, -1.5, "x", []any{}, map[string]any{}, []any{nil}, []any{7.0}, map[string]any{"name": map[string]any{}},
}

// TestNoShapeIsAFault puts values of every kind into every field, of the object and of what it was: there is always a
// verdict, and a refusal names a field.
func TestNoShapeIsAFault(t *testing.T) {
	engine := newEngine(t)
	for _, whole := range wholes(t) {
		group, _, _ := strings.Cut(whole["apiVersion"].(string), "/")
		handler := engine.Handler(schema.GroupKind{Group: group, Kind: whole["kind"].(string)})
		if got := handler.Handle(t.Context(), &admission.Request{Operation: admission.Create, Name: "whole", Object: encoded(t, whole)}); !got.Allowed && whole["kind"] != "SidecarSet" {
			t.Errorf("%s is not right: %+v", whole["kind"], got.Status) // a SidecarSet names a revision that it has not got yet
		}
		ask := func(at string, object, old map[string]any) {
			t.Helper()
			req := &admission.Request{Operation: admission.Create, Name: "whole", Object: encoded(t, object)}
			if old != nil {
				req.Operation, req.OldObject = admission.Update, encoded(t, old)
			}
			got := handler.Handle(t.Context(), req)
			if got.Fault != 0 {
				t.Errorf("%s: fault %d %s\n%s", at, got.Fault, got.Status.Message, req.Object)
			}
			if !got.Allowed && !strings.Contains(got.Status.Message, "spec") && !strings.Contains(got.Status.Message, "metadata") {
				t.Errorf("%s: %q names no field", at, got.Status.Message)
			}
		}
		changed := copied(t, whole)
		changed["spec"].(map[string]any)["podName"] = "another"
		for _, part := range []string{"metadata", "spec"} {
			everywhere(whole, []any{part}, func(path []any, replace func(any)) {
				for _, stranger := range strangers {
					at := fmt.Sprintf("%s %v = %v", whole["kind"], path, stranger)
					replace(stranger)
					ask(at, whole, nil)
					ask("from "+at, changed, whole)
				}
			})
		}
	}
}

// What the API's type cannot hold is undecodable, and says what to write.
func TestShapesThatAreRefused(t *testing.T) {
	for _, c := range []struct{ version, kind, spec, want string }{
		{"v1beta1", "SidecarSet", `{"containers":[{"name":7}]}`, "decoding SidecarSet: spec.containers[0].name: must be a string: put it in quotes"},
		{"v1alpha1", "SidecarSet", `{"volumes":[{"name":"v","hostPath":"/x"}]}`, "decoding SidecarSet: spec.volumes[0].hostPath: must be an object with fields such as path, type, not a string"},
		{"v1beta1", "SidecarSet", `{"volumes":{"name":"v"}}`, "decoding SidecarSet: spec.volumes: must be a list, not an object"},
		{"v1beta1", "SidecarSet", `{"selector":{"matchLabels":{"a":1}}}`, "decoding SidecarSet: spec.selector.matchLabels.a: must be a string: put it in quotes"},
		{"v1beta1", "ContainerRecreateRequest", `{"containers":["web"]}`, "decoding ContainerRecreateRequest: spec.containers[0]: must be an object with fields such as name, preStop, ports, not a string"},
		{"v1alpha1", "ContainerRecreateRequest", `{"activeDeadlineSeconds":"60"}`, "decoding ContainerRecreateRequest: spec.activeDeadlineSeconds: must be a whole number"},
	} {
		handler := newEngine(t).Handler(schema.GroupKind{Group: "apps.kruise.io", Kind: c.kind})
		got := handler.Handle(t.Context(), create(`{"apiVersion":"apps.kruise.io/`+c.version+`","metadata":{"name":"x"},"spec":`+c.spec+`}`))
		if got.Allowed || got.Fault != 0 || got.Status.Code != http.StatusBadRequest || !strings.HasPrefix(got.Status.Message, c.want) {
			t.Errorf("%s: %+v %+v, want %s", c.spec, got, got.Status, c.want)
		}
	}
}

func wholes(t *testing.T) (objects []map[string]any) {
	t.Helper()
	text, err := os.ReadFile("testdata/shapes/whole.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, &objects); err != nil {
		t.Fatal(err)
	}
	return objects
}

// everywhere visits every value below a path, the value at it included. What visit replaced is put back.
func everywhere(top map[string]any, path []any, visit func(path []any, replace func(any))) {
	var in any = top
	for _, step := range path[:len(path)-1] {
		if index, ok := step.(int); ok {
			in = in.([]any)[index]
		} else {
			in = in.(map[string]any)[step.(string)]
		}
	}
	last := path[len(path)-1]
	var value any
	var replace func(any)
	if index, ok := last.(int); ok {
		list := in.([]any)
		value, replace = list[index], func(v any) { list[index] = v }
	} else {
		object := in.(map[string]any)
		value, replace = object[last.(string)], func(v any) { object[last.(string)] = v }
	}
	visit(path, replace)
	replace(value)
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			everywhere(top, append(slices.Clone(path), name), visit)
		}
	case []any:
		for i := range v {
			everywhere(top, append(slices.Clone(path), i), visit)
		}
	}
}

func encoded(t *testing.T, value any) []byte {
	t.Helper()
	out, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func copied(t *testing.T, value any) (duplicate map[string]any) {
	t.Helper()
	if err := json.Unmarshal(encoded(t, value), &duplicate); err != nil {
		t.Fatal(err)
	}
	return duplicate
}

// A member that is null is none: a template, which the API server keeps as it is written, has no labels then, and a number that is not
// set is not negative.
func TestNullIsNone(t *testing.T) {
	handler := newEngine(t).Handler(schema.GroupKind{Group: "apps.kruise.io", Kind: "CloneSet"})
	for _, c := range []struct {
		labels, replicas, policy string
		allowed                  bool
	}{
		{`{"app":"web"}`, `1`, `"Always"`, true},
		{`{"app":"web"}`, `null`, `null`, true},
		{`null`, `1`, `"Always"`, false},
		{`{"app":null}`, `1`, `"Always"`, false},
	} {
		object := fmt.Sprintf(`{"apiVersion":"apps.kruise.io/v1beta1","metadata":{"name":"a","namespace":"b"},"spec":{"replicas":%s,
			"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":%s},"spec":{"restartPolicy":%s,"containers":[{"name":"a","image":"i"}]}}}}`,
			c.replicas, c.labels, c.policy)
		got := handler.Handle(t.Context(), &admission.Request{Operation: admission.Create, Object: []byte(object)})
		if got.Allowed != c.allowed {
			t.Errorf("%s: %+v", object, got.Status)
		}
	}
}
