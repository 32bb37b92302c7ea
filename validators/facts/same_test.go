package facts

import (
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
)

func TestSameBut(t *testing.T) {
	for _, c := range []struct {
		before, now string
		want        bool
	}{
		{`{"a":{"b":[1,"x"]}}`, `{"a":{"b":[1,"x"]}}`, true},
		{`{"a":1}`, `{"a":2}`, false},
		{`{"a":1}`, `{"b":1}`, false},
		{`{"a":1}`, `{"a":1,"b":{"c":[null,"",false,{}]}}`, true},
		{`{"a":1,"b":{"c":[null,"",false,{}]}}`, `{"a":1}`, true},
		{`{"a":1}`, `{"a":1,"b":{"c":[0]}}`, false},
		{`{"a":[1]}`, `{"a":[1,""]}`, true},
		{`{"a":[1,2]}`, `{"a":[2,1]}`, false},
		{`{"a":[1]}`, `{"a":{"0":1}}`, false},
		{`{"a":""}`, `{"a":{"b":null}}`, true},
		{`{"a":"x"}`, `{"a":{"b":"x"}}`, false},
		{`{"a":false}`, `{"a":true}`, false},
		{`null`, `{}`, true},
	} {
		answer, err := sameBut(t.Context(), []*ast.Term{ast.MustParseTerm(c.before), ast.MustParseTerm(c.now), ast.MustParseTerm(`[null,false,""]`)})
		if err != nil || answer.Value.Compare(ast.Boolean(c.want)) != 0 {
			t.Errorf("%s, %s: %v, %v", c.before, c.now, answer, err)
		}
	}
}
