package terminal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestExitCodes(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want int
	}{
		{nil, 0}, {errors.New("anything"), 1}, {Usagef("x"), 2}, {Unreachable(errors.New("x")), 3}, {Unwritten(errors.New("x")), 4}, {Unwritten(nil), 0},
		{fmt.Errorf("wrapped: %w", Usagef("x")), 2}, {Found(&cobra.Command{}, ExitFound), 1}, {Found(&cobra.Command{}, ExitUnreachable), 3},
		{Found(&cobra.Command{}, ExitOK), 0}, {Usage(nil), 0},
	} {
		if got := ExitCode(tt.err); got != tt.want {
			t.Errorf("%v: %d, want %d", tt.err, got, tt.want)
		}
	}
}

func TestFindingsAreNotSaidTwice(t *testing.T) {
	cmd := &cobra.Command{Use: "x", RunE: func(cmd *cobra.Command, _ []string) error { return Found(cmd, ExitFound) }, SilenceUsage: true}
	var out bytes.Buffer
	cmd.SetErr(&out)
	cmd.SetArgs(nil)
	if err := cmd.Execute(); ExitCode(err) != ExitFound || out.Len() > 0 {
		t.Errorf("%v: %s", err, out.String())
	}
}

func TestNames(t *testing.T) {
	for path, want := range map[string]string{
		"/usr/bin/fairlead": "fairlead", "fairlead": "fairlead", "/usr/local/bin/kubectl-fairlead": "kubectl fairlead",
		"kubectl-fairlead.exe": "kubectl fairlead", "kubectl_complete-fairlead": "kubectl_complete-fairlead",
	} {
		if got := NameOf(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

func TestExamplesSayTheName(t *testing.T) {
	got := Program{Name: "kubectl fairlead"}.Examples("\n\t# what fairlead does\n\t\tfairlead review -f -\n\tcat x | fairlead review -f -\n")
	want := "  # what fairlead does\n  kubectl fairlead review -f -\n  cat x | kubectl fairlead review -f -"
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestOutput(t *testing.T) {
	value := map[string]any{"a": "<b>"}
	for format, want := range map[string]string{"text": "words\n", "json": "{\n  \"a\": \"<b>\"\n}\n", "yaml": "a: <b>\n"} {
		var out bytes.Buffer
		o := Output{format: format}
		err := o.Print(&out, os.Getenv, value, func(t *Text) { t.Line("%s", t.In(Bad, "words")) })
		if err != nil || out.String() != want || o.Check() != nil {
			t.Errorf("%s: %v, %q, want %q", format, err, out.String(), want)
		}
	}
	if err := (&Output{format: "xml"}).Check(); ExitCode(err) != ExitUsage {
		t.Errorf("xml: %v", err)
	}
}

// A terminal that is none: every character device counts as one.
func TestColours(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = null.Close() }()
	plain, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = plain.Close() }()
	env := func(name, value string) func(string) string {
		return func(asked string) string {
			if asked == name {
				return value
			}
			return ""
		}
	}
	if !Coloured(null, env("", "")) {
		t.Error("no colours on a device")
	}
	for what, coloured := range map[string]bool{
		"a file": Coloured(plain, env("", "")), "a buffer": Coloured(&bytes.Buffer{}, env("", "")),
		"NO_COLOR": Coloured(null, env("NO_COLOR", "1")), "a dumb terminal": Coloured(null, env("TERM", "dumb")),
	} {
		if coloured {
			t.Errorf("colours with %s", what)
		}
	}
	var out bytes.Buffer
	text := NewText(&out, true)
	text.Line("%s", text.In(Bad, "no"))
	if out.String() != "\x1b[31mno\x1b[0m\n" {
		t.Errorf("%q", out.String())
	}
}

func TestReadFiles(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"b.yaml": "{apiVersion: v1, kind: B}", "a.json": `{"apiVersion":"v1","kind":"A"}`, "c.txt": "x", ".d.yaml": "x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found, err := ReadFiles([]string{dir, "-"}, strings.NewReader("{apiVersion: v1, kind: C}"))
	if err != nil || len(found) != 3 || !strings.HasSuffix(found[0].Where, "a.json:1") || found[2].Where != "stdin:1" {
		t.Errorf("%v, %v", found, err)
	}
	for name, want := range map[string]string{
		"https://example.com/x.yaml": "only files are read", "/does/not/exist": "no such file", filepath.Join(dir, "c.txt"): "c.txt:1", os.DevNull: "there is no object",
	} {
		if _, err := ReadFiles([]string{name}, nil); ExitCode(err) != ExitUsage || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// What is in a folder was not named: a device or a pipe there is a mistake, and reading it might never end.
func TestFoldersWithOtherThanFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(os.DevNull, filepath.Join(dir, "a.yaml")); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFiles([]string{dir}, nil); ExitCode(err) != ExitUsage || !strings.Contains(err.Error(), "a.yaml: it is no regular file") {
		t.Errorf("%v", err)
	}
	if err := os.Symlink("terminal_test.go", filepath.Join(dir, "gone")); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadRegular(filepath.Join(dir, "gone")); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("%v", err)
	}
}

func TestComplaintsAreErrorsOnly(t *testing.T) {
	c := &Complaints{}
	log := c.Logger().WithName("x").WithValues("a", "b")
	log.Info("fine")
	log.Error(errors.New("cause"), "Broken")
	if got := c.All(); len(got) != 1 || got[0] != "Broken: cause" {
		t.Errorf("%q", got)
	}
}
