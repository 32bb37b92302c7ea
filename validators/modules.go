package validators

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// embedded has the rules of this build, policies/<group>/<kind>.rego, and their tests, which are no part of what runs.
//
//go:embed policies
var embedded embed.FS

const testSuffix = "_test.rego"

// Modules are the embedded rules by file name, such as apps/sidecarset.rego.
func Modules() (map[string]string, error) {
	return modules(func(name string) bool { return !strings.HasSuffix(name, testSuffix) })
}

func modules(wanted func(name string) bool) (map[string]string, error) {
	found := make(map[string]string)
	err := fs.WalkDir(embedded, "policies", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".rego" || !wanted(name) {
			return err
		}
		source, err := embedded.ReadFile(name)
		found[strings.TrimPrefix(name, "policies/")] = string(source)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the embedded rules: %w", err)
	}
	return found, nil
}
