package jsontree

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

func TestEqualAndHash(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`{"a":1,"b":[true,null]}`, ` { "b" : [ true , null ] , "a" : 1 } `, true},
		{`"\u0061\n"`, `"a\u000a"`, true},
		{`{"a":1,"a":2}`, `{"a":2}`, true},
		{`{"a":null}`, `{}`, false},
		{`{"a":1}`, `{"b":1}`, false},
		{`[1,2]`, `[2,1]`, false},
		{`[]`, `{}`, false},
		{`9007199254740993`, `9007199254740992`, false},
		{`1`, `"1"`, false},
		{`true`, `false`, false},
	} {
		a, b := parse(t, c.a), parse(t, c.b)
		if got := Equal(a, b); got != c.want {
			t.Errorf("%s equals %s: %v", c.a, c.b, got)
		}
		if got := a.Hash() == b.Hash(); got != c.want {
			t.Errorf("%s and %s share a hash: %v", c.a, c.b, got)
		}
	}
	if Equal(parse(t, "null"), nil) || !Equal(nil, nil) || (*Node)(nil).Hash() != "" {
		t.Error("what is absent differs from null")
	}
	changed := parse(t, `{"a":{"b":1,"c":2}}`)
	changed.Object("a").Remove("b")
	if want := parse(t, `{"a":{"c":2}}`); !Equal(changed, want) || changed.Hash() != want.Hash() {
		t.Error("changes do not count")
	}
}

func TestPath(t *testing.T) {
	top := parse(t, `{"spec":{"containers":[{"image":"a"}]},"metadata":{"annotations":{"example.com/key":"b"}}}`)
	for want, node := range map[string]*Node{
		"":                                      top,
		"spec.containers[0].image":              top.Object("spec").Get("containers").Elements()[0].Get("image"),
		"metadata.annotations[example.com/key]": top.Object("metadata").Object("annotations").Get("example.com/key"),
	} {
		if got := node.Path(); got != want {
			t.Errorf("path is %q, want %q", got, want)
		}
	}
}

// TestEqualIgnoresSpelling spells random values in two ways.
func TestEqualIgnoresSpelling(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		one := spell(rand.New(rand.NewPCG(seed, 0)), rand.New(rand.NewPCG(1, 1)), 4)
		other := spell(rand.New(rand.NewPCG(seed, 0)), rand.New(rand.NewPCG(seed, 2)), 4)
		a, b := parse(t, one), parse(t, other)
		if !Equal(a, b) || a.Hash() != b.Hash() {
			rt.Fatalf("%s\ndiffers from\n%s", one, other)
		}
	})
}

// spell writes a value that what draws, in a way that how draws.
func spell(what, how *rand.Rand, depth int) string {
	space := strings.Repeat(" ", how.IntN(2))
	kind := what.IntN(5)
	if depth == 0 {
		kind %= 3
	}
	switch kind {
	case 0:
		return space + strconv.FormatInt(what.Int64(), 10)
	case 1:
		if how.IntN(2) == 0 {
			return `"\u00e9/` + strconv.Itoa(what.IntN(9)) + `"`
		}
		return `"é\/` + strconv.Itoa(what.IntN(9)) + `"`
	case 2:
		return []string{"null", "true", "false"}[what.IntN(3)] + space
	case 3:
		elements := make([]string, what.IntN(4))
		for i := range elements {
			elements[i] = spell(what, how, depth-1)
		}
		return "[" + space + strings.Join(elements, ","+space) + "]"
	default:
		members := make([]string, what.IntN(4))
		for i := range members {
			members[i] = fmt.Sprintf(`"m%d"%s:%s`, i, space, spell(what, how, depth-1))
		}
		how.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		return "{" + strings.Join(members, space+",") + "}"
	}
}

func FuzzEdit(f *testing.F) {
	f.Add([]byte(`{"a":{"b":[1,{"c":null}]}}`), "a")
	f.Fuzz(func(t *testing.T, document []byte, name string) {
		top, err := Parse(document)
		if err != nil || !top.IsObject() {
			return
		}
		top.Set(name, jsontext.Value(`{"x":1}`)).Set("y", jsontext.Value("2"))
		if got := top.Get(name); got == nil || string(got.Bytes()) != `{"x":1,"y":2}` {
			t.Fatalf("put %q into %s and found %v", name, document, got)
		}
		top.Remove(name)
		if again, err := Parse(top.Bytes()); err != nil || !Equal(top, again) {
			t.Fatalf("wrote %s: %v", top.Bytes(), err)
		}
	})
}
