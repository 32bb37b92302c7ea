// Package images puts container images into the registry of a cluster.
package images

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Push sends an image to the registry at address (host:port, plain HTTP) under each of the references, such as
// bank.test/web:v1. The registry keeps them by their full name, host included: see Repository.
func Push(ctx context.Context, address string, img v1.Image, references ...string) error {
	return push(address, references, func(tag name.Tag) error { return remote.Write(tag, img, remote.WithContext(ctx)) })
}

// PushIndex is Push for an image of several platforms.
func PushIndex(ctx context.Context, address string, index v1.ImageIndex, references ...string) error {
	return push(address, references, func(tag name.Tag) error { return remote.WriteIndex(tag, index, remote.WithContext(ctx)) })
}

func push(address string, references []string, write func(name.Tag) error) error {
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
		if err := write(repo.Tag(tag.TagStr())); err != nil {
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
