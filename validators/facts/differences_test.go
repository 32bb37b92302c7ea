package facts

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/fairlead-io/fairlead/validators"
)

func TestPodSpecDifferences(t *testing.T) {
	for _, c := range []struct {
		before, after string
		want          []string
	}{
		{`{"containers":[{"image":"a"}]}`, `{"containers":[{"image":"b"}]}`, []string{"replace containers[0].image"}},
		{`{"containers":[{"image":"a"}]}`, `{"containers":[{"image":"a","env":[{"name":"A"}]}],"x":1}`, []string{"add containers[0].env", "add x"}},
		{`{"securityContext":{"runAsUser":1},"nodeName":"n"}`, `{"securityContext":{}}`, []string{"remove nodeName", "remove securityContext.runAsUser"}},
		{`{"containers":[{"name":"a"},{"name":"b"}]}`, `{"containers":[{"name":"a"}]}`, []string{"replace containers"}},
		{`{"new":{}}`, `{"new":[]}`, []string{"replace new"}},
		{`{"new":{"a":1}}`, `{"new":{"a":2}}`, []string{"replace new.a"}},
		{`{"new":{"a":9007199254740993}}`, `{"new":{"a":9007199254740992}}`, []string{"replace new.a"}},
		// What a client of Go types writes its way.
		{`{"containers":[{"image":"a","stdin":false}]}`, `{"containers":[{"image":"a","resources":{},"env":[]}]}`, nil},
		{
			`{"containers":[{"image":"a","resources":{"limits":{"cpu":"1000m"}}}]}`,
			`{"containers":[{"image":"b","resources":{"limits":{"cpu":"1"}}}]}`,
			[]string{"replace containers[0].image"},
		},
		// What its type tells from nothing.
		{`{}`, `{"securityContext":{}}`, []string{"add securityContext"}},
		{`{}`, `{"automountServiceAccountToken":false}`, []string{"add automountServiceAccountToken"}},
		{`{"terminationGracePeriodSeconds":0}`, `{}`, []string{"remove terminationGracePeriodSeconds"}},
		// What may be replaced, and only that.
		{`{"images":["a","b"],"x":1}`, `{"images":["c","b"],"x":2}`, []string{"replace x"}},
		{`{"images":["a"]}`, `{"images":["a","b"]}`, []string{"replace images"}},
		{`{}`, `{"images[0]":"a"}`, []string{"add images[0]"}},
		// What it cannot hold.
		{`{"containers":7}`, `{"containers":7,"nodeName":""}`, []string{"add nodeName"}},
	} {
		answer, err := podSpecDifferences(t.Context(), []*ast.Term{ast.MustParseTerm(c.before), ast.MustParseTerm(c.after), ast.StringTerm(`^images\[[0-9]+\]$`)})
		if err != nil {
			t.Fatal(err)
		}
		found, err := decode[[]struct{ Path, Op string }](answer)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range found {
			got = append(got, d.Op+" "+d.Path)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s, %s: %s", c.before, c.after, diff)
		}
	}
}

// Nobody reads more than some, and a long list may differ everywhere. What may be replaced hides nothing that comes after it.
func TestOfManyDifferencesTheFirstAreTold(t *testing.T) {
	list := func(element string) string {
		elements := slices.Repeat([]string{element}, 2*validators.MostMistakes)
		return strings.Join(elements, ",")
	}
	before := ast.MustParseTerm(`{"images":[` + list(`"a"`) + `],"new":[` + list("1") + `]}`)
	after := ast.MustParseTerm(`{"images":[` + list(`"b"`) + `],"new":[` + list("2") + `]}`)
	answer, err := podSpecDifferences(t.Context(), []*ast.Term{before, after, ast.StringTerm(`^images\[`)})
	if err != nil {
		t.Fatal(err)
	}
	told, err := decode[[]struct{ Path string }](answer)
	if err != nil || len(told) != validators.MostMistakes || told[0].Path != "new[0]" {
		t.Errorf("%d told, the first %v, %v", len(told), told[:min(1, len(told))], err)
	}
}
