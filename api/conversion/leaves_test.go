package conversion

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/jsontree"
)

// annotationsOf are the annotations of a v1beta1 StatefulSet's v1alpha1 form.
func annotationsOf(t *testing.T, spec string) map[string]string {
	t.Helper()
	alpha := through(t, object(t, betaApps, "StatefulSet", `{metadata: {name: web}, spec: `+spec+`}`), nothing, alphaApps)
	top, err := jsontree.Parse(jsontext.Value(alpha))
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]string)
	if tags := tags(top, annotations); tags != nil {
		for _, m := range tags.Members() {
			found[m.Name] = m.Value.Text()
		}
	}
	return found
}

// TestEachFieldIsKeptByItself: what a manager gives up by a server-side apply in v1beta1 is taken away only if no
// annotation that says it is left beside those of the other fields, whose names and values must not change.
func TestEachFieldIsKeptByItself(t *testing.T) {
	const (
		ordinals  = `reserveOrdinals: [0, "3-4"]`
		scale     = `scaleStrategy: {maxUnavailable: 100%}`
		handler   = `labelsHandler: {a/b: c, d~e: f}`
		preDelete = `preDelete: {markPodNotReady: true, ` + handler + `}`
		inPlace   = `inPlaceUpdate: {finalizersHandler: [x]}`
	)
	all := annotationsOf(t, `{`+ordinals+`, `+scale+`, lifecycle: {`+preDelete+`, `+inPlace+`}}`)
	want := []string{
		`[{"path":"/spec/lifecycle","in":"/inPlaceUpdate/finalizersHandler","value":["x"]}]`,
		`[{"path":"/spec/lifecycle","in":"/preDelete/labelsHandler/a~1b","value":"c"}]`,
		`[{"path":"/spec/lifecycle","in":"/preDelete/labelsHandler/d~0e","value":"f"}]`,
		`[{"path":"/spec/lifecycle","in":"/preDelete/markPodNotReady","value":true}]`,
		`[{"path":"/spec/reserveOrdinals","value":[0,"3-4"]}]`,
		`[{"path":"/spec/scaleStrategy","in":"/maxUnavailable","value":"100%"}]`,
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Values(all))); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	for _, less := range []string{
		`{` + scale + `, lifecycle: {` + preDelete + `, ` + inPlace + `}}`,
		`{` + ordinals + `, ` + scale + `, lifecycle: {` + preDelete + `}}`,
		`{` + ordinals + `, lifecycle: {preDelete: {` + handler + `}, ` + inPlace + `}}`,
		`{}`,
	} {
		for key, text := range annotationsOf(t, less) {
			if all[key] != text {
				t.Errorf("%s has %s: %s, which all have as %q", less, key, text, all[key])
			}
		}
	}
}

// TestPartsOfAFieldComeTogether: whatever is left of them, and in whatever order.
func TestPartsOfAFieldComeTogether(t *testing.T) {
	got := through(t, object(t, alphaApps, "StatefulSet", `
metadata:
  annotations:
    conversion.fairlead.io/v1beta1-fields.a: '[{"path":"/spec/lifecycle","in":"/preDelete/markPodNotReady","value":true}]'
    conversion.fairlead.io/v1beta1-fields.b: '[{"path":"/spec/reserveOrdinals","value":[7]}]'
    conversion.fairlead.io/v1beta1-fields.c: '[{"path":"/spec/lifecycle","in":"/preDelete/labelsHandler/d~1e","value":"f"}]'
    conversion.fairlead.io/v1beta1-fieldsx: mine
    conversion.fairlead.io/v1alpha1-fields.d: '[{"path":"/spec/replicas","value":5}]'
spec: {replicas: 1}`), nothing, betaApps)
	sameYAML(t, betaApps, "StatefulSet", `
metadata: {annotations: {conversion.fairlead.io/v1beta1-fieldsx: mine}}
spec: {replicas: 1, reserveOrdinals: [7], lifecycle: {preDelete: {markPodNotReady: true, labelsHandler: {d/e: f}}}}`, got)
}

func TestPartsThatLeadNowhere(t *testing.T) {
	for _, kept := range []string{
		`[{"path":"/spec/lifecycle","in":"preDelete","value":1}]`,
		`[{"path":"/spec/lifecycle","in":"/preDelete"}]`,
		`[{"path":"/spec/lifecycle","in":7,"value":1}]`,
	} {
		if _, err := Convert(withKept(t, kept), betaApps); err == nil || !strings.Contains(err.Error(), "[conversion.fairlead.io/v1beta1-fields]: ") {
			t.Errorf("%s: %v", kept, err)
		}
	}
	// Parts that contradict each other are no fault of ours, and end in an object of the type all the same.
	for _, kept := range []string{
		`[{"path":"/spec/reserveOrdinals","in":"/a","value":1}]`,
		`[{"path":"/spec/lifecycle","in":"/preDelete","value":1},{"path":"/spec/lifecycle","in":"/preDelete/markPodNotReady","value":true}]`,
		`[{"path":"/spec/lifecycle","in":"/","value":1},{"path":"/spec/lifecycle","in":"//","value":true}]`,
		`[{"path":"/spec/lifecycle","value":{}},{"path":"/spec/lifecycle","in":"/preDelete/markPodNotReady","value":true}]`,
	} {
		converted, err := Convert(withKept(t, kept), betaApps)
		if err == nil && byKindOf("StatefulSet").decode(mustParse(t, converted.Object)) != nil {
			t.Errorf("%s: %s", kept, converted.Object)
		}
	}
}

func byKindOf(name string) *kind {
	for i := range kinds {
		if kinds[i].Kind == name {
			return &kinds[i]
		}
	}
	return nil
}

func mustParse(t *testing.T, raw jsontext.Value) *jsontree.Node {
	t.Helper()
	top, err := jsontree.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return top
}
