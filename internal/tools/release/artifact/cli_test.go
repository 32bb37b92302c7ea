package artifact

import (
	"archive/zip"
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func cli(os string) CLI {
	return CLI{Version: "1.2.3", OS: os, Arch: "arm64", Program: []byte("P"), License: []byte("L"), Readme: []byte("R")}
}

// kubectl finds a plugin, and the program that completes its command lines, by their names.
func TestArchiveForUnix(t *testing.T) {
	c := cli("darwin")
	if want := "fairlead_1.2.3_darwin_arm64.tar.gz"; c.FileName() != want {
		t.Errorf("named %s, want %s", c.FileName(), want)
	}
	archive, err := c.Pack(noon)
	if err != nil {
		t.Fatal(err)
	}
	got := listTar(t, gunzip(t, archive))
	hint := got[0]
	want := []string{
		"0 0644 2026-01-02 12:00:00 LICENSE L", "0 0644 2026-01-02 12:00:00 README.md R",
		"0 0755 2026-01-02 12:00:00 fairlead P", "2 0777 2026-01-02 12:00:00 kubectl-fairlead fairlead",
		"2 0777 2026-01-02 12:00:00 kubectl_complete-fairlead fairlead",
	}
	if diff := cmp.Diff(want, got[1:]); diff != "" {
		t.Error(diff)
	}
	for _, words := range []string{"INSTALL.txt The command line of Fairlead 1.2.3", "ln -s fairlead", "source <(fairlead completion bash)"} {
		if !strings.Contains(hint, words) {
			t.Errorf("INSTALL.txt lacks %q: %s", words, hint)
		}
	}
	if strings.Contains(hint, "PowerShell") {
		t.Errorf("INSTALL.txt is about Windows: %s", hint)
	}
}

func TestArchiveForWindows(t *testing.T) {
	c := cli("windows")
	if want := "fairlead_1.2.3_windows_arm64.zip"; c.FileName() != want {
		t.Errorf("named %s, want %s", c.FileName(), want)
	}
	archive, err := c.Pack(noon)
	if err != nil {
		t.Fatal(err)
	}
	r, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range r.File {
		names = append(names, f.Name)
	}
	if diff := cmp.Diff([]string{"INSTALL.txt", "LICENSE", "README.md", "kubectl-fairlead.exe"}, names); diff != "" {
		t.Error(diff)
	}
	file, err := r.Open("INSTALL.txt")
	if err != nil {
		t.Fatal(err)
	}
	hint, err := io.ReadAll(file)
	if err != nil || !strings.Contains(string(hint), "completion powershell") || strings.Contains(string(hint), "ln -s") {
		t.Errorf("INSTALL.txt (%v): %s", err, hint)
	}
}
