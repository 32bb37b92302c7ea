// Package images makes container images from static programs and pushes them to a registry, without a container
// engine.
package images

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"os"
	"path"
	"runtime"
	"sort"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
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
}

// Build makes a one-layer image with the files of the spec, a writable /tmp and nothing else. The layer is not
// compressed: it only ever travels over this machine's loopback.
func Build(s Spec) (v1.Image, error) {
	layer, err := s.layer()
	if err != nil {
		return nil, fmt.Errorf("packing the image: %w", err)
	}
	base := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	base = mutate.ConfigMediaType(base, types.OCIConfigJSON)
	img, err := mutate.AppendLayers(base, static.NewLayer(layer, types.OCIUncompressedLayer))
	if err != nil {
		return nil, fmt.Errorf("adding the layer: %w", err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("reading the image's configuration: %w", err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", s.Architecture
	if s.Architecture == "" {
		config.Architecture = runtime.GOARCH
	}
	config.Config = v1.Config{Entrypoint: s.Entrypoint, Env: withPath(s.Env), User: s.User, Labels: s.Labels, WorkingDir: "/"}
	img, err = mutate.ConfigFile(img, config)
	if err != nil {
		return nil, fmt.Errorf("setting the image's configuration: %w", err)
	}
	return img, nil
}

func withPath(env []string) []string {
	for _, e := range env {
		if strings.HasPrefix(e, "PATH=") {
			return env
		}
	}
	return append([]string{"PATH=/usr/bin:/bin"}, env...)
}

// layer packs files, links, their folders and /tmp, in the order of their names and without times and owners.
func (s Spec) layer() ([]byte, error) {
	entries := map[string]tar.Header{"/tmp": {Typeflag: tar.TypeDir, Mode: 0o1777}}
	for p := range s.Files {
		entries[path.Clean(p)] = tar.Header{Typeflag: tar.TypeReg}
	}
	for p, target := range s.Links {
		entries[path.Clean(p)] = tar.Header{Typeflag: tar.TypeSymlink, Linkname: target, Mode: 0o777}
	}
	var names []string
	for p := range entries {
		if !path.IsAbs(p) {
			return nil, fmt.Errorf("path %q must be absolute", p)
		}
		names = append(names, p)
	}
	for _, p := range names {
		for dir := path.Dir(p); dir != "/"; dir = path.Dir(dir) {
			if _, ok := entries[dir]; !ok {
				entries[dir] = tar.Header{Typeflag: tar.TypeDir, Mode: 0o755}
				names = append(names, dir)
			}
		}
	}
	sort.Strings(names)
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, p := range names {
		header := entries[p]
		header.Name = strings.TrimPrefix(p, "/")
		if err := writeEntry(w, header, s.Files[p]); err != nil {
			return nil, err
		}
	}
	return buf.Bytes(), w.Close()
}

func writeEntry(w *tar.Writer, header tar.Header, source string) error {
	if header.Typeflag != tar.TypeReg {
		return w.WriteHeader(&header)
	}
	info, err := os.Stat(source)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	header.Size, header.Mode = int64(len(content)), int64(info.Mode().Perm()&0o755)
	if err = w.WriteHeader(&header); err != nil {
		return err
	}
	_, err = w.Write(content)
	return err
}

// Push sends an image to the registry at address (host:port, plain HTTP) under each of the references, such as
// bank.test/web:v1. The registry keeps them by their full name, host included: see Repository.
func Push(ctx context.Context, address string, img v1.Image, references ...string) error {
	for _, reference := range references {
		ref, err := name.ParseReference(reference)
		if err != nil {
			return fmt.Errorf("reading the image reference %q: %w", reference, err)
		}
		repo, err := name.NewRepository(address+"/"+Repository(ref.Context().RegistryStr(), ref.Context().RepositoryStr()), name.Insecure)
		if err != nil {
			return fmt.Errorf("placing %q in the registry: %w", reference, err)
		}
		tag, ok := ref.(name.Tag)
		if !ok {
			return fmt.Errorf("pushing %q: want a tag, not a digest", reference)
		}
		if err := remote.Write(repo.Tag(tag.TagStr()), img, remote.WithContext(ctx)); err != nil {
			return fmt.Errorf("pushing %s: %w", reference, err)
		}
	}
	return nil
}

// Repository is the name under which the cluster's registry keeps a repository of a registry host. It stands for
// all hosts, so the host is the first part of the name; a colon before a port is not allowed there.
func Repository(host, repository string) string {
	return strings.ReplaceAll(host, ":", "_") + "/" + repository
}
