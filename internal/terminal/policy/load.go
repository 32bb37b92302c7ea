package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/validators/userpolicy"
	"github.com/fairlead-io/fairlead/validators/userpolicy/bundles"
	"github.com/fairlead-io/fairlead/validators/userpolicy/sources"
)

const (
	regoSuffix = ".rego"
	testSuffix = "_test.rego"
)

// found is a set that was found, not yet read.
type found struct {
	// name is what the set is called, and where what the person finds it by: a folder, or a file with a line.
	name, where string
	files       map[string]string
	// data is what a bundle has beside them.
	data map[string]any
}

// load finds the sets that arguments name: folders with rules in them or below, files with rules, files with ConfigMaps, and
// bundle/NAME=FILE, the tarball of a bundle.
func load(args []string, stdin io.Reader) ([]found, error) {
	var all []found
	for _, arg := range args {
		sets, err := loadOne(arg, stdin)
		if err != nil {
			return nil, terminal.Usage(err)
		}
		all = append(all, sets...)
	}
	for i, set := range all {
		if other := slices.IndexFunc(all[:i], func(f found) bool { return f.where == set.where && f.name == set.name }); other >= 0 {
			return nil, terminal.Usagef("reading %s: it is named twice", set.where)
		}
	}
	return all, nil
}

// Sets are the compiled sets of paths: folders with rules in them or below, files with rules, files with ConfigMaps, and
// bundle/NAME=FILE, the tarball of a bundle.
func Sets(ctx context.Context, paths []string, stdin io.Reader) ([]*userpolicy.Set, error) {
	all, err := load(paths, stdin)
	if err != nil {
		return nil, err
	}
	sets := make([]*userpolicy.Set, 0, len(all))
	for _, f := range all {
		_, set, err := compile(ctx, f)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(sets, func(other *userpolicy.Set) bool { return other.Name() == set.Name() }) {
			return nil, terminal.Usagef("reading %s: there is a set %s already: a folder is called as the ConfigMap that has its rules", f.where, f.name)
		}
		sets = append(sets, set)
	}
	return sets, nil
}

func loadOne(arg string, stdin io.Reader) ([]found, error) {
	if arg == "-" {
		return fromManifests(arg, stdin)
	}
	if set, tarball, named := strings.Cut(arg, "="); named && strings.HasPrefix(set, userpolicy.BundlePrefix) {
		return fromBundle(set, tarball)
	}
	info, err := os.Stat(arg)
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading a set: %w", err)
	case info.IsDir():
		return fromFolder(arg)
	case strings.HasSuffix(arg, regoSuffix):
		return fromFile(arg)
	default:
		return fromManifests(arg, stdin)
	}
}

// fromFolder are the sets in a folder and below: each folder with rules is one, called by its name.
func fromFolder(root string) ([]found, error) {
	var all []found
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if path != root && strings.HasPrefix(entry.Name(), ".") {
			return fs.SkipDir
		}
		set, err := fromFiles(path, func(string) bool { return true })
		if err == nil && set != nil {
			all = append(all, *set)
		}
		return err
	})
	if err == nil && len(all) == 0 {
		err = errors.New("there is no file with rules in it: one whose name ends with .rego")
	}
	if err != nil {
		return nil, fmt.Errorf("reading the folder %s: %w", root, err)
	}
	return all, nil
}

// fromFile is the set of one file, with its tests and the settings beside it.
func fromFile(path string) ([]found, error) {
	rules := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), testSuffix), regoSuffix)
	set, err := fromFiles(filepath.Dir(path), func(name string) bool {
		return name == rules+regoSuffix || name == rules+testSuffix || name == userpolicy.SettingsFile
	})
	if err != nil {
		return nil, fmt.Errorf("reading the file %s: %w", path, err)
	}
	set.where = path
	return []found{*set}, nil
}

// fromBundle is the set of a tarball, with the settings beside it: settings are no part of a bundle.
func fromBundle(name, tarball string) ([]found, error) {
	content, err := terminal.ReadRegular(tarball)
	if err != nil {
		return nil, fmt.Errorf("reading the bundle: %w", err)
	}
	set := found{name: name, where: tarball}
	if set.files, set.data, err = bundles.Unpack(strings.TrimPrefix(name, userpolicy.BundlePrefix), content); err != nil {
		return nil, fmt.Errorf("reading %s: %w", tarball, err)
	}
	switch settings, err := terminal.ReadRegular(filepath.Join(filepath.Dir(tarball), userpolicy.SettingsFile)); {
	case err == nil:
		set.files[userpolicy.SettingsFile] = string(settings)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	return []found{set}, nil
}

// fromFiles is the set of those files of a folder that are wanted; nil if there are none with rules.
func fromFiles(folder string, wanted func(name string) bool) (*found, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	whole, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	set := &found{name: filepath.Base(whole), where: folder, files: make(map[string]string)}
	hasRules := false
	for _, entry := range entries {
		name := entry.Name()
		rego := strings.HasSuffix(name, regoSuffix)
		if entry.IsDir() || !wanted(name) || !rego && name != userpolicy.SettingsFile {
			continue
		}
		content, err := terminal.ReadRegular(filepath.Join(folder, name))
		if err != nil {
			return nil, err
		}
		set.files[name] = string(content)
		hasRules = hasRules || rego
	}
	if !hasRules {
		return nil, nil
	}
	return set, nil
}

// fromManifests are the labelled ConfigMaps of a file.
func fromManifests(file string, stdin io.Reader) ([]found, error) {
	documents, err := terminal.ReadFiles([]string{file}, stdin)
	if err != nil {
		return nil, err
	}
	var all []found
	for _, document := range documents {
		var c corev1.ConfigMap
		if err := json.Unmarshal(document.JSON, &c); err != nil || c.Kind != "ConfigMap" || c.Labels[sources.Label] != "true" {
			continue
		}
		all = append(all, found{name: c.Name, where: document.Where, files: c.Data})
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("reading %s: it has no ConfigMap with the label %s=true", file, sources.Label)
	}
	return all, nil
}
