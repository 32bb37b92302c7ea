package conversion

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/jsontree"
)

// example is what an object of one version, without apiVersion and kind, becomes in the other.
type example struct {
	name string
	// from and want are YAML.
	from, want string
}

// hashes are those in records, which no hand can work out.
var hashes = regexp.MustCompile(`\\"(was|with)\\":\\"[^"]*\\"`)

// runExamples converts each example of a kind, given by its group and name, to a version.
func runExamples(t *testing.T, groupKind, to string, examples []example) {
	t.Helper()
	group, kind, _ := strings.Cut(groupKind, "/")
	from := Alpha
	if to == Alpha {
		from = Beta
	}
	for _, e := range examples {
		t.Run("to "+to+": "+e.name, func(t *testing.T) {
			object, want := object(t, group+"/"+from, kind, e.from), object(t, group+"/"+to, kind, e.want)
			converted, err := Convert(object, group+"/"+to)
			if err != nil {
				t.Fatal(err)
			}
			got := hashes.ReplaceAll(joined(t, converted.Object), []byte(`\"$1\":\"#\"`))
			if diff := cmp.Diff(decoded(t, want), decoded(t, got)); diff != "" {
				t.Errorf("converted (-want +got):\n%s", diff)
			}
		})
	}
}

// joined puts what is kept, field by field, into one annotation of either version, in the order of the object's fields.
func joined(t *testing.T, object jsontext.Value) jsontext.Value {
	t.Helper()
	top, err := jsontree.Parse(object)
	if err != nil {
		t.Fatal(err)
	}
	order := func(r record) string {
		for i, root := range []string{"/spec", "/status", "/metadata/labels", "/metadata/annotations"} {
			if strings.HasPrefix(r.path, root) {
				return strconv.Itoa(i) + strings.ReplaceAll(r.path, "/", "\x00")
			}
		}
		return r.path
	}
	for _, version := range []string{Alpha, Beta} {
		var records []record
		for _, annotation := range (&work{top: top.Clone()}).takeKept(version) {
			read, err := readRecords(annotation.text)
			if err != nil {
				t.Fatal(err)
			}
			if len(read) != 1 || annotation.key != leafKey(version, read[0]) {
				t.Errorf("annotation %s has %s", annotation.key, annotation.text)
			}
			records = append(records, read...)
		}
		if records = whole(records); len(records) > 0 {
			slices.SortFunc(records, func(a, b record) int { return strings.Compare(order(a), order(b)) })
			w := &work{top: top}
			for _, key := range top.Object("metadata").Object(annotations).Names() {
				if isKept(key, version) {
					w.removeTag(annotations, key)
				}
			}
			w.setTag(annotations, KeptAnnotation(version), string(appendRecords(nil, records)))
		}
	}
	return top.Bytes()
}

// object reads YAML. Values keep their spelling.
func object(t testing.TB, apiVersion, kind, text string) jsontext.Value {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &members); err != nil {
		t.Fatal(err)
	}
	members["apiVersion"], members["kind"] = json.RawMessage(`"`+apiVersion+`"`), json.RawMessage(`"`+kind+`"`)
	raw, err = json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// through converts an object to each version in turn, and lets edit change it before the last.
func through(t *testing.T, raw jsontext.Value, edit func(string) string, apiVersions ...string) string {
	t.Helper()
	for i, apiVersion := range apiVersions {
		if i == len(apiVersions)-1 {
			raw = jsontext.Value(edit(string(raw)))
		}
		converted, err := Convert(raw, apiVersion)
		if err != nil {
			t.Fatal(err)
		}
		raw = converted.Object
	}
	return string(raw)
}

// sameYAML compares an object with YAML.
func sameYAML(t *testing.T, apiVersion, kind, want, got string) {
	t.Helper()
	if diff := cmp.Diff(decoded(t, object(t, apiVersion, kind, want)), decoded(t, jsontext.Value(got))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// plainText is an object without what conversions keep in it.
func plainText(t *testing.T, raw string) string {
	t.Helper()
	top, err := jsontree.Parse(jsontext.Value(raw))
	if err != nil {
		t.Fatal(err)
	}
	(&work{top: top}).takeKept(Alpha)
	return string(top.Bytes())
}
