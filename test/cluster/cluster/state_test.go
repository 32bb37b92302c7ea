package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStateSurvivesTheDisk(t *testing.T) {
	root := t.TempDir()
	want := state{
		Name: "a", Level: LevelReal, Phase: phaseReady, KubernetesVersion: "1.37.2", Slot: 7, Nodes: []int{1, 3},
		ExtraArgs: map[string][]string{"kubelet": {"-v=4"}}, Binaries: "/b", Helm: "/h/helm",
	}
	path := layout{dir: filepath.Join(root, "a")}.stateFile()
	if err := want.save(path); err != nil {
		t.Fatal(err)
	}
	got, err := loadState(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := loadState(layout{dir: filepath.Join(root, "b")}.stateFile()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a cluster that is not there: %v", err)
	}
	if entries, _ := os.ReadDir(filepath.Join(root, "a")); len(entries) != 1 {
		t.Errorf("%d files left, want the state alone", len(entries))
	}
}

func TestListAndTakenSlots(t *testing.T) {
	root := t.TempDir()
	for name, s := range map[string]slot{"b": 4, "a": 2} {
		if err := (state{Name: name, Slot: s}).save(layout{dir: filepath.Join(root, name)}.stateFile()); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(root, "c.logs"), 0o755); err != nil {
		t.Fatal(err)
	}
	names, err := List(root)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "b"}, names); diff != "" {
		t.Error(diff)
	}
	taken, err := takenSlots(root)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[slot]bool{2: true, 4: true}, taken); diff != "" {
		t.Error(diff)
	}
}

func TestNextNodeFillsGaps(t *testing.T) {
	for _, tt := range []struct {
		nodes []int
		want  int
	}{{nil, 1}, {[]int{1, 2}, 3}, {[]int{1, 3}, 2}, {[]int{2}, 1}} {
		if got := (state{Nodes: tt.nodes}).nextNode(); got != tt.want {
			t.Errorf("after %v comes %d, want %d", tt.nodes, got, tt.want)
		}
	}
}

func TestNodeNumber(t *testing.T) {
	if n, err := nodeNumber("node12"); err != nil || n != 12 {
		t.Errorf("node12: %d, %v", n, err)
	}
	for _, bad := range []string{"", "node", "12", "node012", "nodeX", "node-1x"} {
		if n, err := nodeNumber(bad); err == nil {
			t.Errorf("%q is taken for node %d", bad, n)
		}
	}
}

func TestStateFits(t *testing.T) {
	running := state{Level: LevelReal, KubernetesVersion: "1.37.2", ExtraArgs: map[string][]string{Kubelet: {"-v=4"}}}
	same := Options{Level: LevelReal, KubernetesVersion: "1.37.2", ExtraArgs: map[string][]string{Kubelet: {"-v=4"}}}
	tests := []struct {
		name   string
		change func(*Options)
		want   bool
	}{
		{"the same", func(*Options) {}, true},
		{"more nodes", func(o *Options) { o.Nodes = 9 }, true},
		{"controllers, which level real has anyway", func(o *Options) { o.Controllers = true }, true},
		{"another version", func(o *Options) { o.KubernetesVersion = "1.30.14" }, false},
		{"another level", func(o *Options) { o.Level = LevelAPIServer }, false},
		{"other arguments", func(o *Options) { o.ExtraArgs = map[string][]string{Kubelet: {"-v=5"}} }, false},
		{"no arguments", func(o *Options) { o.ExtraArgs = nil }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := same
			tt.change(&o)
			if got := running.fits(o); got != tt.want {
				t.Errorf("fits: %t, want %t", got, tt.want)
			}
		})
	}
	if (state{Level: LevelAPIServer}).fits(Options{Level: LevelAPIServer, Controllers: true}) {
		t.Error("a cluster without controllers fits options with them")
	}
}
