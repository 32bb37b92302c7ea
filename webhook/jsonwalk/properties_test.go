package jsonwalk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// rebuild reads a document with nothing but the walker's methods: numbers as they are written.
func rebuild(w *Walker) (value any, err error) {
	switch w.Kind() {
	case jsontext.KindBeginObject:
		members := map[string]any{}
		return members, w.Object(func(name string) (err error) {
			members[string([]byte(name))], err = rebuild(w)
			return err
		})
	case jsontext.KindBeginArray:
		elements := []any{}
		err := w.Array(func() error {
			element, err := rebuild(w)
			elements = append(elements, element)
			return err
		})
		return elements, err
	case jsontext.KindString:
		return w.String()
	case jsontext.KindTrue, jsontext.KindFalse:
		return w.Bool()
	case jsontext.KindNull:
		return nil, w.Skip()
	default:
		raw, err := w.Value()
		return json.Number(raw), err
	}
}

// random is a document with white space and escapes in places that JSON allows.
func random(t *rapid.T, depth int) string {
	kinds := 7
	if depth == 0 {
		kinds = 5
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return rapid.SampledFrom([]string{"null", "true", "false"}).Draw(t, "literal")
	case 1, 2:
		return rapid.SampledFrom([]string{"0", "-1.50", "9007199254740993", "1E+400", "18446744073709551616"}).Draw(t, "number")
	case 3, 4:
		return randomString(t)
	case 5:
		var members []string
		for i := range rapid.IntRange(0, 4).Draw(t, "members") {
			members = append(members, fmt.Sprintf(`"%d%s%s:%s%s`, i, randomString(t)[1:], space(t), space(t), random(t, depth-1)))
		}
		return "{" + space(t) + strings.Join(members, space(t)+","+space(t)) + space(t) + "}"
	default:
		var elements []string
		for range rapid.IntRange(0, 4).Draw(t, "elements") {
			elements = append(elements, random(t, depth-1))
		}
		return "[" + space(t) + strings.Join(elements, space(t)+","+space(t)) + space(t) + "]"
	}
}

func space(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "", " ", "\n\t"}).Draw(t, "space")
}

func randomString(t *rapid.T) string {
	character := rapid.SampledFrom([]string{"a", "/", "~", "é", "\U0001f600", `\u00e9`, `\ud83d\ude00`, `\"`, `\\`, `\/`, `\n`, `,`, `:`, `}`})
	return `"` + strings.Join(rapid.SliceOfN(character, 0, 4).Draw(t, "characters"), "") + `"`
}

func TestWalkReadsWhatEncodingJSONReads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := []byte(" " + random(t, 4) + "\n")
		want, err := decode(src)
		if err != nil {
			t.Fatal(err)
		}
		var got any
		err = Walk(src, func(w *Walker) (err error) { got, err = rebuild(w); return err })
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Fatalf("error %v, (-want +got):\n%s", err, diff)
		}
	})
}

// FuzzWalk walks anything: it accepts what encoding/json accepts, and never panics.
func FuzzWalk(f *testing.F) {
	for _, seed := range []string{document, `[[],{}]`, `"\ud800"`, "\"\xff\"", `{"a":1,"a":2}`, `{"a`, `1 2`, `[1,]`, `01`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		var got any
		err := Walk(src, func(w *Walker) (err error) { got, err = rebuild(w); return err })
		if valid := json.Valid(src); valid != (err == nil) {
			t.Fatalf("encoding/json says valid: %v, we say %v", valid, err)
		}
		if err != nil || !jsontext.Value(src).IsValid() {
			return // what duplicate names and invalid UTF-8 become is not compared
		}
		want, err := decode(src)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

func decode(src []byte) (value any, err error) {
	d := json.NewDecoder(bytes.NewReader(src))
	d.UseNumber()
	err = d.Decode(&value)
	return value, err
}
