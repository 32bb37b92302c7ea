package mounts

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	const table = `proc /proc proc rw 0 0
tmpfs /s/a tmpfs rw 0 0
tmpfs /s/a/nodes/node1/kubelet/pods/p/volumes/v tmpfs rw 0 0
nsfs /s/a/run/with\040space nsfs rw 0 0
tmpfs /s/ab tmpfs rw 0 0
overlay /s overlay rw 0 0
`
	want := []string{"/s/a/nodes/node1/kubelet/pods/p/volumes/v", "/s/a/run/with space", "/s/a"}
	if diff := cmp.Diff(want, parse(table, "/s/a")); diff != "" {
		t.Error(diff)
	}
}

func TestUndo(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	dir := t.TempDir()
	outer, inner := filepath.Join(dir, "outer"), filepath.Join(dir, "outer", "in ner")
	mount := func(target string) {
		if err := os.MkdirAll(target, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mount("tmpfs", target, "tmpfs", 0, ""); err != nil {
			t.Skipf("this machine does not let us mount: %v", err)
		}
	}
	mount(outer)
	mount(inner)
	mount(inner)
	if points, err := Below(dir); err != nil || len(points) != 3 {
		t.Fatalf("mounted: %v, %v", points, err)
	}
	if err := Undo(dir); err != nil {
		t.Fatal(err)
	}
	if points, err := Below(dir); err != nil || len(points) != 0 {
		t.Errorf("left: %v, %v", points, err)
	}
}
