package conversion

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"
)

// definitions are the chart's, by name.
func definitions(t rapid.TB) map[string]*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	files, err := filepath.Glob("../../charts/kruise/files/crds/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no definitions: %v", err)
	}
	all := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(data, crd); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all[crd.Name] = crd
	}
	return all
}

// schemaOf is the schema of a version of a resource.
func schemaOf(t rapid.TB, crds map[string]*apiextensionsv1.CustomResourceDefinition, r Resource, version string) *apiextensionsv1.JSONSchemaProps {
	t.Helper()
	crd := crds[r.Definition()]
	if crd == nil {
		t.Fatalf("there is no definition %s", r.Definition())
	}
	for i := range crd.Spec.Versions {
		if crd.Spec.Versions[i].Name == version {
			return crd.Spec.Versions[i].Schema.OpenAPIV3Schema
		}
	}
	t.Fatalf("%s has no version %s", crd.Name, version)
	return nil
}

// TestResourcesAreTheDefinitionsWithTwoVersions.
func TestResourcesAreTheDefinitionsWithTwoVersions(t *testing.T) {
	crds := definitions(t)
	known := map[string]bool{}
	for _, r := range Resources() {
		known[r.Definition()] = true
		crd := crds[r.Definition()]
		if crd == nil || crd.Spec.Group != r.Group || crd.Spec.Names.Kind != r.Kind {
			t.Errorf("%s: the chart has no such kind", r.Definition())
			continue
		}
		alpha, beta := asJSON(t, schemaOf(t, crds, r, Alpha)), asJSON(t, schemaOf(t, crds, r, Beta))
		if !r.Differs && alpha != beta {
			t.Errorf("%s: its versions differ", r.Definition())
		}
		if k := byKind[r.GroupKind]; r.Differs != (k.down != nil) || r.Differs != (k.typed != nil) {
			t.Errorf("%s: it lacks a translation, or needs none", r.Definition())
		}
	}
	for name, crd := range crds {
		if len(crd.Spec.Versions) > 1 && !known[name] {
			t.Errorf("%s has two versions and is not known", name)
		}
	}
}

// asJSON is a schema without what is said about it.
func asJSON(t *testing.T, schema *apiextensionsv1.JSONSchemaProps) string {
	t.Helper()
	raw, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		t.Fatal(err)
	}
	raw, err = json.Marshal(withoutDescriptions(value))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func withoutDescriptions(value any) any {
	object, ok := value.(map[string]any)
	if !ok {
		return value
	}
	for name, member := range object {
		if _, isText := member.(string); isText && name == "description" {
			delete(object, name)
			continue
		}
		object[name] = withoutDescriptions(member)
	}
	return object
}

// stored is an object as the API server has it after a conversion: fields that the schema lacks are gone, and members
// sorted.
func stored(t rapid.TB, raw jsontext.Value, schema *apiextensionsv1.JSONSchemaProps) jsontext.Value {
	t.Helper()
	value := decoded(t, raw)
	object := value.(map[string]any)
	for _, part := range []string{"spec", "status"} {
		if there, ok := object[part]; ok {
			property := schema.Properties[part]
			object[part] = pruned(there, &property)
		}
	}
	out, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// decoded keeps numbers as they are written.
func decoded(t rapid.TB, raw jsontext.Value) any {
	t.Helper()
	decoder := json.NewDecoder(newReader(raw))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return value
}

func pruned(value any, schema *apiextensionsv1.JSONSchemaProps) any {
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			property, known := schema.Properties[name]
			switch {
			case known:
				value[name] = pruned(member, &property)
			case schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil:
				value[name] = pruned(member, schema.AdditionalProperties.Schema)
			case !preserves(schema):
				delete(value, name)
			}
		}
	case []any:
		if schema.Items != nil && schema.Items.Schema != nil {
			for i := range value {
				value[i] = pruned(value[i], schema.Items.Schema)
			}
		}
	}
	return value
}

func preserves(schema *apiextensionsv1.JSONSchemaProps) bool {
	return schema.XPreserveUnknownFields != nil && *schema.XPreserveUnknownFields
}
