package bundles

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const rules = `# METADATA
# scope: package
# custom: {match: [{apiGroups: [""], resources: [configmaps]}]}
package org

deny contains sprintf("%s %v", [data.org.words.no, data.parameters.limit]) if to_number(input.request.object.data.n) > data.parameters.limit
`

// files are those of a bundle whose rules read its data and its settings.
func files(word string) map[string]string {
	return map[string]string{
		".manifest": `{"roots": ["org"]}`, "org/org.rego": rules, "org/words/data.json": `{"no": "` + word + `"}`,
	}
}

func tarball(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	archive := tar.NewWriter(zipped)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(files[name]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(files[name])); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestUnpack(t *testing.T) {
	found, err := unpack(Config{Name: "org"}, tarball(t, files("above")))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"org/org.rego": rules}, found.modules); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]any{"org": map[string]any{"words": map[string]any{"no": "above"}}}, found.data); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsNoBundle(t *testing.T) {
	outside := files("x")
	outside["elsewhere/data.json"] = "{}"
	large := files("x")
	large["org/large.txt"] = strings.Repeat("x", 2<<20)
	for name, c := range map[string]struct {
		tarball []byte
		want    string
	}{
		"no archive":        {[]byte("<html>"), "gzipped tarball"},
		"outside its roots": {tarball(t, outside), "roots"},
		"too large":         {tarball(t, large), "larger than 1 MiB"},
		"no Rego":           {tarball(t, map[string]string{"org.rego": "package"}), "org.rego:1"},
	} {
		if _, err := unpack(Config{Name: "org", MaxMiB: 1}, c.tarball); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
