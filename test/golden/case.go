package golden

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// Want is what a case's answer must be.
type Want struct {
	Allowed bool `json:"allowed"`
	// Code and Message are those of a refusal: the status's code, and texts that its message has.
	Code    int      `json:"code"`
	Message []string `json:"message"`
	// Warnings are all warnings, each with its whole text.
	Warnings []string `json:"warnings"`
	// Unchanged says that there must be no patch.
	Unchanged bool `json:"unchanged"`
}

// Server makes the handler that knows the objects of a case.
type Server func(t *testing.T, objects [][]byte) http.Handler

// Run runs every case in a folder and returns the rules that they cover.
func Run(t *testing.T, folder, path string, server Server) (covered []string) {
	t.Helper()
	cases, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name(), func(t *testing.T) {
			runCase(t, filepath.Join(folder, c.Name()), path, server)
		})
		named := rules(t, filepath.Join(folder, c.Name(), "rules"))
		if len(named) == 0 {
			t.Errorf("case %s covers no rule", c.Name())
		}
		covered = append(covered, named...)
	}
	return covered
}

// CheckRules fails the test for each rule of a list, a file with an identifier and its sentence a line, that is not
// covered, and for each covered one that is not in the list.
func CheckRules(t *testing.T, list string, covered []string) {
	t.Helper()
	known := rules(t, list)
	for _, rule := range known {
		if !slices.Contains(covered, rule) {
			t.Errorf("no case covers rule %s", rule)
		}
	}
	for _, rule := range covered {
		if !slices.Contains(known, rule) {
			t.Errorf("a case covers %s, which is no rule", rule)
		}
	}
}

// rules reads the identifiers of a list of rules: the first word of every line that is not empty or a comment.
func rules(t *testing.T, file string) (identifiers []string) {
	t.Helper()
	for line := range strings.Lines(string(read(t, file))) {
		if words := strings.Fields(line); len(words) > 0 && words[0] != "#" {
			identifiers = append(identifiers, words[0])
		}
	}
	return identifiers
}

func runCase(t *testing.T, folder, path string, server Server) {
	review := read(t, filepath.Join(folder, "review.json"))
	answer := Post(t, server(t, Objects(t, filepath.Join(folder, "objects"))), path, review)
	wantFile := read(t, filepath.Join(folder, "want.yaml"))
	var want Want
	if err := yaml.Unmarshal(wantFile, &want); err != nil {
		t.Fatalf("reading want.yaml: %v", err)
	}
	Equal(t, "uid", answer.UID, At(Decode(t, review), "request", "uid"))
	Equal(t, "allowed", answer.Allowed, want.Allowed)
	Equal(t, "status code", answer.Status.Code, want.Code)
	Equal(t, "warnings", answer.Warnings, want.Warnings)
	for _, text := range want.Message {
		if !strings.Contains(answer.Status.Message, text) {
			t.Errorf("message %q does not say %q", answer.Status.Message, text)
		}
	}
	if !answer.Allowed || want.Unchanged {
		if answer.PatchBytes != nil {
			t.Errorf("there is a patch: %s", answer.PatchBytes)
		}
		return
	}
	Equal(t, "the patched object", answer.Patched(t, review), At(YAML(t, wantFile), "object"))
}

func read(t T, file string) []byte {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
