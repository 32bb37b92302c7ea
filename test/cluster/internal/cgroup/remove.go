package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

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
