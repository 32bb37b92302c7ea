package images

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Tests and manifests rely on these names, tags and programs.
func TestImages(t *testing.T) {
	want := []string{
		"bank.test/web v1..v3 /app web",
		"bank.test/tool v1..v3 /app wait",
		"bank.test/empty v1..v1 /app wait",
		"bank.test/job v1..v3 /app exit 10s 0",
		"bank.test/crash v1..v1 /app exit 2s 1",
		"bank.test/model v1..v1 /app wait",
	}
	var got []string
	for _, i := range all {
		spec := i.spec("/built/app", "v1")
		got = append(got, i.repository+" v1..v"+string(rune('0'+i.versions))+" "+strings.Join(spec.Entrypoint, " "))
		if spec.Files["/bin/busybox"] != "/bin/busybox" || spec.Files["/app"] != "/built/app" || spec.Links["/bin/sh"] != "busybox" {
			t.Errorf("%s has the files %v and links %v", i.repository, spec.Files, spec.Links)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTagsDiffer(t *testing.T) {
	a, b := all[0].spec("/app", "v1"), all[0].spec("/app", "v2")
	if cmp.Equal(a.Env, b.Env) || a.Env[0] != "VERSION=v1" {
		t.Errorf("environments %v and %v", a.Env, b.Env)
	}
}
