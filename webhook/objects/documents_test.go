package objects

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDocuments(t *testing.T) {
	const yaml = "# first\napiVersion: v1\nkind: Pod\nsize: 9007199254740993\n---\n---\napiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: A}\n- {apiVersion: v1, kind: BList, items: [{apiVersion: v1, kind: B}]}\n"
	found, err := Documents("f.yaml", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range found {
		got = append(got, d.Where+" "+string(d.JSON))
	}
	want := []string{
		`f.yaml:2 {"apiVersion":"v1","kind":"Pod","size":9007199254740993}`,
		`f.yaml:7 items[0] {"apiVersion":"v1","kind":"A"}`,
		`f.yaml:7 items[1] items[0] {"apiVersion":"v1","kind":"B"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDocumentsSayWhereTheMistakeIs(t *testing.T) {
	for content, want := range map[string]string{
		"a: b\n- c":      "reading f.yaml:2: ",
		"apiVersion: v1": "f.yaml:1: apiVersion and kind are needed",
		"apiVersion: v1\nkind: List\nitems: [{a: b}]": "f.yaml:1 items[0]: apiVersion and kind are needed",
		"apiVersion: v1\nkind: List\nitems: 7":        "f.yaml:1: ",
		"[1]":                                         "f.yaml:1: a Kubernetes object is needed",
	} {
		if _, err := Documents("f.yaml", []byte(content)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", content, err, want)
		}
	}
}
