package cgroup

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	tests := []struct {
		name, table string
		version     Version
		roots       []string
		err         string
	}{
		{name: "v2", table: "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n", version: V2, roots: []string{"/sys/fs/cgroup"}},
		{
			name: "v1", version: V1, roots: []string{"/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/memory"},
			table: "tmpfs /sys/fs/cgroup tmpfs ro 0 0\ncgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\ncgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu 0 0\n",
		},
		{
			name: "hybrid", version: V1, roots: []string{"/sys/fs/cgroup/memory", "/sys/fs/cgroup/unified"},
			table: "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\ncgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\n",
		},
		{name: "another tool's own mount does not count", table: "cgroup2 /run/x cgroup2 rw 0 0\n", err: "no cgroup hierarchy"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parse(tt.table)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("error %v, want one with %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.Version != tt.version {
				t.Errorf("version %d, want %d", got.Version, tt.version)
			}
			if diff := cmp.Diff(tt.roots, got.roots); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMissing(t *testing.T) {
	for _, tt := range []struct{ available, enabled, want string }{
		{"cpuset cpu io memory hugetlb pids rdma misc\n", "\n", "+cpuset +cpu +io +memory +hugetlb +pids"},
		{"cpu memory pids\n", "memory pids\n", "+cpu"},
		{"cpu memory\n", "cpu memory\n", ""},
		{"rdma\n", "\n", ""},
	} {
		if got := missing(tt.available, tt.enabled); got != tt.want {
			t.Errorf("of %q with %q enabled: %q, want %q", tt.available, tt.enabled, got, tt.want)
		}
	}
}

// On v1 a cpuset without CPUs lets no process in, so each level takes its parent's.
func TestInheritCpuset(t *testing.T) {
	parent := t.TempDir()
	child := filepath.Join(parent, "child")
	if err := os.Mkdir(child, 0o755); err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string]string{
		filepath.Join(parent, "cpuset.cpus"): "0-1\n", filepath.Join(parent, "cpuset.mems"): "0\n",
		filepath.Join(child, "cpuset.cpus"): "\n", filepath.Join(child, "cpuset.mems"): "1\n",
	} {
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := inheritCpuset(parent, child); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"cpuset.cpus": "0-1\n", "cpuset.mems": "1\n"} {
		if got, err := os.ReadFile(filepath.Join(child, name)); err != nil || string(got) != want {
			t.Errorf("%s is %q (%v), want %q", name, got, err, want)
		}
	}
}

// realTrees are the hierarchies of this machine: what Detect finds, and the v2 tree by itself where it is mounted
// beside v1 controllers, so that the code for v2 meets a real kernel there as well.
func realTrees(t *testing.T) map[string]Tree {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("making cgroups needs root")
	}
	tree, err := Detect()
	if err != nil {
		t.Skip(err)
	}
	trees := map[string]Tree{"as found": tree}
	for _, root := range tree.roots {
		if _, err := os.Stat(filepath.Join(root, "cgroup.subtree_control")); err == nil && tree.Version == V1 {
			trees["v2 alone"] = Tree{Version: V2, roots: []string{root}}
		}
	}
	return trees
}

func TestMakeAndRemove(t *testing.T) {
	for name, tree := range realTrees(t) {
		t.Run(name, func(t *testing.T) {
			path := "fairlead-unit-test-" + strconv.Itoa(os.Getpid())
			t.Cleanup(func() { _ = tree.Remove(path) })
			if err := tree.Make(path + "/node1/pods"); err != nil {
				t.Skipf("this machine does not let us make cgroups: %v", err)
			}
			procs, err := tree.MakeLeaf(path + "/node1/programs")
			if err != nil {
				t.Fatal(err)
			}
			if len(procs) != len(tree.roots) {
				t.Errorf("%d files to enter by, for %d hierarchies", len(procs), len(tree.roots))
			}
			sleep := exec.Command("sleep", "300")
			if err := sleep.Start(); err != nil {
				t.Fatal(err)
			}
			for _, f := range procs {
				if err := os.WriteFile(f, []byte(strconv.Itoa(sleep.Process.Pid)), 0o644); err != nil {
					t.Errorf("entering the cgroup: %v", err)
				}
			}
			ended := make(chan error, 1)
			go func() { ended <- sleep.Wait() }()
			if err := tree.Remove(path); err != nil {
				t.Fatal(err)
			}
			if err := <-ended; err == nil || !strings.Contains(err.Error(), "killed") {
				t.Errorf("the process in the cgroup ended with %v, want it killed", err)
			}
			left, err := tree.Paths(path)
			if err != nil || len(left) != 0 {
				t.Errorf("left: %v, %v", left, err)
			}
			if err := tree.Remove(path); err != nil {
				t.Errorf("removing what is gone: %v", err)
			}
		})
	}
}

func TestRemoveIfEmptySparesUsedOnes(t *testing.T) {
	for name, tree := range realTrees(t) {
		t.Run(name, func(t *testing.T) {
			path := "fairlead-unit-test-" + strconv.Itoa(os.Getpid())
			t.Cleanup(func() { _ = tree.Remove(path) })
			if err := tree.Make(path + "/other"); err != nil {
				t.Skipf("this machine does not let us make cgroups: %v", err)
			}
			tree.RemoveIfEmpty(path)
			if left, err := tree.Paths(path); err != nil || len(left) != 2*len(tree.roots) {
				t.Errorf("left: %v, %v", left, err)
			}
		})
	}
}
