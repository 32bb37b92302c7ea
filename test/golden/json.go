package golden

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/google/go-cmp/cmp"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// T is a testing.TB or a rapid.T.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Fatal(args ...any)
}

// Decode reads JSON into maps, slices, strings, booleans and json.Numbers.
func Decode(t T, raw []byte) any {
	t.Helper()
	value, err := decode(raw)
	if err != nil {
		t.Fatalf("decoding %.200s: %v", raw, err)
	}
	return value
}

func decode(raw []byte) (value any, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is data behind the document")
	}
	return value, nil
}

// YAML reads one YAML document as Decode reads JSON. Integers keep their digits.
func YAML(t T, raw []byte) any {
	t.Helper()
	converted, err := yaml.YAMLToJSON(raw)
	if err != nil {
		t.Fatalf("reading YAML: %v", err)
	}
	return Decode(t, converted)
}

// Objects reads all documents of the YAML files in a folder, in the order of their names, as JSON. A folder that does
// not exist has none.
func Objects(t T, folder string) (objects [][]byte) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(raw)))
		for {
			document, err := documents.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("reading %s: %v", file, err)
			}
			converted, err := yaml.YAMLToJSON(document)
			if err != nil {
				t.Fatalf("reading %s: %v", file, err)
			}
			if string(converted) != "null" {
				objects = append(objects, converted)
			}
		}
	}
	return objects
}

// At looks up a path of member names and indexes in a decoded document; nil if it is not there.
func At(document any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			object, _ := document.(map[string]any)
			document = object[step]
		case int:
			array, _ := document.([]any)
			if step < 0 {
				step += len(array)
			}
			if step < 0 || step >= len(array) {
				return nil
			}
			document = array[step]
		}
	}
	return document
}

// Each is one member of every element of a list.
func Each(list any, member string) (values []any) {
	elements, _ := list.([]any)
	for _, e := range elements {
		values = append(values, At(e, member))
	}
	return values
}

// Equal fails the test when two decoded documents differ.
func Equal(t T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", what, diff)
	}
}

// Encode writes what Decode reads.
func Encode(t T, value any) []byte {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
