package sidecarset

import (
	"strings"
	"testing"
	"time"
)

// The first part is the table of RFC 7396, appendix A.
func TestMergeJSON(t *testing.T) {
	for _, c := range []struct{ old, patch, want string }{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`["a","b"]`, `["c","d"]`, `["c","d"]`},
		{`{"a":"b"}`, `["c"]`, `["c"]`},
		{`{"a":"foo"}`, `null`, `null`},
		{`{"a":"foo"}`, `"bar"`, `"bar"`},
		{`{"e":null}`, `{"a":1}`, `{"e":null,"a":1}`},
		{`[1,2]`, `{"a":"b","c":null}`, `{"a":"b"}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},

		{`null`, `{"a":1}`, `{"a":1}`},
		{`null`, `5`, `5`},
		{`7`, `{"a":null}`, `{}`},
		{`{"a":1}`, `{"l":[null,{"b":null},1]}`, `{"a":1,"l":[null,{"b":null},1]}`},
		{`{"a":1}`, `[null,{"b":null}]`, `[null,{"b":null}]`},
		{`{"n":9007199254740993,"f":1.10}`, `{"m":9007199254740995}`, `{"n":9007199254740993,"f":1.10,"m":9007199254740995}`},
		{`{"a":1,"a":2}`, `{"b":3}`, `{"a":2,"b":3}`},
		{`{"a":1}`, `{"a":null,"a":2}`, `{"a":2}`},
		{`{"<":"\u003c"}`, `{ "b" : [ 1 ] }`, `{"<":"\u003c","b":[1]}`},
		// What changes nothing leaves the text alone.
		{` {"b":1, "a":{}} `, `{"a":{},"b":1}`, ` {"b":1, "a":{}} `},
		{``, ` {"a":null} `, ` {"a":null} `},
		{` {"a":null} `, ` {"a":null} `, ` {"a":null} `},
	} {
		got, err := mergeJSON(c.old, c.patch)
		if err != nil || got != c.want {
			t.Errorf("%s with %s gives %s, error %v, want %s", c.old, c.patch, got, err, c.want)
		}
	}
	for _, c := range []struct{ old, patch string }{
		{`{`, `{"a":1}`}, {`word`, `5`}, {`{} {}`, `{"a":1}`}, {`{"a":1}`, `{a:1}`}, {`{"a":1}`, ` `},
	} {
		if got, err := mergeJSON(c.old, c.patch); err == nil {
			t.Errorf("%q with %q gives %s, want an error", c.old, c.patch, got)
		}
	}
}

// An annotation can nest as deep as the decoder lets it; the time must not grow with the depth squared.
func TestMergeJSONOfDeepTexts(t *testing.T) {
	const depth = 9000
	nested := func(leaf string) string { return strings.Repeat(`{"a":`, depth) + leaf + strings.Repeat(`}`, depth) }
	start := time.Now()
	got, err := mergeJSON(nested(`{"x":1}`), nested(`{"y":2}`))
	if err != nil || got != nested(`{"x":1,"y":2}`) {
		t.Errorf("error %v, %d bytes", err, len(got))
	}
	if took := time.Since(start); took > 2*time.Second { // it takes about 10 ms
		t.Errorf("took %v", took)
	}
}
