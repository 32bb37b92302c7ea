package bundles

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/bundle"
)

// content is what is in a bundle.
type content struct {
	// modules are the Rego files by path.
	modules map[string]string
	data    map[string]any
}

// unpack reads a tarball. Its signature is checked if there is a key.
func unpack(c Config, tarball []byte) (content, error) {
	if err := measure(tarball, c.limit()); err != nil {
		return content{}, err
	}
	reader := bundle.NewReader(bytes.NewReader(tarball)).WithBundleName(c.Name).WithSizeLimitBytes(c.limit()).
		WithRegoVersion(ast.RegoV1).WithLazyLoadingMode(false)
	if c.Key.File == "" {
		reader = reader.WithSkipBundleVerification(true)
	} else {
		verification, err := c.Key.verification()
		if err != nil {
			return content{}, err
		}
		reader = reader.WithBundleVerificationConfig(verification)
	}
	read, err := reader.Read()
	if err != nil {
		return content{}, fmt.Errorf("unpacking the bundle: %w", err)
	}
	if read.Type() != bundle.SnapshotBundleType {
		return content{}, errors.New("unpacking the bundle: it is a delta: only whole ones are understood")
	}
	found := content{modules: make(map[string]string), data: read.Data}
	for _, module := range read.Modules {
		found.modules[strings.TrimPrefix(module.Path, "/")] = string(module.Raw)
	}
	return found, nil
}

// measure refuses what unpacks to more than the limit, before anything of it is kept.
func measure(tarball []byte, limit int64) error {
	unzipped, err := gzip.NewReader(bytes.NewReader(tarball))
	if err != nil {
		return fmt.Errorf("unpacking the bundle: it must be a gzipped tarball: %w", err)
	}
	size, err := io.Copy(io.Discard, io.LimitReader(unzipped, limit+1))
	switch {
	case err != nil:
		return fmt.Errorf("unpacking the bundle: %w", err)
	case size > limit:
		return fmt.Errorf("unpacking the bundle: it is larger than %d MiB: see maxMiB", limit>>20)
	}
	return nil
}

// keyID is the id of a key without one.
const keyID = "default"

func (k Key) verification() (*bundle.VerificationConfig, error) {
	key, err := os.ReadFile(k.File)
	if err != nil {
		return nil, fmt.Errorf("reading the key for signatures: %w", err)
	}
	id, algorithm := k.ID, k.Algorithm
	if id == "" {
		id = keyID
	}
	if algorithm == "" {
		algorithm = "RS256"
	}
	keys := map[string]*bundle.KeyConfig{id: {Key: string(key), Algorithm: algorithm, Scope: k.Scope}}
	return bundle.NewVerificationConfig(keys, id, k.Scope, nil), nil
}
