package bundles

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
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

// sparse are two files of 1 MiB that take nothing of a tarball.
func sparse(t *testing.T) []byte {
	t.Helper()
	var plain, out bytes.Buffer
	archive := tar.NewWriter(&plain)
	for _, name := range []string{"a.txt", "b.txt"} {
		// The writer knows no sparse files, but for the words of their headers.
		header := &tar.Header{Name: name, Mode: 0o644, Format: tar.FormatPAX, PAXRecords: map[string]string{
			"XXX.sparse.size": "1048576", "XXX.sparse.numblocks": "1", "XXX.sparse.map": "0,0",
		}}
		if err := archive.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
	}
	zipped := gzip.NewWriter(&out)
	_, err := zipped.Write(bytes.ReplaceAll(plain.Bytes(), []byte("XXX.sparse"), []byte("GNU.sparse")))
	if err = errors.Join(err, zipped.Close()); err != nil {
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
		"sparse":            {sparse(t), "larger than 1 MiB"},
		"too deep":          {tarball(t, map[string]string{"org/org.rego": "package org\nx := " + strings.Repeat("(1+", 300) + "1" + strings.Repeat(")", 300)}), "org/org.rego:2: it nests"},
		"YAML that unfolds": {tarball(t, map[string]string{"data.yaml": "a: &a [" + strings.Repeat("x", 9000) + "]\nb: [" + strings.Repeat("*a, ", 1000) + "]"}), "data.yaml: with its aliases"},
		"no Rego":           {tarball(t, map[string]string{"org.rego": "package"}), "org.rego:1"},
	} {
		if _, err := unpack(Config{Name: "org", MaxMiB: 1}, c.tarball); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
