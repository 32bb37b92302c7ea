package userpolicy

import (
	"strings"
	"testing"
)

func TestDeepFilesAreNotParsed(t *testing.T) {
	deep := strings.Repeat("[", 257) + strings.Repeat("]", 257)
	for name, c := range map[string]struct{ file, text, want string }{
		"deep":                     {"a.rego", "package p\n\nx := " + deep, "a.rego:3: it nests deeper than 256"},
		"as deep as may be":        {"a.rego", "package p\n\nx := " + deep[1:513], ""},
		"wide":                     {"a.rego", strings.Repeat("[]", 1000), ""},
		"in a text":                {"a.rego", `x := "\"` + deep + `"`, ""},
		"in a raw text":            {"a.rego", "x := `\n\\` + `" + deep + "`", ""},
		"in a comment":             {"a.rego", "# \" " + deep + "\n", ""},
		"after a comment":          {"a.rego", "# \"\nx := " + deep, "a.rego:2: it nests"},
		"after texts":              {"a.rego", "x := `a\nb` + \"\\\\\"\ny := " + deep, "a.rego:3: it nests"},
		"after one that is open":   {"a.rego", "x := \"a\ny := " + deep, "a.rego:2: it nests"},
		"an open raw text":         {"a.rego", "x := `a", ""},
		"a text that ends escaped": {"a.rego", `x := "a\`, ""},
		"YAML that unfolds":        {"x/data.yml", "a: &a [" + strings.Repeat("x", 9000) + "]\nb: [" + strings.Repeat("*a, ", 1000) + "]", "x/data.yml: with its aliases it is larger"},
		"two documents":            {"data.yaml", "a: 1\n---\nb: 1\n", ""},
		"another file":             {"data.json", deep, ""},
	} {
		err := CheckText(c.file, c.text)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestASetDoesNotNestTooDeep(t *testing.T) {
	source, err := Parse("p", expression(strings.Repeat("(1+", 300)+"1"+strings.Repeat(")", 300)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Compile(t.Context(), source); err == nil || !strings.Contains(err.Error(), "compiling the set p: a.rego:6: it nests deeper than 256") {
		t.Error(err)
	}
}
