package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// repository makes a git repository with one commit of 14 November 2023 and goes there.
func repository(t *testing.T) (run func(...string)) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	const when = "1700000000 +0000"
	for _, kv := range []string{
		"GIT_AUTHOR_DATE=" + when, "GIT_COMMITTER_DATE=" + when, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
	} {
		key, value, _ := strings.Cut(kv, "=")
		t.Setenv(key, value)
	}
	run = func(args ...string) {
		t.Helper()
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	run("init", "-q")
	change(t, "one")
	run("add", "file")
	run("commit", "-q", "-m", "one")
	return run
}

func change(t *testing.T, content string) {
	t.Helper()
	if err := os.WriteFile("file", []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestReadTree(t *testing.T) {
	run := repository(t)
	read := func(version, epoch string) *tree {
		t.Helper()
		got, err := readTree(t.Context(), version, epoch)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	untagged := read("", "")
	if !strings.HasPrefix(untagged.version, "0.0.0-dev.1.g") || len(untagged.revision) != 40 {
		t.Errorf("without a tag: version %s of %s", untagged.version, untagged.revision)
	}
	if want := time.Date(2023, 11, 14, 22, 13, 20, 0, time.UTC); !untagged.modified.Equal(want) {
		t.Errorf("time %s, want that of the commit, %s", untagged.modified, want)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if root, err := filepath.EvalSymlinks(here); err != nil || untagged.root != root {
		t.Errorf("root %s, want %s (%v)", untagged.root, root, err)
	}
	run("tag", "v1.2.3")
	if got := read("", "").version; got != "1.2.3" {
		t.Errorf("at the tag: version %s, want 1.2.3", got)
	}
	if got := read("v2.0.0", "86400"); got.version != "2.0.0" || !got.modified.Equal(time.Date(1970, 1, 2, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("asked for: version %s at %s", got.version, got.modified)
	}
	change(t, "two")
	if _, err := readTree(t.Context(), "", ""); err == nil || !strings.Contains(err.Error(), "differs from the tag") {
		t.Errorf("error %v, want one about the change", err)
	}
	if got := read("v1.2.3", "").version; got != "1.2.3" {
		t.Errorf("with a change and a version: %s, want 1.2.3", got)
	}
	run("commit", "-q", "-a", "-m", "two")
	if got := read("", "").version; !strings.HasPrefix(got, "1.2.4-dev.1.g") {
		t.Errorf("one after the tag: version %s, want 1.2.4-dev.1.g...", got)
	}
	if _, err := readTree(t.Context(), "", "yesterday"); err == nil || !strings.Contains(err.Error(), "seconds since 1970") {
		t.Errorf("error %v, want one about SOURCE_DATE_EPOCH", err)
	}
}
