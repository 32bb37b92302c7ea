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

// keptSettings are the settings that a bundle was in force with last.
type keptSettings struct {
	URL  string `json:"url"`
	Text string `json:"text"`
}

func (s shelf) path(name string) string { return filepath.Join(string(s), name+".bundle.json") }

func (s shelf) settingsPath(name string) string {
	return filepath.Join(string(s), name+".settings.json")
}

// get is the version that is kept; nil if there is none. Another URL is another bundle.
func (s shelf) get(c Config) (*kept, error) {
	var k kept
	if there, err := s.read(s.path(c.Name), &k); !there || err != nil || k.URL != c.URL {
		return nil, err
	}
	return &k, nil
}

// settings are those that are kept of a bundle; nil if there are none.
func (s shelf) settings(c Config) (*string, error) {
	var k keptSettings
	if there, err := s.read(s.settingsPath(c.Name), &k); !there || err != nil || k.URL != c.URL {
		return nil, err
	}
	return &k.Text, nil
}

// read decodes a file, if it is there.
func (s shelf) read(path string, into any) (there bool, err error) {
	if s == "" {
		return false, nil
	}
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading what is kept of a bundle: %w", err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return false, fmt.Errorf("reading what is kept of a bundle in %s: %w", path, err)
	}
	return true, nil
}

// put keeps a version in place of the one before.
func (s shelf) put(c Config, k kept) error {
	k.URL = c.URL
	return s.write(c, s.path(c.Name), k)
}

// putSettings keeps settings in place of those before.
func (s shelf) putSettings(c Config, text string) error {
	return s.write(c, s.settingsPath(c.Name), keptSettings{URL: c.URL, Text: text})
}

// write writes a file: whole or not at all, whenever the process ends.
func (s shelf) write(c Config, path string, value any) error {
	if s == "" {
		return nil
	}
	raw, err := json.Marshal(value)
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
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name()) // what matters is why it could not be kept
		return fmt.Errorf("keeping the bundle: %w", err)
	}
	return nil
}
