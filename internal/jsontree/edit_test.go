package jsontree

import (
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

func parse(t *testing.T, document string) *Node {
	t.Helper()
	top, err := Parse(jsontext.Value(document))
	if err != nil {
		t.Fatal(err)
	}
	return top
}

func TestEditsKeepTheRestAndMakeAPatch(t *testing.T) {
	for name, c := range map[string]struct {
		document    string
		edit        func(*Node)
		want, patch string
	}{
		"nothing": {` {"a" : 1}`, func(*Node) {}, `{"a" : 1}`, ""},
		"a new member": {
			`{"a" : 1.50}`, func(n *Node) { n.Set("b~/", jsontext.Value("true")) },
			`{"a":1.50,"b~/":true}`, `[{"op":"add","path":"/b~0~1","value":true}]`,
		},
		"another value deep down": {
			`{"a":{"b":[{"c":1,  "d":{ "e" : 9007199254740993 }}]}}`,
			func(n *Node) { n.Object("a").Get("b").Elements()[0].Set("c", jsontext.Value(`"x"`)) },
			`{"a":{"b":[{"c":"x","d":{ "e" : 9007199254740993 }}]}}`, `[{"op":"replace","path":"/a/b/0/c","value":"x"}]`,
		},
		"below what was put": {
			`{}`, func(n *Node) { n.Set("a", jsontext.Value("{}")).Set("b", jsontext.Value("1")) },
			`{"a":{"b":1}}`, `[{"op":"add","path":"/a","value":{"b":1}}]`,
		},
		"a removed member": {
			`{"a":1,"b":2}`, func(n *Node) { n.Remove("a") },
			`{"b":2}`, `[{"op":"remove","path":"/a"}]`,
		},
		"removed after it was put": {`{"b":2}`, func(n *Node) { n.Set("a", jsontext.Value("1")); n.Remove("a") }, `{"b":2}`, ""},
		"put after it was removed": {
			`{"a":{"b":2},"c":3}`, func(n *Node) { n.Remove("a"); n.Set("a", jsontext.Value("1")) },
			`{"c":3,"a":1}`, `[{"op":"remove","path":"/a"},{"op":"add","path":"/a","value":1}]`,
		},
		"a change is lost with what it was in": {
			`{"a":{"b":2}}`, func(n *Node) { n.Object("a").Set("b", jsontext.Value("3")); n.Remove("a") },
			`{}`, `[{"op":"remove","path":"/a"}]`,
		},
		"a renamed member takes its changes along": {
			`{"a":{"b":2}}`, func(n *Node) { n.Object("a").Set("b", jsontext.Value("3")); n.Rename("a", "z") },
			`{"z":{"b":3}}`, `[{"op":"remove","path":"/a"},{"op":"add","path":"/z","value":{"b":3}}]`,
		},
		"renamed onto another": {
			`{"a":1,"z":2}`, func(n *Node) { n.Rename("a", "z") },
			`{"z":1}`, `[{"op":"remove","path":"/a"},{"op":"replace","path":"/z","value":1}]`,
		},
		"an element": {
			`[1,2]`, func(n *Node) { n.Elements()[1].Overwrite(Replace, jsontext.Value("3")) },
			`[1,3]`, `[{"op":"replace","path":"/1","value":3}]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			top := parse(t, c.document)
			c.edit(top)
			if diff := cmp.Diff(c.want, string(top.Bytes())); diff != "" {
				t.Errorf("document (-want +got):\n%s", diff)
			}
			patch := top.Patch()
			if diff := cmp.Diff(c.patch, string(patch)); diff != "" {
				t.Errorf("patch (-want +got):\n%s", diff)
			}
			if patch != nil {
				applies(t, c.document, patch, c.want)
			}
		})
	}
}

func applies(t *testing.T, document string, patch jsontext.Value, want string) {
	t.Helper()
	decoded, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decoded.Apply([]byte(document))
	if err != nil {
		t.Fatalf("applying %s: %v", patch, err)
	}
	if !Equal(parse(t, string(got)), parse(t, want)) {
		t.Errorf("the patch makes %s, want %s", got, want)
	}
}

func TestReading(t *testing.T) {
	top := parse(t, `{"text":"\u0061b","null":null,"twice":1,"twice":2,"list":[{}],"o":{"x":"y"},"quoted\u0020name":3}`)
	if got := top.TextOf("text"); got != "ab" {
		t.Errorf("text is %q", got)
	}
	if top.Get("null") != nil || top.Lookup("null") == nil || top.Lookup("absent") != nil {
		t.Error("null is there to Lookup only")
	}
	if got := string(top.Get("twice").Bytes()); got != "2" {
		t.Errorf("of two members with one name, %s counts", got)
	}
	if !top.Remove("twice") || top.Get("twice") != nil || top.Remove("twice") {
		t.Error("removing takes all members of a name")
	}
	if top.Object("list") != nil || !top.Get("list").IsArray() || top.Object("o").TextOf("x") != "y" || top.TextOf("o") != "" {
		t.Error("kinds are mixed up")
	}
	if got := top.Get("quoted name"); got == nil || string(got.Bytes()) != "3" {
		t.Errorf("a name with an escape is not found")
	}
}

func TestParseRefusesWhatIsNoJSON(t *testing.T) {
	for _, document := range []string{"", "{", `{"a":}`, `{"a":1}x`, `[1,]`, `{"a":{"b":tru}}`} {
		if _, err := Parse(jsontext.Value(document)); err == nil {
			t.Errorf("%q is read", document)
		}
	}
}

func TestACloneChangesByItself(t *testing.T) {
	top := parse(t, `{"a":{"b":1},"c":[{"d":2}],"e":3}`)
	top.Object("a").Set("b", jsontext.Value("9"))
	top.Remove("e")
	clone := top.Clone()
	clone.Object("a").Remove("b")
	clone.Get("c").Elements()[0].Set("d", jsontext.Value("8"))
	if got := string(top.Bytes()); got != `{"a":{"b":9},"c":[{"d":2}]}` {
		t.Errorf("the original is now %s", got)
	}
	if got := string(clone.Bytes()); got != `{"a":{},"c":[{"d":8}]}` {
		t.Errorf("the clone is %s", got)
	}
	if got := clone.Get("c").Elements()[0].Get("d").Path(); got != "c[0].d" {
		t.Errorf("in the clone its path is %s", got)
	}
}
