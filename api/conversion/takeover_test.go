package conversion

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// TestReadsAsOpenKruiseDoes compares stored CloneSets with what a running OpenKruise served of them in v1alpha1. An empty
// object says there what its absence says here.
func TestReadsAsOpenKruiseDoes(t *testing.T) {
	served := readTakeover(t, "v1alpha1")
	for name, stored := range readTakeover(t, "v1beta1") {
		converted, err := Convert(stored, alphaApps)
		if err != nil {
			t.Fatal(err)
		}
		want, got := decoded(t, served[name]).(map[string]any), decoded(t, []byte(plainText(t, string(converted.Object)))).(map[string]any)
		for _, part := range []string{"spec", "status"} {
			if diff := cmp.Diff(withoutEmpty(want[part]), withoutEmpty(got[part])); diff != "" {
				t.Errorf("%s of %s (-OpenKruise +got):\n%s", part, name, diff)
			}
		}
		if back := through(t, converted.Object, nothing, betaApps); cmp.Diff(decoded(t, stored), decoded(t, []byte(back))) != "" {
			t.Errorf("%s comes back changed", name)
		}
	}
}

// readTakeover reads CloneSets by name.
func readTakeover(t *testing.T, version string) map[string]jsontext.Value {
	t.Helper()
	data, err := os.ReadFile("../testdata/takeover/clonesets." + version + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := yaml.YAMLToJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Items []json.RawMessage }
	if err := json.Unmarshal(raw, &list); err != nil || len(list.Items) == 0 {
		t.Fatalf("%d items: %v", len(list.Items), err)
	}
	byName := map[string]jsontext.Value{}
	for _, item := range list.Items {
		name := decoded(t, jsontext.Value(item)).(map[string]any)["metadata"].(map[string]any)["name"].(string)
		byName[name] = jsontext.Value(item)
	}
	return byName
}

func withoutEmpty(value any) any {
	object, ok := value.(map[string]any)
	if !ok {
		return value
	}
	kept := map[string]any{}
	for name, member := range object {
		member = withoutEmpty(member)
		if inner, isObject := member.(map[string]any); !isObject || len(inner) > 0 {
			kept[name] = member
		}
	}
	return kept
}
