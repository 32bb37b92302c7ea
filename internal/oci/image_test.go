package oci

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// program writes a file with the mode and returns its path.
func program(t *testing.T, content string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func entries(t *testing.T, img v1.Image) []string {
	t.Helper()
	layers, err := img.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("layers: %d, %v", len(layers), err)
	}
	r, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	var got []string
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return got
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%c %04o %s %s%s", h.Typeflag, h.Mode, h.Name, body, h.Linkname))
	}
}

func TestBuild(t *testing.T) {
	img, err := Build(Spec{
		Files:        map[string]string{"/usr/bin/tool": program(t, "x", 0o755), "/etc/conf": program(t, "y", 0o640)},
		Links:        map[string]string{"/bin/sh": "busybox"},
		Entrypoint:   []string{"/usr/bin/tool", "run"},
		Env:          []string{"VERSION=v1"},
		User:         "1000",
		Architecture: "arm64",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"5 0755 bin ", "2 0777 bin/sh busybox", "5 0755 etc ", "0 0640 etc/conf y", "5 1777 tmp ",
		"5 0755 usr ", "5 0755 usr/bin ", "0 0755 usr/bin/tool x",
	}
	if diff := cmp.Diff(want, entries(t, img)); diff != "" {
		t.Error(diff)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	wantConfig := v1.Config{
		Entrypoint: []string{"/usr/bin/tool", "run"}, Env: []string{"PATH=/usr/bin:/bin", "VERSION=v1"}, User: "1000", WorkingDir: "/",
	}
	if diff := cmp.Diff(wantConfig, config.Config); diff != "" {
		t.Error(diff)
	}
	if config.OS != "linux" || config.Architecture != "arm64" {
		t.Errorf("platform %s/%s", config.OS, config.Architecture)
	}
}

func TestDigests(t *testing.T) {
	digest := func(env string) string {
		img, err := Build(Spec{Files: map[string]string{"/a": program(t, "x", 0o755)}, Entrypoint: []string{"/a"}, Env: []string{env}})
		if err != nil {
			t.Fatal(err)
		}
		d, err := img.Digest()
		if err != nil {
			t.Fatal(err)
		}
		return d.String()
	}
	first, again, other := digest("V=1"), digest("V=1"), digest("V=2")
	if first != again {
		t.Error("equal specs have different digests")
	}
	if first == other {
		t.Error("different specs have one digest")
	}
}

func TestBuildRefuses(t *testing.T) {
	for want, spec := range map[string]Spec{
		"must be absolute": {Files: map[string]string{"bin/a": program(t, "x", 0o755)}},
		"no such file":     {Files: map[string]string{"/a": "/no/such/file"}},
	} {
		if _, err := Build(spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
