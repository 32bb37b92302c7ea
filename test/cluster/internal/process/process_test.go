package process

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseMarks(t *testing.T) {
	env := func(kv ...string) []byte { return []byte(strings.Join(kv, "\x00") + "\x00") }
	tests := []struct {
		name  string
		env   []byte
		want  Proc
		owned bool
	}{
		{"ours", env("PATH=/bin", "FAIRLEAD_CLUSTER_OWNER=/s/a", "FAIRLEAD_CLUSTER_PROCESS=etcd"), Proc{Name: "etcd"}, true},
		{"another cluster whose folder begins alike", env("FAIRLEAD_CLUSTER_OWNER=/s/ab", "FAIRLEAD_CLUSTER_PROCESS=etcd"), Proc{Name: "etcd"}, false},
		{"a value that looks like a mark", env("X=FAIRLEAD_CLUSTER_OWNER=/s/a"), Proc{}, false},
		{"a zombie", nil, Proc{}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, owned := parseMarks(tt.env, "/s/a")
			if owned != tt.owned {
				t.Errorf("owned: %t, want %t", owned, tt.owned)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseSession(t *testing.T) {
	for stat, want := range map[string]int{
		"71 (etcd) S 1 71 70 0 -1 4194560":       70,
		"71 (a) b) (c d) S 1 71 69 0 -1 4194560": 69,
		"71 (etcd)":                              -1,
	} {
		if got := parseSession([]byte(stat)); got != want {
			t.Errorf("%q: session %d, want %d", stat, got, want)
		}
	}
}

// A program that ignores SIGTERM and has a child is found with the child, and both are ended.
func TestStartFindStop(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "logs", "stubborn.log")
	ended, err := Start(dir, Spec{
		Name: "node1/stubborn", Log: log, Env: []string{"GREETING=hello"},
		Args: []string{"sh", "-c", `trap "" TERM; echo $GREETING $1; sleep 300 & wait; sleep 300`, "sh", "it's"},
	})
	if err != nil {
		t.Fatal(err)
	}
	list := func() ([]Proc, error) { return Find(dir, "node1") }
	t.Cleanup(func() { _ = Stop(list, 0) })
	procs := eventually(t, list, 2)
	leaders := 0
	for _, p := range procs {
		if p.Name != "node1/stubborn" {
			t.Errorf("name %q", p.Name)
		}
		if p.Leader {
			leaders++
		}
	}
	if leaders != 1 {
		t.Errorf("%d leaders among %v, want 1", leaders, procs)
	}
	if other, err := Find(dir, "node"); err != nil || len(other) != 0 {
		t.Errorf("a name that is only a prefix finds %v, %v", other, err)
	}
	if err := Stop(list, 200*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if left, err := list(); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	<-ended
	if out, err := os.ReadFile(log); err != nil || string(out) != "hello it's\n" {
		t.Errorf("log %q, %v", out, err)
	}
}

func eventually(t *testing.T, list func() ([]Proc, error), n int) []Proc {
	t.Helper()
	for range 200 {
		procs, err := list()
		if err != nil {
			t.Fatal(err)
		}
		if len(procs) == n {
			return procs
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("never saw %d processes", n)
	return nil
}

// The program begins only after the files named for it have its number.
func TestStartEntersCgroupFirst(t *testing.T) {
	dir := t.TempDir()
	procs := filepath.Join(dir, "it's", "cgroup.procs")
	if err := os.MkdirAll(filepath.Dir(procs), 0o755); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(dir, "log")
	ended, err := Start(dir, Spec{Name: "x", Log: log, CgroupProcs: []string{procs}, Args: []string{"sh", "-c", `echo $$; cat "$0"`, procs}})
	if err != nil {
		t.Fatal(err)
	}
	<-ended
	out, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(string(out))
	if len(lines) != 2 || lines[0] != lines[1] {
		t.Errorf("the program is process %q and found %q", lines[0], lines[1:])
	}
}

func TestStartSaysWhatIsMissing(t *testing.T) {
	dir := t.TempDir()
	_, err := Start(dir, Spec{Name: "x", Log: filepath.Join(dir, "log"), Args: []string{"no-such-program-here"}})
	if err == nil || !strings.Contains(err.Error(), "no-such-program-here") {
		t.Errorf("error %v, want one that names the program", err)
	}
}
