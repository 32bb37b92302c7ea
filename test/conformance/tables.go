package conformance

import (
	"embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

//go:embed testdata
var testdata embed.FS

// field is one row of a field table: `[]` in its path stands for an array's items, `{}` for a map's values.
type field struct {
	Type        string
	Required    bool
	Constraints string // sorted, with blanks between
}

// readFields reads one table, by path.
func readFields(plural, version string) (map[string]field, error) {
	data, err := testdata.ReadFile("testdata/" + plural + "." + version + ".tsv")
	if err != nil {
		return nil, err
	}
	fields := map[string]field{}
	for line := range strings.Lines(string(data)) {
		cells := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(cells) != 4 {
			return nil, fmt.Errorf("reading %s.%s: row %q has %d cells, want 4", plural, version, line, len(cells))
		}
		if cells[0] != "path" {
			fields[cells[0]] = field{Type: cells[1], Required: cells[2] == "required", Constraints: join(strings.Fields(cells[3]))}
		}
	}
	return fields, nil
}

// Kind is one row of the table of kinds.
type Kind struct {
	Kind, Version, Group, Scope string
	ShortNames                  []string
	Storage, Status             bool
	// Scale holds the paths of spec, status and selector; nil without the subresource.
	Scale []string
	// Columns are the printer columns in order.
	Columns []Column
}

// Plural is the name of the resource.
func (k Kind) Plural() string { return strings.ToLower(k.Kind) + "s" }

// Column is a printer column; priority 1 shows only in wide output.
type Column struct {
	Name, Path string
	Priority   int32
}

// ReadKinds reads the table of kinds.
func ReadKinds() ([]Kind, error) {
	data, err := testdata.ReadFile("testdata/kinds.md")
	if err != nil {
		return nil, err
	}
	var kinds []Kind
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n")[2:] { // below the header and its line
		k, err := readKind(line)
		if err != nil {
			return nil, fmt.Errorf("reading row %q: %w", line, err)
		}
		kinds = append(kinds, k)
	}
	return kinds, nil
}

func readKind(line string) (Kind, error) {
	cells := strings.Split(line, "|")
	if len(cells) != 11 {
		return Kind{}, fmt.Errorf("it has %d cells, want 11", len(cells))
	}
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	columns, err := readColumns(cells[9])
	k := Kind{Kind: cells[1], Version: cells[2], Group: cells[3], Scope: cells[4], ShortNames: strings.Fields(cells[5]),
		Storage: cells[6] == "yes", Status: cells[7] == "yes", Columns: columns}
	if paths, ok := strings.CutPrefix(cells[8], "yes: "); ok {
		k.Scale = strings.Split(paths, ", ")
	}
	return k, err
}

var columnPattern = regexp.MustCompile(`^(\[?)([^=\[\]]+)=(.+?)(\]?)$`)

func readColumns(cell string) ([]Column, error) {
	if cell == "" {
		return nil, nil
	}
	var columns []Column
	for text := range strings.SplitSeq(cell, ", ") {
		m := columnPattern.FindStringSubmatch(text)
		if m == nil {
			return nil, fmt.Errorf("column %q is not name=path", text)
		}
		c := Column{Name: m[2], Path: m[3]}
		if m[1] == "[" {
			c.Priority = 1
		} else {
			c.Path += m[4] // a path may end in a bracket of its own
		}
		columns = append(columns, c)
	}
	return columns, nil
}

func join(constraints []string) string {
	return strings.Join(slices.Sorted(slices.Values(constraints)), " ")
}
