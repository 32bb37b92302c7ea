package conversion

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"pgregory.net/rapid"
)

func newReader(raw []byte) io.Reader { return bytes.NewReader(raw) }

// generator makes random objects that a schema allows, and on demand also ones that hold more than it knows.
type generator struct {
	*rand.Rand
	// unknown adds members that no schema knows, under names that other versions may have.
	unknown bool
	// updateTypes are those that a DaemonSet of the version may have.
	updateTypes []string
}

// words are values that mean something to one kind or another, and some that do not.
var words = []string{
	"", "a", "b", "ReCreate", "InPlaceIfPossible", "InPlaceOnly", "OnDelete", "RollingUpdate", "Surging", "Standard", "true", "false",
	"5", "20%", "007", "-3", "DELETE", "DELETE,EVICT", " UPDATE , ,RESIZE", "Unknown", "PreRecreateGrace", "True", "batch",
	"2026-11-29T17:37:40Z", "2026-11-29T19:37:40+02:00", "1970-01-01T00:00:00Z", `[{"name":"a", "ready":true,"restartCount":2}]`, "[]", "é\"\\\u2028<",
}

var tagKeys = []string{
	"plain", "apps.kruise.io/cloneset-scaling-exclude-preparing-delete", "apps.kruise.io/image-predownload-parallelism",
	"apps.kruise.io/image-predownload-timeout-seconds", "apps.kruise.io/image-predownload-min-updated-ready-pods",
	"apps.kruise.io/sidecarset-custom-version", "daemonset.kruise.io/progressive-create-pod", "crr.apps.kruise.io/unready-acquired",
	"crr.apps.kruise.io/sync-container-statuses", "kruise.io/pub-protect-operations", "pub.kruise.io/protect-total-replicas",
}

// unknownNames are those of fields that the other version has, at one place or another, and of none.
var unknownNames = []string{
	"x-new", "keys", "nodeTopologyKeys", "namespaceSelector", "namespaceLabelSelector", "rollingUpdate", "type", "partition", "namespace",
	"customVersion", "mode", "updateRevision", "daemonSetHash", "enablePVCReuse", "disablePVCReuse", "observedGeneration", "reserveOrdinals",
	"a/b~c", "updateStatus", "updatedRevision", "podUpdatePolicy", "name",
}

func (g *generator) chance(n int) bool { return g.IntN(n) == 0 }

func (g *generator) word() string { return words[g.IntN(len(words))] }

// object is a whole object of a kind.
func (g *generator) object(r Resource, version string, schema *apiextensionsv1.JSONSchemaProps) jsontext.Value {
	g.updateTypes = []string{"Standard", "InPlaceIfPossible"}
	if version == Alpha {
		g.updateTypes = append(g.updateTypes, "Surging")
	}
	metadata := map[string]any{
		"name": "web", "namespace": "shop", "uid": "1-2", "resourceVersion": "7", "generation": json.Number("9007199254740993"),
		"managedFields": []any{map[string]any{"apiVersion": "apps.kruise.io/v1alpha1", "fieldsV1": map[string]any{"f:spec": map[string]any{}}}},
	}
	for _, which := range []string{labels, annotations} {
		if tags := g.tags(r); len(tags) > 0 {
			metadata[which] = tags
		}
	}
	object := map[string]any{"apiVersion": r.Group + "/" + version, "kind": r.Kind, "metadata": metadata}
	for _, part := range []string{"spec", "status"} {
		if property := schema.Properties[part]; !g.chance(8) {
			object[part] = g.value(&property, 0)
		}
	}
	if g.unknown && g.chance(3) {
		object["extra"] = g.any(2)
	}
	raw, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	return raw
}

func (g *generator) tags(r Resource) map[string]any {
	tags := map[string]any{}
	for range g.IntN(4) {
		key := tagKeys[g.IntN(len(tagKeys))]
		tags[key] = g.word()
		// What a budget cannot read is refused, which another test looks at.
		switch {
		case r.Kind != "PodUnavailableBudget":
		case strings.HasSuffix(key, "operations"):
			tags[key] = []string{"", "DELETE", "EVICT, DELETE,", " UPDATE , ,RESIZE"}[g.IntN(4)]
		case strings.HasSuffix(key, "replicas"):
			tags[key] = []string{"5", " 007", "2147483647"}[g.IntN(3)]
		}
	}
	return tags
}

