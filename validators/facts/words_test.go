package facts

import (
	"fmt"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
)

func TestSchedules(t *testing.T) {
	for text, want := range map[string]string{
		"*/5 * * * *": "", "@hourly": "", "@every 1h": "", "TZ=Asia/Shanghai 0 3 * * *": "", "CRON_TZ=Europe/Berlin @daily": "",
		"":             "when to run",
		"  ":           "when to run",
		"* * * *":      "must be a schedule",
		"61 * * * *":   "must be a schedule",
		"TZ=":          "must be a schedule", // the parser panics
		"TZ=0":         "must be a schedule",
		"CRON_TZ=Mars": "must be a schedule",
	} {
		if got := schedule(text); want == "" && got != "" || !strings.HasPrefix(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestTimeZones(t *testing.T) {
	for name, right := range map[string]bool{
		"Asia/Shanghai": true, "UTC": true, "": false, "Local": false, "LOCAL": false, "Mars/Olympus": false, "../../etc/passwd": false,
	} {
		if got := timeZone(name); (got == "") != right {
			t.Errorf("%q: %q", name, got)
		}
	}
}

func TestImages(t *testing.T) {
	for text, right := range map[string]bool{
		"nginx": true, "bank.test:5000/team/app:v1": true, "docker.io/library/nginx@sha256:" + strings.Repeat("a", 64): true,
		"": false, "A": false, "a b": false, "a:": false, strings.Repeat("a", 2000): false,
	} {
		if got := image(text); (got == "") != right {
			t.Errorf("%.20q: %q", text, got)
		}
	}
}

func TestOriginIsTheLongestPart(t *testing.T) {
	fields := map[string]string{"tolerations[1]": "spec.subsets[0].tolerations[0]", "tolerations": "spec.all", "containers[0]": "c"}
	for path, want := range map[string]string{
		"tolerations[1].key": "spec.subsets[0].tolerations[0].key", "tolerations[10].key": "spec.all[10].key", "tolerations": "spec.all",
		"containers[0].name": "c.name", "containers[01]": "", "volumes[0]": "",
	} {
		if got, found := origin(path, fields); got != want || found != (want != "") {
			t.Errorf("%s: %q", path, got)
		}
	}
}

func TestEncode(t *testing.T) {
	for text, want := range map[string]string{
		`{"b": [1, -2.50, true, null, "é\n\u0000<&>"], "a": {}}`: `{"a":{},"b":[1,-2.50,true,null,"é\n\u0000<&>"]}`,
		`9007199254740993`: `9007199254740993`, `[]`: `[]`, `""`: `""`,
	} {
		if got, err := encode(ast.MustParseTerm(text)); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
	for _, text := range []string{`{1, 2}`, `{1: 2}`, `[{1: 2}]`} {
		if got, err := encode(ast.MustParseTerm(text)); err == nil {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// A patch can be anything, and the library that merges it survives little.
func TestPatchesThatCannotBeMerged(t *testing.T) {
	const template = `{"spec":{"containers":[{"name":"a"}],"volumes":[{"name":"v"}],"tolerations":[{"key":"k"}]}}`
	many := make([]string, mostMerging)
	for i := range many {
		many[i] = fmt.Sprintf(`{"name":"e%d"}`, i)
	}
	env := fmt.Sprintf(`{"spec":{"containers":[{"name":"a","env":[%s]}]}}`, strings.Join(many, ","))
	for _, c := range []struct{ template, patch, want string }{
		{template, `{"spec":{"containers":[{"name":{"a":1}},{"name":[1]}]}}`, "must be a text or a number"},
		{template, `{"spec":{"volumes":[{"name":{}}]}}`, "must be a text or a number"},
		{template, `{"spec":{"volumes":[{"name":"v","$retainKeys":[{}]}]}}`, "must be a text or a number"},
		{template, `{"spec":{"$setElementOrder/tolerations":[[]]}}`, "must be a text or a number"},
		{template, env, "at most 2000 can be merged"},
		{env, template, "at most 2000 can be merged"},
		{env, `{"metadata":{"labels":{"a":"b"}}}`, ""},
	} {
		answer, err := strategicMerge(t.Context(), []*ast.Term{ast.MustParseTerm(c.template), ast.MustParseTerm(c.patch), ast.IntNumberTerm(1)})
		if err != nil {
			t.Errorf("%.100s: %v", c.patch, err)
			continue
		}
		got := text(answer.Get(ast.StringTerm("error")))
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%.100s: %q, want %q", c.patch, got, c.want)
		}
	}
}

// Several patches share the time that the largest one may take.
func TestPatchesShareTheirTime(t *testing.T) {
	many := make([]string, mostMerging/2)
	for i := range many {
		many[i] = fmt.Sprintf(`{"name":"e%d"}`, i)
	}
	template := fmt.Sprintf(`{"spec":{"containers":[{"name":"a","env":[%s]}]}}`, strings.Join(many, ","))
	for patches, want := range map[int]bool{1: false, 5: true} {
		answer, err := strategicMerge(t.Context(), []*ast.Term{
			ast.MustParseTerm(template), ast.MustParseTerm(`{"spec":{"tolerations":[{"key":"a"}]}}`), ast.IntNumberTerm(patches),
		})
		if err != nil || answer.Get(ast.StringTerm("skipped")).Value.Compare(ast.Boolean(want)) != 0 {
			t.Errorf("of %d patches: %.200v, %v", patches, answer, err)
		}
	}
}
