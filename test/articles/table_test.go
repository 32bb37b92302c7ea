package articles

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

const (
	folder = "testdata/"
	page   = "../../docs/compatibility.md"
)

// verdict says what becomes of a manifest.
type verdict struct {
	// File is the manifest's name below testdata, without ".yaml".
	File string `json:"file"`
	// Shows is what the article shows with it.
	Shows string `json:"shows"`
	// Completed are the paths of what a fragment lacked.
	Completed []string `json:"completed,omitempty"`
	// Verdict is "accepted" or "refused".
	Verdict string `json:"verdict"`
	// By is what of this release acts on it: schema, conversion, defaulting, injection, capture, validation; or "stored", if
	// nothing but schema and conversion does; or "kubernetes", if it is no object of ours; or "kubectl", before us.
	By []string `json:"by"`
	// Does is what happens, for users.
	Does string `json:"does"`
	// Says is what a refusal says, in any order.
	Says []string `json:"says,omitempty"`
	// Unchecked is "accepted", or what the refusal says to clients that do not have fields checked, as kubectl has.
	Unchecked string `json:"unchecked,omitempty"`
	// Instead are manifests below testdata, without ".yaml", that are accepted and do what this one means.
	Instead []string `json:"instead,omitempty"`
	// Holds are values of the accepted object that the manifest does not have, by path.
	Holds map[string]any `json:"holds,omitempty"`
	// Lacks are paths of what the accepted object has not, though it was meant.
	Lacks []string `json:"lacks,omitempty"`
	// Drops are paths of what the manifest has and the accepted object has not.
	Drops []string `json:"drops,omitempty"`
	// Beside is a SidecarSet that is there before a Pod is.
	Beside string `json:"beside,omitempty"`
	// Pod is what the SidecarSet makes of a Pod; of a refused one, the SidecarSet to write instead.
	Pod *injection `json:"pod,omitempty"`
}

// injection is a Pod before and after.
type injection struct {
	// File is the Pod below testdata, without ".yaml".
	File string `json:"file"`
	// Containers are the names and images afterwards, in their order.
	Containers []string `json:"containers"`
	// Holds are further values of it, by path.
	Holds map[string]any `json:"holds,omitempty"`
}

func manifest(name string) string { return folder + name + ".yaml" }

func load(t *testing.T) (all []verdict) {
	t.Helper()
	text, err := os.ReadFile(folder + "verdicts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// parse reads a manifest as kubectl does.
func parse(t *testing.T, name string) (object map[string]any) {
	t.Helper()
	text, err := os.ReadFile(manifest(name))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &object); err != nil {
		t.Fatal(err)
	}
	return object
}

// at is the value at a path of keys and numbers separated by "/", which "~1" stands for in a key; nil if there is none.
func at(value any, path string) any {
	for step := range strings.SplitSeq(path, "/") {
		switch from := value.(type) {
		case map[string]any:
			value = from[strings.ReplaceAll(step, "~1", "/")]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(from) {
				return nil
			}
			value = from[i]
		default:
			return nil
		}
	}
	return value
}

// TestTable: every manifest has one verdict, which says enough.
func TestTable(t *testing.T) {
	var named []string
	count := map[string]int{}
	for _, v := range load(t) {
		named = append(named, manifest(v.File))
		if problem := v.problem(); problem != "" {
			t.Errorf("%s: %s", v.File, problem)
		}
		for _, path := range v.Completed {
			if at(parse(t, v.File), path) == nil {
				t.Errorf("%s: completed %s, which is not there", v.File, path)
			}
		}
		if count[v.File]++; count[v.File] > 1 {
			t.Errorf("%s has two verdicts", v.File)
		}
		for _, instead := range v.Instead {
			named = append(named, manifest(instead))
		}
		if v.Pod != nil {
			named = append(named, manifest(v.Pod.File))
		}
	}
	slices.Sort(named)
	there, e1 := filepath.Glob(folder + "*.yaml")
	deeper, e2 := filepath.Glob(folder + "*/*.yaml")
	if e1 != nil || e2 != nil {
		t.Fatal(e1, e2)
	}
	there = slices.DeleteFunc(append(there, deeper...), func(file string) bool { return file == folder+"verdicts.yaml" })
	slices.Sort(there)
	if diff := cmp.Diff(there, slices.Compact(named)); diff != "" {
		t.Errorf("files (-) and verdicts (+):\n%s", diff)
	}
}

// problem is what a verdict lacks.
func (v verdict) problem() string {
	known := []string{"schema", "conversion", "defaulting", "injection", "capture", "validation", "stored", "kubernetes", "kubectl"}
	for _, by := range v.By {
		if !slices.Contains(known, by) {
			return "by " + by + " is not known"
		}
	}
	switch {
	case v.Shows == "" || v.Does == "" || len(v.By) == 0:
		return "shows, does or by is missing"
	case v.Verdict == "refused" && (len(v.Says) == 0 || len(v.Instead) == 0 || v.Unchecked == ""):
		return "a refusal says something, and what to write instead, and what unchecked clients get"
	case v.Verdict == "accepted" && (len(v.Says) > 0 || v.Unchecked != ""):
		return "what is accepted is not refused"
	case v.Verdict != "refused" && v.Verdict != "accepted":
		return "the verdict is " + v.Verdict
	case slices.Contains(v.By, "injection") && v.Pod == nil:
		return "what injects shows a Pod"
	}
	return ""
}

// TestPage: users read what is tested.
func TestPage(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for _, v := range load(t) {
		want.WriteString(v.row() + "\n")
	}
	var got strings.Builder
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "| [") {
			got.WriteString(line)
		}
	}
	if diff := cmp.Diff(want.String(), got.String()); diff != "" {
		t.Errorf("the rows of %s should be (-) and are (+):\n%s\nall of them:\n%s", page, diff, want.String())
	}
}

// row is a verdict in the table for users.
func (v verdict) row() string {
	link := func(name string) string {
		return "[" + filepath.Base(name) + "](../test/articles/" + manifest(name) + ")"
	}
	what := v.Does
	if len(v.Says) > 0 {
		what += " The message says `" + strings.Join(v.Says, "`, `") + "`."
	}
	var instead []string
	for _, name := range v.Instead {
		instead = append(instead, link(name))
	}
	if len(instead) > 0 {
		what += " Write " + strings.Join(instead, " or ") + " instead."
	}
	completed := ""
	if len(v.Completed) > 0 {
		completed = "`" + strings.ReplaceAll(strings.Join(v.Completed, "`, `"), "/", ".") + "`"
	}
	return strings.TrimSpace("| " + strings.Join([]string{
		link(v.File) + ": " + v.Shows, v.Verdict, strings.Join(v.By, ", "), what, completed}, " | ") + " |")
}
