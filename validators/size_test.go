package validators_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/webhook/admission"
)

// What rules go through one by one is bounded, and what they leave to the API server is not.
func TestListsAreBounded(t *testing.T) {
	engine := newEngine(t)
	list := func(n int, element string) string { return strings.Repeat(element+",", n-1) + element }
	cloneSet := func(env, names int) []byte {
		return fmt.Appendf(nil, `{"apiVersion":"apps.kruise.io/v1beta1","kind":"CloneSet","metadata":{"name":"a","namespace":"shop","labels":{"n":"%d"}},"spec":{
			"selector":{"matchLabels":{"a":"b"}},"scaleStrategy":{"podsToDelete":[%s]},"template":{"metadata":{"labels":{"a":"b"}},
			"spec":{"containers":[{"name":"a","image":"a","env":[%s]}]}}}}`, env+names, list(names, `""`), list(env, `{"name":"A"}`))
	}
	sidecarSet := func(containers, transfers int) []byte {
		return fmt.Appendf(nil, `{"apiVersion":"apps.kruise.io/v1beta1","kind":"SidecarSet","metadata":{"name":"a"},"spec":{"selector":{"matchLabels":{"a":"b"}},
			"containers":[%s,{"name":"b","image":"b","transferEnv":[%s]}]}}`, list(containers, `{"name":"a","image":"a","args":["1","2","3","4","5"]}`), list(transfers, `{}`))
	}
	for name, c := range map[string]struct {
		kind, field string
		object      []byte
	}{
		"a list":               {kind: "CloneSet", object: cloneSet(1, 20_001), field: "spec.scaleStrategy.podsToDelete"},
		"a template":           {kind: "CloneSet", object: cloneSet(40_000, 1)},
		"parts of containers":  {kind: "SidecarSet", object: sidecarSet(2500, 1)},
		"containers":           {kind: "SidecarSet", object: sidecarSet(20_001, 1), field: "spec.containers"},
		"what containers hand": {kind: "SidecarSet", object: sidecarSet(1, 20_001), field: "spec.containers[1].transferEnv"},
	} {
		t.Run(name, func(t *testing.T) {
			req := &admission.Request{Operation: admission.Create, Name: "a", Object: c.object}
			got := engine.Handler(schema.GroupKind{Group: "apps.kruise.io", Kind: c.kind}).Handle(t.Context(), req)
			bounded := got.Status != nil && strings.Contains(got.Status.Message, "must have at most 20000 items and fields")
			if got.Fault != 0 || bounded != (c.field != "") || bounded && (got.Status.Code != 422 || got.Status.Details.Causes[0].Field != c.field) {
				t.Errorf("%+v", got.Status)
			}
		})
	}
}
