package userpolicy

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// SettingsFile is the file of a source that has its settings.
const SettingsFile = "settings.yaml"

const testSuffix = "_test.rego"

// Source is a set as its author wrote it.
type Source struct {
	// Name is that of the ConfigMap, or BundlePrefix and that of a bundle.
	Name string
	// Modules are the files with rules, by name, and Tests those whose names end with _test.rego, which are not served.
	Modules, Tests map[string]string
	Settings       Settings
	// Data is what a bundle brings along for its rules, beside parameters; nil for none.
	Data map[string]any

	revision string
}

// Parse reads the files of a set by their names: *.rego, and settings.yaml if there is one. Other files are left out, so that
// a README may stand beside them. An error names the file, and of settings the field.
func Parse(name string, files map[string]string) (source *Source, err error) {
	defer caught("reading the set "+name, &err)
	source = &Source{Name: name, Modules: make(map[string]string), Tests: make(map[string]string)}
	for file, content := range files {
		switch {
		case strings.HasSuffix(file, testSuffix):
			source.Tests[file] = content
		case path.Ext(file) == ".rego":
			source.Modules[file] = content
		}
	}
	if len(source.Modules) == 0 {
		return nil, fmt.Errorf("reading the set %s: it has no rules: add a file whose name ends with .rego", name)
	}
	if source.Settings, err = ParseSettings(files[SettingsFile]); err != nil {
		return nil, fmt.Errorf("reading the set %s: %w", name, err)
	}
	source.revision = revisionOf(source.Modules, map[string]string{SettingsFile: files[SettingsFile]})
	return source, nil
}

// WithData is the source with what a bundle has beside its rules. parameters are the settings' alone, and inventory is
// Fairlead's.
func (s *Source) WithData(data map[string]any) (*Source, error) {
	for _, taken := range []string{"parameters", "inventory"} {
		if _, there := data[taken]; there {
			return nil, fmt.Errorf("reading the set %s: its data has %q, a name that is taken: choose another", s.Name, taken)
		}
	}
	raw, err := json.Marshal(data) // keys in order, so that the same data has the same revision
	if err != nil {
		return nil, fmt.Errorf("reading the data of the set %s: %w", s.Name, err)
	}
	with := *s
	with.Data = data
	with.revision = revisionOf(s.Modules, map[string]string{"data": string(raw), "revision": s.revision})
	return &with, nil
}

// Revision tells versions of a set apart by what is served of it: 12 hexadecimal digits.
func (s *Source) Revision() string { return s.revision }

func revisionOf(groups ...map[string]string) string {
	digest := sha256.New()
	for _, files := range groups {
		for _, name := range slices.Sorted(maps.Keys(files)) {
			fmt.Fprintf(digest, "%d %s %d %s", len(name), name, len(files[name]), files[name])
		}
	}
	return fmt.Sprintf("%012x", binary.BigEndian.Uint64(digest.Sum(nil))>>16)
}
