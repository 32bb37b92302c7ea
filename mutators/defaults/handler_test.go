package defaults

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/webhook/admission"
)

func TestHandler(t *testing.T) {
	const object = `{"metadata":{"name":"s"},"spec":{"containers":[{"name":"c","image":"a:1"}]}}`
	const deleted = `{"metadata":{"name":"s","deletionTimestamp":"2026-01-02T03:04:05Z"},"spec":{}}`
	defaulted, err := SidecarSet([]byte(object))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		request admission.Request
		patched bool
		code    int32
		message string
	}{
		{"create", admission.Request{Operation: admission.Create, Object: []byte(object)}, true, 0, ""},
		{"update", admission.Request{Operation: admission.Update, Object: []byte(object)}, true, 0, ""},
		{"update of what is defaulted", admission.Request{Operation: admission.Update, Object: defaulted.Object}, false, 0, ""},
		{"update of what is being deleted", admission.Request{Operation: admission.Update, Object: []byte(deleted)}, false, 0, ""},
		{"create of what says that it is being deleted", admission.Request{Operation: admission.Create, Object: []byte(deleted)}, true, 0, ""},
		{"null is no time", admission.Request{Operation: admission.Update,
			Object: []byte(strings.Replace(object, `"name":"s"`, `"deletionTimestamp":null`, 1))}, true, 0, ""},
		{"delete", admission.Request{Operation: admission.Delete, OldObject: []byte(object)}, false, 0, ""},
		{"connect", admission.Request{Operation: admission.Connect, Object: []byte(object)}, false, 0, ""},
		{"status", admission.Request{Operation: admission.Update, SubResource: "status", Object: []byte(object)}, false, 0, ""},
		{"no object", admission.Request{Operation: admission.Create}, false, 400, "decoding SidecarSet: the request has no object"},
		{"no JSON", admission.Request{Operation: admission.Create, Object: []byte(`{`)}, false, 400, "decoding SidecarSet: "},
		{"no SidecarSet", admission.Request{Operation: admission.Create, Object: []byte(`{"spec":{"containers":7}}`)}, false, 400,
			"decoding SidecarSet: spec.containers: must be a list, not a number"},
	} {
		t.Run(c.name, func(t *testing.T) {
			response := NewSidecarSetHandler().Handle(t.Context(), &c.request)
			if patched := response.Patch != nil; patched != c.patched {
				t.Errorf("patch %s", response.Patch)
			}
			if response.Fault != 0 || response.Allowed != (c.code == 0) {
				t.Errorf("response %+v", response)
			}
			if c.code != 0 && (response.Status.Code != c.code || !strings.HasPrefix(response.Status.Message, c.message)) {
				t.Errorf("status %+v, want %d %s", response.Status, c.code, c.message)
			}
		})
	}
}
