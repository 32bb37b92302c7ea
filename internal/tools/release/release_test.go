package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/oci"
)

// standIn is a release of this tree with tiny files instead of compiled programs.
func standIn(output string) *release {
	return &release{
		tree:      tree{root: "../../..", version: "1.2.3", modified: time.Unix(1700000000, 0).UTC(), revision: "abc"},
		output:    output,
		platforms: []platform{{"linux", "amd64"}, {"linux", "arm64"}, {"windows", "amd64"}},
		log:       io.Discard,
		compile: func(_ context.Context, root, version string, p platform, output string) error {
			return os.WriteFile(output, []byte("fairlead "+version+" "+p.String()), 0o755)
		},
		materials: func(_ context.Context, root, version, program string) ([]byte, error) {
			return os.ReadFile(program)
		},
	}
}

// files maps each file below a folder to its SHA-256 digest.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		found[strings.TrimPrefix(path, dir+"/")] = fmt.Sprintf("%x", sha256.Sum256(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestReleaseIsWholeAndReproducible(t *testing.T) {
	first, again := filepath.Join(t.TempDir(), "dist"), filepath.Join(t.TempDir(), "dist")
	for _, dir := range []string{first, again, again} { // the last one takes the place of the one before
		if err := standIn(dir).make(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	made := files(t, first)
	if diff := cmp.Diff(made, files(t, again)); diff != "" {
		t.Errorf("a second release differs:\n%s", diff)
	}
	var names []string
	for _, name := range []string{
		"index.yaml", "kruise-1.2.3.tgz", "fairlead_1.2.3_image.tar", "checksums.txt", "image/index.json", "image/oci-layout",
		"fairlead_1.2.3_linux_amd64.tar.gz", "fairlead_1.2.3_linux_arm64.tar.gz", "fairlead_1.2.3_windows_amd64.zip",
		"fairlead_1.2.3_linux_amd64.cdx.json", "fairlead_1.2.3_linux_arm64.cdx.json", "fairlead_1.2.3_windows_amd64.cdx.json",
	} {
		if made[name] == "" {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		t.Errorf("not made: %v", names)
	}
	other := standIn(again)
	other.version = "1.2.4"
	if err := other.make(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(again, "kruise-1.2.3.tgz")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the earlier release is still there (%v)", err)
	}
}

// sha256sum is what a person checks a download with; it fails on a changed file.
func TestChecksums(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dist")
	if err := standIn(dir).make(t.Context()); err != nil {
		t.Fatal(err)
	}
	check := func() ([]byte, error) {
		cmd := exec.Command("sha256sum", "--check", "--strict", "checksums.txt")
		cmd.Dir = dir
		return cmd.CombinedOutput()
	}
	out, err := check()
	if lines := bytes.Count(out, []byte("\n")); err != nil || lines != 9 {
		t.Errorf("%d files are right, want 9 (%v):\n%s", lines, err, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "index.yaml"), []byte("changed"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := check(); err == nil || !strings.Contains(string(out), "index.yaml: FAILED") {
		t.Errorf("a changed file passes (%v):\n%s", err, out)
	}
}

func TestImageOfARelease(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dist")
	if err := standIn(dir).make(t.Context()); err != nil {
		t.Fatal(err)
	}
	index, err := oci.ReadLayout(filepath.Join(dir, imageFolder), "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var platforms []string
	for _, m := range manifest.Manifests {
		img, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := img.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"/fairlead"}, config.Config.Entrypoint); diff != "" || config.Config.User != "65534:65534" {
			t.Errorf("entrypoint and user %q: %s", config.Config.User, diff)
		}
		labels := config.Config.Labels
		if labels["org.opencontainers.image.version"] != "1.2.3" || labels["org.opencontainers.image.revision"] != "abc" ||
			labels["org.opencontainers.image.created"] != "2023-11-14T22:13:20Z" {
			t.Errorf("labels %v", labels)
		}
		platforms = append(platforms, m.Platform.String()+" "+config.Architecture)
	}
	if diff := cmp.Diff([]string{"linux/amd64 amd64", "linux/arm64 arm64"}, platforms); diff != "" {
		t.Error(diff)
	}
}

// The index names the package beside it, with the digest that Helm compares it with.
func TestRepositoryOfARelease(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dist")
	earlier := filepath.Join(t.TempDir(), "index.yaml")
	if err := os.WriteFile(earlier, []byte("apiVersion: v1\nentries:\n  kruise:\n  - {name: kruise, version: 1.2.2}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := standIn(dir)
	r.previousIndex = earlier
	if err := r.make(t.Context()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "index.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var index struct {
		Entries map[string][]struct {
			Version, AppVersion, Digest string
			URLs                        []string
		}
	}
	if err := yaml.Unmarshal(data, &index); err != nil {
		t.Fatal(err)
	}
	entries := index.Entries["kruise"]
	if len(entries) != 2 || entries[1].Version != "1.2.2" {
		t.Fatalf("entries %v, want this release and the earlier one", entries)
	}
	if e := entries[0]; e.Version != "1.2.3" || e.AppVersion != "1.2.3" || len(e.URLs) != 1 || e.URLs[0] != "kruise-1.2.3.tgz" {
		t.Errorf("entry %v", e)
	}
	if want := files(t, dir)["kruise-1.2.3.tgz"]; entries[0].Digest != want {
		t.Errorf("digest %s, want %s", entries[0].Digest, want)
	}
}

// What is in a folder that no release was made in belongs to somebody.
func TestAForeignFolderIsNotEmptied(t *testing.T) {
	dir := t.TempDir()
	precious := filepath.Join(dir, "precious")
	if err := os.WriteFile(precious, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := standIn(dir).make(t.Context()); err == nil || !strings.Contains(err.Error(), "was not made by this program") {
		t.Errorf("error %v, want a refusal", err)
	}
	if _, err := os.Stat(precious); err != nil {
		t.Error(err)
	}
}

func TestAFailedBuildEndsTheRelease(t *testing.T) {
	r := standIn(filepath.Join(t.TempDir(), "dist"))
	broken := errors.New("does not compile")
	r.compile = func(context.Context, string, string, platform, string) error { return broken }
	if err := r.make(t.Context()); !errors.Is(err, broken) {
		t.Errorf("error %v, want that of the compiler", err)
	}
	if _, err := os.Stat(filepath.Join(r.output, "checksums.txt")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("checksums of half a release (%v)", err)
	}
}
