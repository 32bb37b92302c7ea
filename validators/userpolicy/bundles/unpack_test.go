package bundles

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/bundle"

	"github.com/fairlead-io/fairlead/test/tarball"
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
	found, err := unpack(Config{Name: "org"}, tarball.Of(t, files("above")))
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
		"outside its roots": {tarball.Of(t, outside), "roots"},
		"too large":         {tarball.Of(t, large), "larger than 1 MiB"},
		"sparse":            {sparse(t), "larger than 1 MiB"},
		"too deep":          {tarball.Of(t, map[string]string{"org/org.rego": "package org\nx := " + strings.Repeat("(1+", 300) + "1" + strings.Repeat(")", 300)}), "org/org.rego:2: it nests"},
		"YAML that unfolds": {tarball.Of(t, map[string]string{"data.yaml": "a: &a [" + strings.Repeat("x", 9000) + "]\nb: [" + strings.Repeat("*a, ", 1000) + "]"}), "data.yaml: with its aliases"},
		"no Rego":           {tarball.Of(t, map[string]string{"org.rego": "package"}), "org.rego:1"},
	} {
		if _, err := unpack(Config{Name: "org", MaxMiB: 1}, c.tarball); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// signed is a bundle with a signature by a key under the id of a key.
func signed(t *testing.T, key *rsa.PrivateKey, id, word string) []byte {
	t.Helper()
	read, err := bundle.NewReader(bytes.NewReader(tarball.Of(t, files(word)))).WithRegoVersion(ast.RegoV1).Read()
	if err != nil {
		t.Fatal(err)
	}
	secret := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	if err := read.GenerateSignature(bundle.NewSigningConfig(string(secret), "RS256", ""), id, false); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := bundle.NewWriter(&out).UseModulePath(true).Write(read); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// replaced is a tarball with another text in one of its files.
func replaced(t *testing.T, tarball []byte, name, text string) []byte {
	t.Helper()
	zipped, err := gzip.NewReader(bytes.NewReader(tarball))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	again := gzip.NewWriter(&out)
	from, to, found := tar.NewReader(zipped), tar.NewWriter(again), false
	for {
		header, err := from.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		content, failed := io.ReadAll(from)
		if strings.Trim(header.Name, "/") == name {
			content, found = []byte(text), true
		}
		header.Size = int64(len(content))
		if err := errors.Join(err, failed, to.WriteHeader(header)); err != nil {
			t.Fatal(err)
		}
		if _, err := to.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(to.Close(), again.Close()); err != nil || !found {
		t.Fatalf("replacing %s: found %v, %v", name, found, err)
	}
	return out.Bytes()
}

// With a key only what it has signed is taken, whole and unchanged.
func TestSignatures(t *testing.T) {
	ours, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(&ours.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}), 0o600); err != nil {
		t.Fatal(err)
	}
	good := signed(t, ours, "default", "no")
	for name, c := range map[string]struct {
		tarball []byte
		key     Key
		refused bool
	}{
		"ours":              {good, Key{File: file}, false},
		"another id":        {signed(t, ours, "second", "no"), Key{File: file, ID: "second"}, false},
		"without a key":     {good, Key{}, false},
		"theirs":            {signed(t, theirs, "default", "no"), Key{File: file}, true},
		"none":              {tarball.Of(t, files("no")), Key{File: file}, true},
		"changed data":      {replaced(t, good, "data.json", `{"org": {"words": {"no": "yes"}}}`), Key{File: file}, true},
		"changed rules":     {replaced(t, good, "org/org.rego", "package org\n"), Key{File: file}, true},
		"no such key":       {good, Key{File: file + ".gone"}, true},
		"another algorithm": {good, Key{File: file, Algorithm: "HS256"}, true},
	} {
		got, err := unpack(Config{Name: "org", Key: c.key}, c.tarball)
		if c.refused != (err != nil) {
			t.Errorf("%s: %v", name, err)
		}
		if !c.refused && len(got.modules) != 1 {
			t.Errorf("%s: the modules are %v", name, slices.Collect(maps.Keys(got.modules)))
		}
	}
}
