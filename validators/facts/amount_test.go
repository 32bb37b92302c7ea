package facts

import (
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
)

func TestAmounts(t *testing.T) {
	for _, c := range []struct {
		value, total, want string // want is "" for no amount
	}{
		{`3`, `10`, `3`},
		{`0`, `10`, `0`},
		{`1e2`, `10`, `100`},
		{`-1`, `10`, ""},
		{`1.5`, `10`, ""},
		{`"20%"`, `3`, `1`}, // 0.6
		{`"50%"`, `3`, `2`}, // 1.5
		{`"12.5%"`, `8`, `1`},
		{`"100%"`, `7`, `7`},
		{`"0%"`, `7`, `0`},
		{`"-5%"`, `7`, ""},
		{`"5"`, `7`, ""},
		{`"%"`, `7`, ""},
		{`"1e2%"`, `7`, ""},
		{`null`, `7`, ""},
		{`{}`, `7`, ""},
	} {
		total, err := amountOf(ast.MustParseTerm(c.total).Value, 0)
		if err != nil {
			t.Fatal(err)
		}
		got, err := amountOf(ast.MustParseTerm(c.value).Value, total)
		if c.want == "" {
			if err == nil {
				t.Errorf("%s of %s = %v, want none", c.value, c.total, got)
			}
			continue
		}
		if want, _ := amountOf(ast.MustParseTerm(c.want).Value, 0); err != nil || got != want {
			t.Errorf("%s of %s = %v, %v, want %s", c.value, c.total, got, err, c.want)
		}
	}
}

func TestResolvedAmounts(t *testing.T) {
	for _, c := range []struct{ value, total, want string }{
		{`"20%"`, `3`, `1`},
		{`-4`, `3`, `-4`},
		{`"many"`, `3`, `undefined`},
		{`"20%"`, `"3"`, `undefined`},
	} {
		got, err := resolvedAmount(t.Context(), []*ast.Term{ast.MustParseTerm(c.value), ast.MustParseTerm(c.total)})
		text := "undefined"
		if got != nil {
			text = got.String()
		}
		if err != nil || text != c.want {
			t.Errorf("%s of %s = %s, %v, want %s", c.value, c.total, text, err, c.want)
		}
	}
}

func TestWrongAmounts(t *testing.T) {
	got, err := wrongAmounts(t.Context(), []*ast.Term{
		ast.MustParseTerm(`{"a": 1, "b": "x", "c": null, "d": "20%", "e": -1, "f": "x"}`), ast.MustParseTerm(`["a", "b", "c", "d", "e", "g"]`),
	})
	if err != nil || got.String() != `["b", "e"]` {
		t.Errorf("got %v, %v", got, err)
	}
}
