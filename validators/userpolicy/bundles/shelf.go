package bundles

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// shelf keeps the last good version of each bundle in a directory; "" keeps nothing.
type shelf string

// kept is a version of a bundle, with the tag that the server gave it and where it came from.
type kept struct {
	URL     string `json:"url"`
	ETag    string `json:"etag"`
	Tarball []byte `json:"tarball"`
}

func (s shelf) path(name string) string { return filepath.Join(string(s), name+".bundle.json") }

// get is the version that is kept; nil if there is none. Another URL is another bundle.
func (s shelf) get(c Config) (*kept, error) {
	if s == "" {
		return nil, nil
	}
	raw, err := os.ReadFile(s.path(c.Name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the kept bundle: %w", err)
	}
	var k kept
	if err := json.Unmarshal(raw, &k); err != nil {
		return nil, fmt.Errorf("reading the kept bundle %s: %w", s.path(c.Name), err)
	}
	if k.URL != c.URL {
		return nil, nil
	}
	return &k, nil
}

// put keeps a version in place of the one before: whole or not at all, whenever the process ends.
func (s shelf) put(c Config, k kept) error {
	if s == "" {
		return nil
	}
	k.URL = c.URL
	raw, err := json.Marshal(k)
	if err != nil {
		return fmt.Errorf("keeping the bundle: %w", err)
	}
	file, err := os.CreateTemp(string(s), c.Name+".*.tmp")
	if err != nil {
		return fmt.Errorf("keeping the bundle: %w", err)
	}
	_, err = file.Write(raw)
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), s.path(c.Name))
	}
	if err != nil {
		_ = os.Remove(file.Name()) // what matters is why it could not be kept
		return fmt.Errorf("keeping the bundle: %w", err)
	}
	return nil
}
