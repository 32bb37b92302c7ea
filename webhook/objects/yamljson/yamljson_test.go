package yamljson

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"
)

func TestConvert(t *testing.T) {
	for name, tt := range map[string]struct{ yaml, json string }{
		"integers beyond 2^53":    {"a: 9007199254740993", `{"a":9007199254740993}`},
		"the largest int64":       {"a: 9223372036854775807", `{"a":9223372036854775807}`},
		"beyond uint64":           {"a: 123456789012345678901234567890", `{"a":123456789012345678901234567890}`},
		"many decimals":           {"a: 0.12345678901234567890123", `{"a":0.12345678901234567890123}`},
		"trailing zeros":          {"a: 1.10", `{"a":1.10}`},
		"exponents":               {"[1e3, 1E+40, -2.5e-7]", `[1e3,1E+40,-2.5e-7]`},
		"other notations":         {"[0x1F, 0777, 0b101, 1_000, +5, .5, 08, -0x10]", `[31,511,5,1000,5,0.5,8,-16]`},
		"strings that look like":  {`["1", '0x1', "true", "null", "y"]`, `["1","0x1","true","null","y"]`},
		"tagged strings":          {"[!!str 1, !!str yes]", `["1","yes"]`},
		"booleans":                {"[true, False, yes, NO, on, Off, y, n]", `[true,false,true,false,true,false,true,false]`},
		"nulls":                   {"[~, null, ]", `[null,null]`},
		"an empty value":          {"a:", `{"a":null}`},
		"dates are strings":       {"a: 2024-01-02", `{"a":"2024-01-02"}`},
		"keys of other types":     {"{1: a, true: b, 0x10: c, 1.5: d}", `{"1":"a","true":"b","16":"c","1.5":"d"}`},
		"block scalars":           {"a: |\n  x\n  y\nb: >-\n  p\n  q\n", `{"a":"x\ny\n","b":"p q"}`},
		"escapes":                 {`a: "\t\"\\\u00e9\x01"`, `{"a":"\t\"\\é\u0001"}`},
		"JSON":                    {`{"a": [1, {"b": "/x"}], "c": -0}`, `{"a":[1,{"b":"/x"}],"c":-0}`},
		"anchors":                 {"a: &x {b: 1}\nc: *x\nd: [*x]", `{"a":{"b":1},"c":{"b":1},"d":[{"b":1}]}`},
		"merge keys":              {"a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}", `{"a":{"b":1,"c":2},"d":{"c":3,"b":1}}`},
		"several merged, first":   {"- &x {b: 1}\n- &y {b: 2, c: 3}\n- <<: [*x, *y]", `[{"b":1},{"b":2,"c":3},{"b":1,"c":3}]`},
		"a quoted << is no merge": {`{"<<": 1}`, `{"<<":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Convert([]byte(tt.yaml))
			if err != nil || len(got) != 1 {
				t.Fatalf("%d documents, error %v", len(got), err)
			}
			if string(got[0].JSON) != tt.json {
				t.Errorf("got  %s\nwant %s", got[0].JSON, tt.json)
			}
		})
	}
}

func TestDocumentsOfAStream(t *testing.T) {
	got, err := Convert([]byte("---\n# only a comment\n---\na: 1\n---\n---\nnull\n--- {b: 2}\n...\n---\n- c\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []Document{{4, []byte(`{"a":1}`)}, {8, []byte(`{"b":2}`)}, {11, []byte(`["c"]`)}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, empty := range []string{"", "\n\n", "# nothing", "---\n---\n"} {
		if got, err := Convert([]byte(empty)); err != nil || len(got) != 0 {
			t.Errorf("%q gives %v, %v", empty, got, err)
		}
	}
}

func TestMistakesNameTheLine(t *testing.T) {
	for name, tt := range map[string]struct {
		yaml, want string
		line       int
	}{
		"a tab":              {"a: 1\nb:\n\tc: 2\n", "cannot start any token", 3},
		"a bad indent":       {"a:\n  b: 1\n c: 2\n", "did not find expected key", 3},
		"an open quote":      {"a: 1\nb: \"x\n", "found unexpected end of stream", 2},
		"a second document":  {"a: 1\n---\nb: [1\n", "did not find expected", 3},
		"a key twice":        {"a: 1\nb: 2\na: 3\n", `the key "a" is there twice`, 3},
		"a list as a key":    {"a: 1\n? [x]\n: 2\n", "a key must be a string", 2},
		"a null key":         {"~: 2\n", "a key must be a string", 1},
		"an unknown tag":     {"a: !secret x\n", "!secret has no JSON form", 1},
		"binary":             {"a: !!binary aGk=\n", "!!binary has no JSON form", 1},
		"infinity":           {"a: 1\nb: .inf\n", "no number that JSON has", 2},
		"a false integer":    {"a: !!int x\n", "no integer", 1},
		"a false boolean":    {"a: !!bool x\n", "no boolean", 1},
		"an unknown anchor":  {"a: *x\n", "unknown anchor", 0},
		"a merge of scalars": {"a: 1\nb:\n  <<: 1\n", "a merge key takes a mapping", 3},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Convert([]byte(tt.yaml))
			var located *Error
			if !errors.As(err, &located) || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error %v, want %q in it", err, tt.want)
			}
			if located.Line != tt.line {
				t.Errorf("line %d, want %d (%v)", located.Line, tt.line, err)
			}
		})
	}
}

func TestAliasesCannotExplode(t *testing.T) {
	var bomb strings.Builder
	bomb.WriteString("a0: &a0 [xxxxxxxxxx,xxxxxxxxxx,xxxxxxxxxx]\n")
	for i := 1; i < 12; i++ {
		ref := "*a" + string(rune('0'+(i-1)%10))
		if i > 10 {
			ref = "*b"
		}
		anchor := "a" + string(rune('0'+i%10))
		if i == 10 {
			anchor = "b"
		}
		bomb.WriteString(anchor + ": &" + anchor + " [" + strings.Repeat(ref+",", 9) + ref + "]\n")
	}
	if _, err := Convert([]byte(bomb.String())); err == nil {
		t.Error("ten levels of tenfold aliases are written out")
	}
	if _, err := Convert([]byte("a: &x [1, *x]\n")); err == nil {
		t.Error("an anchor within itself is written out")
	}
}

// TestLikeKubectl: whatever kubectl's own conversion makes of a document, ours means the same, where that conversion
// loses nothing.
func TestLikeKubectl(t *testing.T) {
	word := rapid.SampledFrom([]string{
		"a", "yes", "No", "on", "true", "True", "null", "~", "1", "-7", "0x1F", "0777", "08", "1_0", "1.5", ".5", "1e3", "1.", "+3", "2024-01-02",
		"2024-01-02T03:04:05Z", `"1"`, `'yes'`, `"a\nb"`, "a b", "0b11", "0o17", "1:30", "=", "<<", `""`, "é", "100Mi", "50%", "-", "0", "-0",
	})
	rapid.Check(t, func(rt *rapid.T) {
		var b strings.Builder
		for i := range rapid.IntRange(1, 6).Draw(rt, "lines") {
			b.WriteString(string(rune('a'+i)) + "k: " + word.Draw(rt, "word") + "\n")
		}
		source := b.String()
		theirs, err := yaml.YAMLToJSON([]byte(source))
		if err != nil {
			return
		}
		ours, err := Convert([]byte(source))
		if err != nil || len(ours) != 1 {
			rt.Fatalf("%q: %d documents, error %v; kubectl reads %s", source, len(ours), err, theirs)
		}
		if diff := cmp.Diff(parse(rt, theirs), parse(rt, ours[0].JSON)); diff != "" {
			rt.Fatalf("%q:\n%s", source, diff)
		}
	})
}

func parse(t interface{ Fatalf(string, ...any) }, raw []byte) (v any) {
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return v
}

// FuzzConvert: no input panics or runs away, and what comes out is JSON.
func FuzzConvert(f *testing.F) {
	f.Add([]byte("a: &x {b: 1}\nc: {<<: *x}\n---\n- [1, 0x2, yes]\n"))
	f.Add([]byte("? [a]\n: b"))
	f.Add([]byte("{\"a\": \"\\ud800\"}"))
	f.Fuzz(func(t *testing.T, source []byte) {
		documents, err := Convert(source)
		if err != nil {
			return
		}
		for _, document := range documents {
			if !json.Valid(document.JSON) {
				t.Fatalf("%q becomes %s", source, document.JSON)
			}
		}
	})
}
