package validators

import (
	"bytes"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
)

// A document is what OPA reads of it.
func TestDocumentsAreWhatOPAReads(t *testing.T) {
	for _, text := range []string{
		`{}`, `[]`, `null`, `true`, `"é\u0000\n"`, `-1.50e3`, `9007199254740993`, ` {"a" : [1, {"b":null}], "c":{"d":false}, "": ""} `, `{"a":1,"a":{"b":2}}`,
		`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"k":1,"l":1,"m":1,"n":1,"o":1,"p":1,"q":1,"r":1,"a":2,"q":2}`,
	} {
		got, err := document([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		want, err := ast.ValueFromReader(bytes.NewReader([]byte(text)))
		if err != nil {
			t.Fatal(err)
		}
		if got.Compare(want) != 0 {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	for _, text := range []string{``, `{`, `[1`, `{"a"`, `{"a":}`, `{} {}`, `tru`, `{"a":1}x`} {
		if got, err := document([]byte(text)); err == nil {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// An object is what a decoder of Go reads of it, but for patches.
func TestObjectsHaveNoNulls(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":null,"b":{"c":null,"d":[null,{"e":null}]}}`:              `{"b":{"d":[null,{}]}}`,
		`{"spec":{"patch":{"a":null,"b":{"c":null}},"after":null}}`:    `{"spec":{"patch":{"a":null,"b":{"c":null}}}}`,
		`{"subsets":[{"patch":null,"name":"a"}],"patches":{"a":null}}`: `{"subsets":[{"name":"a"}],"patches":{}}`,
		`{"a":1,"a":null}`: `{"a":1}`,
		`{"labels":{"a":null,"b":"c"},"annotations":null,"matchLabels":{"a":null}}`: `{"labels":{"a":"","b":"c"},"matchLabels":{"a":""}}`,
		`{"resources":{"limits":{"cpu":null},"requests":null}}`:                     `{"resources":{"limits":{"cpu":0}}}`,
		`{"labels":{"a":{"b":null}},"requests":[{"a":null}]}`:                       `{"labels":{"a":{}},"requests":[{}]}`,
	} {
		got, err := object([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if wanted := ast.MustParseTerm(want).Value; got.Compare(wanted) != 0 {
			t.Errorf("%s: %v, want %v", text, got, wanted)
		}
	}
}

func FuzzDocument(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":"c"}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := document(raw)
		if err != nil {
			return
		}
		want, err := ast.ValueFromReader(bytes.NewReader(raw))
		if err != nil {
			t.Skip() // a number that Go takes for too large, or text behind the value
		}
		if got.Compare(want) != 0 {
			t.Fatalf("%s: %v, want %v", raw, got, want)
		}
	})
}
