package conformance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

const crdDir = "../../charts/kruise/files/crds"

// readCRDs reads the generated CustomResourceDefinitions by plural name.
func readCRDs(t *testing.T) map[string]*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(crdDir, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	crds := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(data, crd); err != nil {
			t.Fatalf("reading %s: %v", file, err)
		}
		crds[crd.Spec.Names.Plural] = crd
	}
	return crds
}

func versionOf(crd *apiextensionsv1.CustomResourceDefinition, name string) *apiextensionsv1.CustomResourceDefinitionVersion {
	for i := range crd.Spec.Versions {
		if crd.Spec.Versions[i].Name == name {
			return &crd.Spec.Versions[i]
		}
	}
	return nil
}

// flatten writes a schema in the tables' notation. Like the tables it does not descend into arrays that are a map's
// values.
func flatten(schema *apiextensionsv1.JSONSchemaProps) map[string]field {
	fields := map[string]field{}
	flattenObject(schema, "", fields)
	return fields
}

func flattenObject(schema *apiextensionsv1.JSONSchemaProps, prefix string, fields map[string]field) {
	for name := range schema.Properties {
		child := schema.Properties[name]
		path := strings.TrimPrefix(prefix+"."+name, ".")
		flattenValue(&child, path, slices.Contains(schema.Required, name), fields)
	}
}

func flattenValue(schema *apiextensionsv1.JSONSchemaProps, path string, required bool, fields map[string]field) {
	fields[path] = field{Type: typeOf(schema), Required: required, Constraints: constraintsOf(schema)}
	flattenObject(schema, path, fields)
	switch {
	case schema.Items != nil && !strings.HasSuffix(path, "{}"):
		flattenValue(schema.Items.Schema, path+"[]", false, fields)
	case schema.AdditionalProperties != nil:
		flattenValue(schema.AdditionalProperties.Schema, path+"{}", false, fields)
	}
}

func typeOf(schema *apiextensionsv1.JSONSchemaProps) string {
	if schema.XIntOrString {
		return "int-or-string"
	}
	return schema.Type
}

// constraintsOf lists what a schema demands of a value beyond its type; what the tables have no word for is listed in
// full, so that it cannot match any row.
func constraintsOf(schema *apiextensionsv1.JSONSchemaProps) string {
	var list []string
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if schema.XPreserveUnknownFields != nil && *schema.XPreserveUnknownFields {
		add("preserve-unknown")
	}
	if schema.Format != "" {
		add("format=%s", schema.Format)
	}
	if schema.Minimum != nil {
		add("minimum=%v", *schema.Minimum)
	}
	if schema.MinLength != nil {
		add("minLength=%d", *schema.MinLength)
	}
	if schema.MaxLength != nil {
		add("maxLength=%d", *schema.MaxLength)
	}
	if schema.Pattern != "" {
		add("pattern=%s", schema.Pattern)
	}
	if len(schema.Enum) > 0 {
		add("enum=%s", enumOf(schema))
	}
	if schema.Default != nil {
		add("default=%s", schema.Default.Raw)
	}
	if schema.XListType != nil {
		add("listType=%s", *schema.XListType)
	}
	if len(schema.XListMapKeys) > 0 {
		add("listKeys=%s", strings.Join(schema.XListMapKeys, ","))
	}
	return join(append(list, unnamedConstraints(schema)...))
}

func enumOf(schema *apiextensionsv1.JSONSchemaProps) string {
	values := make([]string, 0, len(schema.Enum))
	for _, raw := range schema.Enum {
		var value string
		if err := json.Unmarshal(raw.Raw, &value); err != nil {
			value = string(raw.Raw)
		}
		values = append(values, value)
	}
	return strings.Join(values, "|")
}

// unnamedConstraints strips everything the tables speak of, or that demands nothing, and reports what is left.
func unnamedConstraints(schema *apiextensionsv1.JSONSchemaProps) []string {
	rest := *schema
	rest.Description, rest.Title, rest.Type, rest.Format, rest.Pattern = "", "", "", "", ""
	rest.Minimum, rest.MinLength, rest.MaxLength = nil, nil, nil
	rest.Enum, rest.Default, rest.Required = nil, nil, nil
	rest.Properties, rest.AdditionalProperties, rest.Items = nil, nil, nil
	rest.XPreserveUnknownFields, rest.XListType, rest.XListMapKeys = nil, nil, nil
	rest.XMapType = nil // how server-side apply merges an object, which the tables do not record
	if rest.XIntOrString {
		rest.XIntOrString, rest.AnyOf = false, nil
	}
	data, err := json.Marshal(rest)
	if err != nil {
		return []string{err.Error()}
	}
	if string(data) == "{}" {
		return nil
	}
	return []string{string(data)}
}
