// Package cgroup gives a cluster a part of the cgroup tree of its own, on cgroup v1 and v2, and takes it away again.
package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// Version of the cgroup interface that the kernel's controllers are bound to.
type Version int

// The two interfaces. A "hybrid" host, with v1 controllers and an empty v2 tree beside them, counts as V1.
const (
	V1 Version = 1
	V2 Version = 2
)

// Tree is where cgroups live on this machine.
type Tree struct {
	Version Version
	// roots are the mounted hierarchies: one for v2; for v1 one a controller (or pair of them), and on a hybrid
	// host the empty v2 tree as well, because runc keeps its containers there too.
	roots []string
}

// Detect finds the cgroup hierarchies of this machine.
func Detect() (Tree, error) {
	table, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return Tree{}, fmt.Errorf("reading the mount table: %w", err)
	}
	return parse(string(table))
}

// parse reads the text of /proc/mounts. As soon as one v1 controller is mounted, kubelet and runc work in v1.
func parse(table string) (Tree, error) {
	var v1 []string
	v2 := ""
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(fields[1], "/sys/fs/cgroup") {
			continue
		}
		switch fields[2] {
		case "cgroup":
			v1 = append(v1, fields[1])
		case "cgroup2":
			v2 = fields[1]
		}
	}
	if len(v1) > 0 {
		if v2 != "" {
			v1 = append(v1, v2)
		}
		sort.Strings(v1)
		return Tree{Version: V1, roots: v1}, nil
	}
	if v2 == "" {
		return Tree{}, errors.New("no cgroup hierarchy is mounted below /sys/fs/cgroup: mount cgroup v2 there, or run where it is")
	}
	return Tree{Version: V2, roots: []string{v2}}, nil
}

// Make creates a cgroup, path relative to the root such as fairlead/demo/node1, in every hierarchy, ready to have
// child cgroups with all controllers. It is not an error if it exists.
func (t Tree) Make(path string) error {
	for _, root := range t.roots {
		dir := root
		for _, part := range strings.Split(path, "/") {
			if t.Version == V2 {
				if err := t.delegate(root, dir); err != nil {
					return err
				}
			}
			parent := dir
			dir = filepath.Join(dir, part)
			if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
				return fmt.Errorf("making the cgroup %s: %w", dir, err)
			}
			if err := inheritCpuset(parent, dir); err != nil {
				return err
			}
		}
		if t.Version == V2 {
			if err := t.delegate(root, dir); err != nil {
				return err
			}
		}
	}
	return nil
}

// MakeLeaf creates a cgroup that processes are put into, and returns the cgroup.procs files for that. Under v2
// only a cgroup without enabled controllers may hold processes, so a leaf never gets children.
func (t Tree) MakeLeaf(path string) (procs []string, err error) {
	if err := t.Make(filepath.Dir(path)); err != nil {
		return nil, err
	}
	for _, root := range t.roots {
		dir := filepath.Join(root, path)
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			return nil, fmt.Errorf("making the cgroup %s: %w", dir, err)
		}
		if err := inheritCpuset(filepath.Dir(dir), dir); err != nil {
			return nil, err
		}
		procs = append(procs, filepath.Join(dir, "cgroup.procs"))
	}
	return procs, nil
}

// inheritCpuset fills in what a v1 cpuset needs before any process may enter; elsewhere the files do not exist.
func inheritCpuset(parent, dir string) error {
	for _, name := range []string{"cpuset.cpus", "cpuset.mems"} {
		if _, err := os.Stat(filepath.Join(dir, "cgroup.controllers")); err == nil {
			return nil // v2 inherits by itself
		}
		own, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the cpuset of %s: %w", dir, err)
		}
		if strings.TrimSpace(string(own)) != "" {
			continue
		}
		value, err := os.ReadFile(filepath.Join(parent, name))
		if err != nil {
			return fmt.Errorf("reading the cpuset of %s: %w", parent, err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), value, 0o644); err != nil {
			return fmt.Errorf("setting the cpuset of %s: %w", dir, err)
		}
	}
	return nil
}
