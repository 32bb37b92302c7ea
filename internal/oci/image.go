// Package oci makes container images from static programs, without a container engine: for the release and for tests.
// Equal contents give equal digests.
package oci

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Spec says what is in an image. Equal specs give equal digests.
type Spec struct {
	// Files maps an absolute path in the image to a file on this machine, whose executable bits are kept.
	Files map[string]string
	// Links maps an absolute path in the image to what a symbolic link there points at.
	Links map[string]string
	// Entrypoint is the program and its first arguments.
	Entrypoint []string
	// Env holds KEY=VALUE pairs; PATH is set if it is not among them.
	Env []string
	// User is a name or UID[:GID]; empty is root.
	User string
	// Labels go into the image's configuration.
	Labels map[string]string
	// Architecture is amd64, arm64, ...; empty is this machine's.
	Architecture string
	// Created is when the image was made; the zero time is left out.
	Created time.Time
	// Gzip compresses the layer, for images that travel further than this machine's loopback.
	Gzip bool
}

// Build makes a one-layer image with the files of the spec, a writable /tmp and nothing else.
func Build(s Spec) (v1.Image, error) {
	content, err := s.layer()
	if err != nil {
		return nil, fmt.Errorf("packing the image: %w", err)
	}
	layer, err := s.wrap(content)
	if err != nil {
		return nil, fmt.Errorf("packing the image: %w", err)
	}
	base := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	base = mutate.ConfigMediaType(base, types.OCIConfigJSON)
	img, err := mutate.AppendLayers(base, layer)
	if err != nil {
		return nil, fmt.Errorf("adding the layer: %w", err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("reading the image's configuration: %w", err)
	}
	img, err = mutate.ConfigFile(img, s.configure(config.DeepCopy()))
	if err != nil {
		return nil, fmt.Errorf("setting the image's configuration: %w", err)
	}
	return img, nil
}

// wrap makes a layer of a tar archive.
func (s Spec) wrap(content []byte) (v1.Layer, error) {
	if !s.Gzip {
		return static.NewLayer(content, types.OCIUncompressedLayer), nil
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
}

// configure fills in an image's configuration.
func (s Spec) configure(config *v1.ConfigFile) *v1.ConfigFile {
	config.OS, config.Architecture = "linux", s.Architecture
	if s.Architecture == "" {
		config.Architecture = runtime.GOARCH
	}
	if !s.Created.IsZero() {
		config.Created = v1.Time{Time: s.Created.UTC()}
	}
	config.Config = v1.Config{Entrypoint: s.Entrypoint, Env: withPath(s.Env), User: s.User, Labels: s.Labels, WorkingDir: "/"}
	return config
}

func withPath(env []string) []string {
	for _, e := range env {
		if strings.HasPrefix(e, "PATH=") {
			return env
		}
	}
	return append([]string{"PATH=/usr/bin:/bin"}, env...)
}
