package oci

import (
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/match"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// refName is the annotation of the image specification that names an entry of a layout; `skopeo copy oci:DIR:NAME`
// and its like look for it.
const refName = "org.opencontainers.image.ref.name"

// Index joins images of one program for several platforms, in the given order.
func Index(images ...v1.Image) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, img := range images {
		config, err := img.ConfigFile()
		if err != nil {
			return nil, fmt.Errorf("reading the image's configuration: %w", err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: config.OS, Architecture: config.Architecture}},
		})
	}
	return index, nil
}

// WriteLayout writes an OCI image layout with one entry, the index, under a name such as 1.2.3. dir must be empty or missing.
func WriteLayout(dir, name string, index v1.ImageIndex) error {
	path, err := layout.Write(dir, mutate.IndexMediaType(empty.Index, types.OCIImageIndex))
	if err != nil {
		return fmt.Errorf("writing the layout: %w", err)
	}
	if err := path.AppendIndex(index, layout.WithAnnotations(map[string]string{refName: name})); err != nil {
		return fmt.Errorf("writing the layout: %w", err)
	}
	return nil
}

// ReadLayout is the one index that WriteLayout wrote under a name.
func ReadLayout(dir, name string) (v1.ImageIndex, error) {
	outer, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, fmt.Errorf("reading the layout: %w", err)
	}
	manifest, err := outer.IndexManifest()
	if err != nil {
		return nil, fmt.Errorf("reading the layout: %w", err)
	}
	for _, entry := range manifest.Manifests {
		if match.Annotation(refName, name)(entry) {
			return outer.ImageIndex(entry.Digest)
		}
	}
	return nil, fmt.Errorf("reading the layout: it has no entry %q", name)
}
