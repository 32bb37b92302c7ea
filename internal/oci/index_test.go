package oci

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// productIndex joins the product's image for two architectures, made of stand-ins for the program.
func productIndex(t *testing.T) v1.ImageIndex {
	t.Helper()
	var images []v1.Image
	for _, arch := range []string{"amd64", "arm64"} {
		spec := Product(program(t, "program for "+arch, 0o755))
		spec.Architecture, spec.Gzip, spec.Created = arch, true, time.Unix(1700000000, 0)
		img, err := Build(spec)
		if err != nil {
			t.Fatal(err)
		}
		images = append(images, img)
	}
	index, err := Index(images...)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

func TestIndexHasOneManifestPerPlatform(t *testing.T) {
	manifest, err := productIndex(t).IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var platforms []string
	for _, m := range manifest.Manifests {
		platforms = append(platforms, m.Platform.String())
	}
	if diff := cmp.Diff([]string{"linux/amd64", "linux/arm64"}, platforms); diff != "" {
		t.Error(diff)
	}
	if manifest.MediaType != types.OCIImageIndex || manifest.Manifests[0].MediaType != types.OCIManifestSchema1 {
		t.Errorf("media types %s and %s, want those of OCI", manifest.MediaType, manifest.Manifests[0].MediaType)
	}
}

func TestGzipLayerAndTime(t *testing.T) {
	index := productIndex(t)
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	img, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	layers, err := img.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("layers: %d, %v", len(layers), err)
	}
	if mediaType, err := layers[0].MediaType(); err != nil || mediaType != types.OCILayer {
		t.Errorf("layer has media type %s (%v), want %s", mediaType, err, types.OCILayer)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if want := time.Date(2023, 11, 14, 22, 13, 20, 0, time.UTC); !config.Created.Equal(want) {
		t.Errorf("created %s, want %s", config.Created, want)
	}
	if diff := cmp.Diff([]string{"0 0755 fairlead program for amd64", "5 1777 tmp "}, entries(t, img)); diff != "" {
		t.Error(diff)
	}
}

// A layout is read again as it was written: every blob has the digest of its name, and a second writing is the same.
func TestLayout(t *testing.T) {
	index := productIndex(t)
	dir, again := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	for _, d := range []string{dir, again} {
		if err := WriteLayout(d, "1.2.3", index); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(files(t, dir), files(t, again)); diff != "" {
		t.Error(diff)
	}
	for name, sum := range files(t, dir) {
		if blob, ok := strings.CutPrefix(name, "blobs/sha256/"); ok && blob != sum {
			t.Errorf("blob %s has the digest %s", blob, sum)
		}
	}
	read, err := ReadLayout(dir, "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(read); err != nil {
		t.Error(err)
	}
	want, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := read.Digest(); err != nil || got != want {
		t.Errorf("digest %s (%v), want %s", got, err, want)
	}
	if _, err := ReadLayout(dir, "1.2.4"); err == nil || !strings.Contains(err.Error(), `no entry "1.2.4"`) {
		t.Errorf("error %v, want one that names the missing entry", err)
	}
}

// The file index.json names the index as the image specification says.
func TestLayoutNamesItsEntry(t *testing.T) {
	dir := t.TempDir()
	if err := WriteLayout(dir, "1.2.3", productIndex(t)); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	var outer struct {
		Manifests []struct {
			MediaType   string
			Annotations map[string]string
		}
	}
	if err := json.Unmarshal(data, &outer); err != nil {
		t.Fatal(err)
	}
	if len(outer.Manifests) != 1 || outer.Manifests[0].MediaType != "application/vnd.oci.image.index.v1+json" ||
		outer.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != "1.2.3" {
		t.Errorf("index.json is %s", data)
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
