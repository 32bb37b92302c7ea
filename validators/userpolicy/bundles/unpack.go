package bundles

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/bundle"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead-io/fairlead/validators/userpolicy"
)

// content is what is in a bundle.
type content struct {
	// modules are the Rego files by path.
	modules map[string]string
	data    map[string]any
}

// Unpack reads the tarball of a bundle as the service does, but for its signature: the Rego files by path, and the data beside
// them.
func Unpack(name string, tarball []byte) (modules map[string]string, data map[string]any, err error) {
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		return nil, nil, fmt.Errorf("unpacking the bundle: name %q: %s", name, strings.Join(problems, ", "))
	}
	found, err := unpack(Config{Name: name, MaxMiB: mostMiB}, tarball)
	return found.modules, found.data, err
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

// measure refuses what unpacks to more than the limit, before anything of it is kept. What the tarball has in its headers counts,
// too: a sparse file is as large as it says and takes next to nothing.
func measure(tarball []byte, limit int64) error {
	unzipped, err := gzip.NewReader(bytes.NewReader(tarball))
	if err != nil {
		return fmt.Errorf("unpacking the bundle: it must be a gzipped tarball: %w", err)
	}
	counted := &io.LimitedReader{R: unzipped, N: limit + 1}
	size, err := sizeOf(tar.NewReader(counted), limit)
	if err == nil {
		_, err = io.Copy(io.Discard, counted)
	}
	switch {
	case size > limit, counted.N <= 0:
		return fmt.Errorf("unpacking the bundle: it is larger than %d MiB: see maxMiB", limit>>20)
	case err != nil:
		return fmt.Errorf("unpacking the bundle: %w", err)
	}
	return nil
}

// sizeOf is how large the files of a tarball are together; it stops at the limit, and at a file that cannot be read.
func sizeOf(files *tar.Reader, limit int64) (size int64, err error) {
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return size, nil
		}
		if err != nil {
			return size, err
		}
		if size += header.Size; size > limit {
			return size, nil
		}
		text, err := io.ReadAll(files)
		if err == nil {
			err = userpolicy.CheckText(header.Name, string(text))
		}
		if err != nil {
			return size, err
		}
	}
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
