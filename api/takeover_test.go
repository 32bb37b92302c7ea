package api_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/api"
)

// TestTakeoverKeepsEveryField reads objects as a running OpenKruise left them, strictly, and writes them again. Two
// differences are allowed: k8s.io types no longer write an empty creationTimestamp, and a false enablePVCReuse comes
// back from the schema's default.
func TestTakeoverKeepsEveryField(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := api.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/takeover/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures found: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			for _, item := range readList(t, file) {
				roundTrip(t, scheme, item)
			}
		})
	}
}

func roundTrip(t *testing.T, scheme *runtime.Scheme, item map[string]any) {
	t.Helper()
	gvk := schema.FromAPIVersionAndKind(item["apiVersion"].(string), item["kind"].(string))
	obj, err := scheme.New(gvk)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(item)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(raw, obj); err != nil {
		t.Fatalf("decoding %s: %v", gvk, err)
	}
	out, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(normalise(decode(t, raw)), normalise(decode(t, out))); diff != "" {
		t.Errorf("%s lost or gained fields (-stored +written):\n%s", gvk, diff)
	}
}

func readList(t *testing.T, file string) []map[string]any {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Items []map[string]any }
	if err := yaml.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) == 0 {
		t.Fatalf("%s holds no objects", file)
	}
	return list.Items
}

func decode(t *testing.T, data []byte) any {
	t.Helper()
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

func normalise(value any) any {
	switch v := value.(type) {
	case map[string]any:
		if at, ok := v["creationTimestamp"]; ok && at == nil {
			delete(v, "creationTimestamp")
		}
		if v["enablePVCReuse"] == false {
			delete(v, "enablePVCReuse")
		}
		for _, child := range v {
			normalise(child)
		}
	case []any:
		for _, child := range v {
			normalise(child)
		}
	}
	return value
}