func (g *generator) value(schema *apiextensionsv1.JSONSchemaProps, depth int) any {
	switch {
	case g.chance(25) && depth > 1:
		return nil
	case schema.XIntOrString && g.chance(2), schema.Format == "int32":
		return json.Number(strconv.Itoa([]int{0, 1, 5, -7, 2147483647}[g.IntN(5)]))
	case schema.Type == "integer":
		return json.Number(strconv.FormatInt([]int64{0, 1, 5, -7, 9007199254740993}[g.IntN(5)], 10))
	case schema.Format == "date-time":
		return []string{"2026-11-29T17:37:40Z", "2026-11-29T19:37:40+02:00", "1970-01-01T00:00:00Z"}[g.IntN(3)]
	case schema.XIntOrString, schema.Type == "string":
		if len(schema.Enum) > 0 {
			var one string
			_ = json.Unmarshal(schema.Enum[g.IntN(len(schema.Enum))].Raw, &one)
			return one
		}
		return g.word()
	case schema.Type == "boolean":
		return g.chance(2)
	case schema.Type == "number":
		return json.Number("1.50")
	case schema.Type == "array" && schema.Items != nil:
		return g.list(schema, depth)
	case schema.Type == "object" && (len(schema.Properties) > 0 || schema.AdditionalProperties != nil):
		return g.members(schema, depth)
	default:
		return map[string]any{"x": g.any(3)}
	}
}

func (g *generator) list(schema *apiextensionsv1.JSONSchemaProps, depth int) any {
	list := make([]any, 0, 3)
	for range g.IntN(4) {
		if element := g.value(schema.Items.Schema, depth+1); element != nil {
			list = append(list, element)
		}
	}
	return list
}

func (g *generator) members(schema *apiextensionsv1.JSONSchemaProps, depth int) any {
	object := map[string]any{}
	for name, property := range g.sorted(schema.Properties) {
		switch {
		case !slices.Contains(schema.Required, name) && !g.chance(1+depth), g.chance(10):
		case name == "protectOperations":
			object[name] = []any{budgetOperations[g.IntN(4)], "DELETE"}
		case name == "rollingUpdateType":
			object[name] = g.updateTypes[g.IntN(len(g.updateTypes))]
		default:
			object[name] = g.value(&property, depth+1)
		}
	}
	if extra := schema.AdditionalProperties; extra != nil && extra.Schema != nil {
		for range g.IntN(3) {
			if value := g.value(extra.Schema, depth+1); value != nil {
				object["key-"+strconv.Itoa(g.IntN(4))] = value
			}
		}
	}
	if g.unknown && g.chance(4) && len(schema.Properties) > 0 {
		name := unknownNames[g.IntN(len(unknownNames))]
		if _, known := schema.Properties[name]; !known {
			object[name] = g.fitting(name)
		}
	}
	return object
}

// fitting is a value for a field of a name that the other version may have, whose kind it then must have.
func (g *generator) fitting(name string) any {
	switch name {
	case "rollingUpdate", "namespaceSelector", "namespaceLabelSelector", "updateStatus":
		return map[string]any{}
	case "enablePVCReuse", "disablePVCReuse":
		return g.chance(2)
	case "x-new", "a/b~c", "partition", "keys", "nodeTopologyKeys", "reserveOrdinals", "observedGeneration":
		return g.any(2)
	default:
		return g.word()
	}
}

// sorted walks a map in an order that depends on the names only, so that a seed always makes the same object.
func (g *generator) sorted(properties map[string]apiextensionsv1.JSONSchemaProps) func(func(string, apiextensionsv1.JSONSchemaProps) bool) {
	names := make([]string, 0, len(properties))
	for name := range properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return func(yield func(string, apiextensionsv1.JSONSchemaProps) bool) {
		for _, name := range names {
			if !yield(name, properties[name]) {
				return
			}
		}
	}
}

// any is a value of any shape.
func (g *generator) any(depth int) any {
	kind := g.IntN(7)
	if depth == 0 {
		kind %= 5
	}
	switch kind {
	case 0:
		return json.Number("9223372036854775807")
	case 1:
		return json.Number("1e+400")
	case 2:
		return nil
	case 3:
		return g.word()
	case 4:
		return g.chance(2)
	case 5:
		return []any{g.any(depth - 1), g.any(depth - 1)}
	default:
		return map[string]any{fmt.Sprintf("m%d", g.IntN(3)): g.any(depth - 1), "name": g.any(depth - 1)}
	}
}

// edited is an object of which a client has replaced one part by that of another object.
func (g *generator) edited(t rapid.TB, raw, other jsontext.Value) jsontext.Value {
	t.Helper()
	object, donor := decoded(t, raw).(map[string]any), decoded(t, other).(map[string]any)
	part := []string{"spec", "status"}[g.IntN(2)]
	to, isObject := object[part].(map[string]any)
	from, alsoObject := donor[part].(map[string]any)
	if isObject && alsoObject {
		for name := range to {
			if g.chance(3) {
				delete(to, name)
			}
		}
		for name, value := range from {
			if g.chance(2) {
				to[name] = value
			}
		}
	}
	out, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
