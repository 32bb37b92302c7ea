package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// controllersV2 are what kubelet wants to be enabled for the cgroups that it makes.
var controllersV2 = []string{"cpuset", "cpu", "io", "memory", "hugetlb", "pids"}

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
