// Package cgroup gives a cluster a part of the cgroup tree of its own, on cgroup v1 and v2, and takes it away again.
package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"
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

// controllersV2 are what kubelet wants to be enabled for the cgroups that it makes.
var controllersV2 = []string{"cpuset", "cpu", "io", "memory", "hugetlb", "pids"}

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

// delegate enables for the children of a v2 cgroup all the controllers that it has itself.
func (t Tree) delegate(root, dir string) error {
	available, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return fmt.Errorf("reading the controllers of %s: %w", dir, err)
	}
	enabled, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
	if err != nil {
		return fmt.Errorf("reading the enabled controllers of %s: %w", dir, err)
	}
	want := missing(string(available), string(enabled))
	if want == "" {
		return nil
	}
	control := filepath.Join(dir, "cgroup.subtree_control")
	err = os.WriteFile(control, []byte(want), 0o644)
	if errors.Is(err, syscall.EBUSY) && dir == root {
		// in a container the root cgroup holds our own processes, which forbids controllers for children
		// (the true root of a machine is exempt): move them into a leaf, as a machine's init does
		if err = evacuate(root, filepath.Join(root, "init")); err == nil {
			err = os.WriteFile(control, []byte(want), 0o644)
		}
	}
	if err != nil {
		return fmt.Errorf("enabling the controllers %s for the children of %s: %w", want, dir, err)
	}
	return nil
}

// missing renders what to write to cgroup.subtree_control: the wanted controllers that are available and not enabled.
func missing(available, enabled string) string {
	has, on := map[string]bool{}, map[string]bool{}
	for _, c := range strings.Fields(available) {
		has[c] = true
	}
	for _, c := range strings.Fields(enabled) {
		on[c] = true
	}
	var want []string
	for _, c := range controllersV2 {
		if has[c] && !on[c] {
			want = append(want, "+"+c)
		}
	}
	return strings.Join(want, " ")
}

// evacuate moves every process of one cgroup into another.
func evacuate(from, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	const rounds = 10 // processes fork while they are moved
	for range rounds {
		pids, err := pidsIn(from)
		if err != nil || len(pids) == 0 {
			return err
		}
		for _, pid := range pids {
			err := os.WriteFile(filepath.Join(to, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o644)
			if err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("moving process %d into %s: %w", pid, to, err)
			}
		}
	}
	return fmt.Errorf("moving the processes of %s away: new ones keep appearing", from)
}

func pidsIn(dir string) ([]int, error) {
	data, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENODEV) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the processes of %s: %w", dir, err)
	}
	var pids []int
	for _, f := range strings.Fields(string(data)) {
		// a process of another pid namespace shows as 0 and cannot be moved or ended from here
		if pid, err := strconv.Atoi(f); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// Paths lists the folders of a cgroup and all below it in every hierarchy, children before parents.
func (t Tree) Paths(path string) ([]string, error) {
	var all []string
	for _, root := range t.roots {
		var dirs []string
		err := filepath.WalkDir(filepath.Join(root, path), func(p string, d os.DirEntry, err error) error {
			if errors.Is(err, os.ErrNotExist) {
				return nil
			}
			if err == nil && d.IsDir() {
				dirs = append(dirs, p)
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("listing the cgroup %s: %w", path, err)
		}
		for i := len(dirs) - 1; i >= 0; i-- {
			all = append(all, dirs[i])
		}
	}
	return all, nil
}

// Remove kills every process in a cgroup and below it, and removes the cgroups. It is not an error if there is none.
func (t Tree) Remove(path string) error {
	const (
		limit = 10 * time.Second // a killed process can take seconds to give back much memory
		poll  = 20 * time.Millisecond
	)
	var last error
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(poll) {
		dirs, err := t.Paths(path)
		if err != nil || len(dirs) == 0 {
			return err
		}
		last = nil
		for _, dir := range dirs {
			pids, err := pidsIn(dir)
			if err != nil {
				return err
			}
			for _, pid := range pids {
				_ = syscall.Kill(pid, syscall.SIGKILL) // gone already is as good
			}
			thaw(dir)
			if err := syscall.Rmdir(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
				last = fmt.Errorf("removing the cgroup %s: %w", dir, err)
			}
		}
	}
	return last
}

// thaw wakes frozen processes (a paused container), which otherwise would not die.
func thaw(dir string) {
	for file, value := range map[string]string{"freezer.state": "THAWED", "cgroup.freeze": "0"} {
		name := filepath.Join(dir, file)
		if _, err := os.Stat(name); err == nil {
			_ = os.WriteFile(name, []byte(value), 0o644) // the retry of the caller says if it did not help
		}
	}
}

// RemoveIfEmpty removes a cgroup that has no children and no processes, and leaves any other alone.
func (t Tree) RemoveIfEmpty(path string) {
	for _, root := range t.roots {
		_ = syscall.Rmdir(filepath.Join(root, path)) // EBUSY is the kernel's word for not empty
	}
}
