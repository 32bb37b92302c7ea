package userpolicy

import (
	"strings"
	"testing"
)

// expression is a set that says what an expression is, or nothing where it is undefined.
func expression(expression string) map[string]string {
	return map[string]string{"a.rego": `# METADATA
# scope: package
# custom: {match: [{apiGroups: [""], resources: [pods]}]}
package p

deny contains sprintf("%v", [x]) if x := ` + expression + "\n"}
}

func TestBuiltinsAreBounded(t *testing.T) {
	for said, want := range map[string]string{
		`bits.lsh(1, 10)`:    "1024",
		`bits.lsh(1, 65537)`: "",
		// Unbounded this ends the process: out of memory.
		`bits.lsh(1, 1000000000000)`:  "",
		`units.parse("1e3")`:          "1000",
		`units.parse("128Mi")`:        "134217728",
		`units.parse("1e9999")`:       "",
		`units.parse("1E+009999")`:    "",
		`units.parse_bytes("1e3")`:    "1000",
		`units.parse_bytes("1e9999")`: "",
		`units.parse(concat("", ["1" | some i in numbers.range(1, 257)]))`: "",
		`yaml.unmarshal("a: &a [x]\nb: *a\n").b[0]`:                        "x",
		`yaml.unmarshal("a: 1\n---\nb: 2\n").a`:                            "1",
		// 1 KB a hundred times a hundred: 10 MB.
		`count(yaml.unmarshal(sprintf("a: &a %s\nb: &b [%s]\nc: [%s]\n", [concat("", ["x" | some i in numbers.range(1, 1000)]),
			concat(",", ["*a" | some i in numbers.range(1, 100)]), concat(",", ["*b" | some i in numbers.range(1, 100)])])))`: "",
	} {
		decision := decide(t, set(t, expression(said)), pod("x"))
		var got string
		if len(decision.Violations) > 0 {
			got = decision.Violations[0].Message
		}
		if got != want {
			t.Errorf("%s is %.40q, want %q", said, got, want)
		}
	}
}

func TestBuiltinsThatCannotBeEndedAreNotThere(t *testing.T) {
	for _, call := range []string{`graph.reachable_paths({"a": ["b"]}, ["a"])`, `strings.render_template("{{range 1000000000000}}{{end}}", {})`} {
		source, err := Parse("p", expression(call))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Compile(t.Context(), source); err == nil || !strings.Contains(err.Error(), "is not there for policies: a call of it cannot be ended") {
			t.Errorf("%s: %v", call, err)
		}
	}
}
