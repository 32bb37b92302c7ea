package document

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "d.md")
	const before = "# T\n<!-- a begins: written by the command below, not by hand -->\nold\n<!-- a ends -->\nrest\n"
	if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, "a", "new\n"); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if want := strings.Replace(before, "old", "new", 1); err != nil || string(got) != want {
		t.Errorf("%v, the document is %q, want %q", err, got, want)
	}
	if err := Write(path, "b", "new\n"); err == nil || !strings.Contains(err.Error(), "there is no place for the report") {
		t.Errorf("without a place for it: %v", err)
	}
}
