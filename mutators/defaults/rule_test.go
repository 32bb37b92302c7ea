package defaults

import (
	"encoding/json"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/jsontree"
)

// ruleCase is an object and the operations that a table of rules makes of it.
type ruleCase struct {
	name, object string
	want         []string // "op path value"
}

func testRules(t *testing.T, rules []rule, cases []ruleCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			top, err := jsontree.Parse(jsontext.Value(c.object))
			if err != nil {
				t.Fatal(err)
			}
			apply(rules, top)
			if diff := cmp.Diff(c.want, operations(t, top.Patch())); diff != "" {
				t.Errorf("operations (-want +got):\n%s", diff)
			}
		})
	}
}

// operations spells a patch one operation a line.
func operations(t *testing.T, patch jsontext.Value) (lines []string) {
	t.Helper()
	if patch == nil {
		return nil
	}
	var ops []struct {
		Op, Path string
		Value    json.RawMessage
	}
	if err := json.Unmarshal(patch, &ops); err != nil {
		t.Fatalf("patch %s: %v", patch, err)
	}
	for _, op := range ops {
		lines = append(lines, op.Op+" "+op.Path+" "+string(op.Value))
	}
	return lines
}

func TestRules(t *testing.T) {
	testRules(t, []rule{unset("mode", 420)}, []ruleCase{
		{"unset: absent", `{}`, []string{`add /mode 420`}},
		{"unset: null is absent", `{"mode":null}`, []string{`add /mode 420`}},
		{"unset: zero is a value", `{"mode":0}`, nil},
		{"unset: another kind stays", `{"mode":"0644"}`, nil},
	})
	testRules(t, []rule{unset("type", "")}, []ruleCase{
		{"unset: an empty default", `{}`, []string{`add /type ""`}},
		{"unset: is stable", `{"type":""}`, nil},
	})
	testRules(t, []rule{unset("readOnly", false)}, []ruleCase{
		{"unset: boolean", `{}`, []string{`add /readOnly false`}},
	})
	testRules(t, []rule{empty("n", 3), empty("s", "x")}, []ruleCase{
		{"empty: absent", `{}`, []string{`add /n 3`, `add /s "x"`}},
		{"empty: null", `{"n":null,"s":null}`, []string{`add /n 3`, `add /s "x"`}},
		{"empty: zero", `{"n":0,"s":""}`, []string{`add /n 3`, `add /s "x"`}},
		{"empty: a value", `{"n":7,"s":"y"}`, nil},
		{"empty: another kind's zero stays", `{"n":"","s":0}`, nil},
	})
	testRules(t, []rule{in("a", unset("b", 1))}, []ruleCase{
		{"in: absent", `{}`, nil},
		{"in: null", `{"a":null}`, nil},
		{"in: there", `{"a":{}}`, []string{`add /a/b 1`}},
		{"in: a list", `{"a":[{}]}`, nil},
		{"in: a string", `{"a":"{}"}`, nil},
	})
	testRules(t, []rule{ensure("a", unset("b", 1), unset("c", 2))}, []ruleCase{
		{"ensure: absent is one operation", `{}`, []string{`add /a {"b":1,"c":2}`}},
		{"ensure: null", `{"a":null}`, []string{`add /a {"b":1,"c":2}`}},
		{"ensure: there", `{"a":{"c":3}}`, []string{`add /a/b 1`}},
		{"ensure: another kind stays", `{"a":"x"}`, nil},
	})
	testRules(t, []rule{each("a", unset("b", 1))}, []ruleCase{
		{"each: absent", `{}`, nil},
		{"each: only objects", `{"a":[{},null,7,[{}],{"b":2},{}]}`, []string{`add /a/0/b 1`, `add /a/5/b 1`}},
		{"each: an object", `{"a":{"0":{}}}`, nil},
	})
}

func TestPatchEscapesNames(t *testing.T) {
	testRules(t, []rule{in("a/b~c", unset(`d/"~`, 1))}, []ruleCase{
		{"pointer", `{"a/b~c":{}}`, []string{`add /a~1b~0c/d~1"~0 1`}},
	})
}

// TestFidelity wants everything that no rule names back as it was: order, spelling, spaces inside untouched values.
func TestFidelity(t *testing.T) {
	const sent = ` { "z" : [ 1.50 , {"deep" : 9007199254740993} ], "\u0061" : {"k\u00fcnftig":1E3, "n":0}, "list":[{ "x" : -0 },7] } `
	top, err := jsontree.Parse(jsontext.Value(sent))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(top.Bytes()); " "+got+" " != sent {
		t.Errorf("unchanged document:\n%s\nwant\n%s", got, sent)
	}
	apply([]rule{in("a", empty("n", 5)), each("list", unset("y", 1))}, top)
	const want = `{"z":[ 1.50 , {"deep" : 9007199254740993} ],"\u0061":{"k\u00fcnftig":1E3,"n":5},"list":[{"x":-0,"y":1},7]}`
	if got := string(top.Bytes()); got != want {
		t.Errorf("changed document:\n%s\nwant\n%s", got, want)
	}
}
