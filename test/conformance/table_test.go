package conformance

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// field is one row of a field table: `[]` in its path stands for an array's items, `{}` for a map's values.
type field struct {
	Type        string
	Required    bool
	Constraints string // sorted, with blanks between
}

// readFields reads one table, by path.
func readFields(t *testing.T, plural, version string) map[string]field {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", plural+"."+version+".tsv"))
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]field{}
	for line := range strings.Lines(string(data)) {
		cells := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if cells[0] == "path" {
			continue
		}
		if len(cells) != 4 {
			t.Fatalf("%s.%s: row %q has %d cells, want 4", plural, version, line, len(cells))
		}
		fields[cells[0]] = field{Type: cells[1], Required: cells[2] == "required", Constraints: join(strings.Fields(cells[3]))}
	}
	return fields
}

// kind is one row of the table of kinds.
type kind struct {
	Kind, Version, Group, Scope string
	ShortNames                  []string
	Storage, Status             bool
	Scale                       []string // paths of spec, status and selector; nil without the subresource
	Columns                     []column
}

type column struct {
	Name, Path string
	Priority   int32
}

func (k kind) plural() string { return strings.ToLower(k.Kind) + "s" }

var columnPattern = regexp.MustCompile(`^(\[?)([^=\[\]]+)=(.+?)(\]?)$`)

func readKinds(t *testing.T) []kind {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "kinds.md"))
	if err != nil {
		t.Fatal(err)
	}
	var kinds []kind
	for i, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		if i < 2 { // the header and the line under it
			continue
		}
		cells := strings.Split(line, "|")
		if len(cells) != 11 {
			t.Fatalf("row %q has %d cells, want 11", line, len(cells))
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		k := kind{Kind: cells[1], Version: cells[2], Group: cells[3], Scope: cells[4], ShortNames: strings.Fields(cells[5]),
			Storage: cells[6] == "yes", Status: cells[7] == "yes", Columns: readColumns(t, cells[9])}
		if paths, ok := strings.CutPrefix(cells[8], "yes: "); ok {
			k.Scale = strings.Split(paths, ", ")
		}
		kinds = append(kinds, k)
	}
	return kinds
}

func readColumns(t *testing.T, cell string) []column {
	t.Helper()
	if cell == "" {
		return nil
	}
	var columns []column
	for text := range strings.SplitSeq(cell, ", ") {
		m := columnPattern.FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("reading column %q: want name=path", text)
		}
		c := column{Name: m[2], Path: m[3]}
		if m[1] == "[" {
			c.Priority = 1
		} else {
			c.Path += m[4] // a path may end in a bracket of its own
		}
		columns = append(columns, c)
	}
	return columns
}

func join(constraints []string) string {
	return strings.Join(slices.Sorted(slices.Values(constraints)), " ")
}
