package features

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/component-base/featuregate"
)

// unknown is the error for a name that is no gate. Names that differ by case, by a forgotten "Gate", or by a few
// letters are offered; all of them would be noise.
func unknown(name string, known map[featuregate.Feature]featuregate.FeatureSpec) error {
	var near []string
	for gate := range known {
		if isNear(name, string(gate)) {
			near = append(near, string(gate))
		}
	}
	if len(near) == 0 {
		return fmt.Errorf("unknown feature gate %q; --help lists them all", name)
	}
	slices.Sort(near)
	return fmt.Errorf("unknown feature gate %q; did you mean %s?", name, strings.Join(near, " or "))
}

func isNear(name, gate string) bool {
	a, b := plain(name), plain(gate)
	if a == "" {
		return false
	}
	// A fifth of the letters: typing mistakes in names of 10 to 40 letters, not other names.
	return a == b || distance(a, b) <= len(b)/5
}

// plain is a name without case and without the word that some gates end with and others do not.
func plain(name string) string {
	return strings.TrimSuffix(strings.ToLower(name), "gate")
}

// distance is the number of letters to insert, delete or replace to turn a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
