package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/test/tarball"
)

const examples = "../../../docs/policies"

// run runs `fairlead policy ARGS`.
func run(t *testing.T, stdin string, args ...string) (out string, code int) {
	t.Helper()
	var buffer bytes.Buffer
	cmd := NewCommand(terminal.Program{Name: "fairlead", Getenv: func(string) string { return "" }})
	cmd.SetArgs(args)
	cmd.SetIn(strings.NewReader(stdin))
	cmd.SetOut(&buffer)
	cmd.SetErr(&buffer)
	cmd.SilenceUsage = true
	code = terminal.ExitCode(cmd.ExecuteContext(t.Context()))
	return buffer.String(), code
}

// The examples do what their tests say, and their tests reach all of them.
func TestExamples(t *testing.T) {
	folders, err := os.ReadDir(examples)
	if err != nil {
		t.Fatal(err)
	}
	sets := 0
	for _, folder := range folders {
		if !folder.IsDir() {
			continue
		}
		sets++
		for _, file := range []string{"policy.rego", "policy_test.rego", "settings.yaml", "README.md"} {
			if _, err := os.Stat(filepath.Join(examples, folder.Name(), file)); err != nil {
				t.Error(err)
			}
		}
	}
	out, code := run(t, "", "test", examples, "--threshold", "100", "-o", "json")
	var all summary
	if err := json.Unmarshal([]byte(out), &all); err != nil || code != terminal.ExitOK {
		t.Fatalf("exit %d, %v: %s", code, err, out)
	}
	if len(all.Sets) != sets || sets < 7 || all.Failed+all.Skipped != 0 {
		t.Errorf("%d sets in %d folders: %s", len(all.Sets), sets, out)
	}
	for _, result := range all.Sets {
		if len(result.Tests) < 6 {
			t.Errorf("%s has %d tests", result.Set, len(result.Tests))
		}
	}
}

// The examples can be served, and ask for what they say.
func TestExamplesRegister(t *testing.T) {
	out, code := run(t, "", "check", examples, "-o", "yaml")
	var all struct{ Sets []Checked }
	if err := yaml.Unmarshal([]byte(out), &all); err != nil || code != terminal.ExitOK {
		t.Fatalf("exit %d, %v: %s", code, err, out)
	}
	actions := make(map[string]string)
	for _, set := range all.Sets {
		if len(set.Warnings) != 0 || set.Webhook == nil || len(set.Webhook.Rules) == 0 || set.Webhook.FailurePolicy != "Ignore" || len(set.Webhook.MatchConditions) == 0 {
			t.Errorf("%+v", set)
		}
		for _, rule := range set.Rules {
			actions[rule.ID] = rule.Action
			if rule.Inventory != (rule.ID == "budget-required") {
				t.Errorf("%s reads the inventory: %v", rule.ID, rule.Inventory)
			}
		}
	}
	want := map[string]string{
		"allowed-registries": "deny", "no-latest-tag": "deny", "resource-limits-required": "deny", "resource-limits-maximum": "deny",
		"max-unavailable": "deny", "partition-steps": "deny", "production-rollouts": "deny", "budget-required": "warn",
	}
	if diff := cmp.Diff(want, actions); diff != "" {
		t.Error(diff)
	}
}

const (
	rule = "# METADATA\n# custom:\n#   match: [{apiGroups: [\"\"], resources: [pods]}]\npackage p\n\n" +
		"deny contains \"too long\" if count(input.request.name) > data.parameters.longest\n\nunused if input.request.dryRun\n"
	good = "package p_test\n\nimport data.p\n\ntest_long if \"too long\" in p.deny with input.request.name as \"abcdef\"\n\n" +
		"test_short if count(p.deny) == 0 with input.request.name as \"abc\"\n"
	bad      = good + "\ntest_wrong if {\n\tprint(\"seen\")\n\tcount(p.deny) == 1 with input.request.name as \"abc\"\n}\n"
	settings = "parameters: {longest: 5}\n"
)

func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "names")
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func manifest(t *testing.T, label string, files map[string]string) string {
	t.Helper()
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": files,
		"metadata": map[string]any{"name": "from-manifest", "namespace": "kruise-system", "labels": map[string]any{"fairlead.io/policy": label}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTests(t *testing.T) {
	whole := map[string]string{"p.rego": rule, "p_test.rego": good, "settings.yaml": settings}
	with := func(name, content string) map[string]string {
		other := map[string]string{}
		for n, c := range whole {
			other[n] = c
		}
		if other[name] = content; content == "" {
			delete(other, name)
		}
		return other
	}
	for name, c := range map[string]struct {
		files map[string]string
		args  []string
		code  int
		says  []string
	}{
		"all pass":                {whole, nil, 0, []string{"names", "2 passed, 0 failed"}},
		"they are named with -v":  {whole, []string{"-v"}, 0, []string{"PASS p_test.test_long", "PASS p_test.test_short"}},
		"some of them":            {whole, []string{"--run", "test_short"}, 0, []string{"1 passed"}},
		"coverage":                {whole, []string{"--coverage"}, 0, []string{"not reached: p.rego:8"}},
		"too little is covered":   {whole, []string{"--threshold", "99"}, 1, []string{"less than --threshold=99 is covered"}},
		"one fails":               {with("p_test.rego", bad), nil, 1, []string{"FAIL p_test.test_wrong  p_test.rego:9", "failed at p_test.rego:11: count(p.deny) == 1", "print: seen", "Fail", "2 passed, 1 failed"}},
		"one takes too long":      {with("p_test.rego", good+"\ntest_slow if count([x | some x in numbers.range(0, 100000000)]) < 0\n"), []string{"--timeout", "50ms"}, 1, []string{"test_slow", "1 failed"}},
		"one is to be written":    {with("p_test.rego", good+"\ntodo_test_more if false\n"), nil, 0, []string{"SKIP p_test.todo_test_more", "1 skipped"}},
		"parameters are missing":  {with("settings.yaml", ""), nil, 1, []string{"FAIL p_test.test_long"}},
		"it does not compile":     {with("p.rego", rule+"\nx := nowhere\n"), nil, 1, []string{"p.rego:10", "nowhere", "1 set cannot be used"}},
		"it reaches out":          {with("p.rego", rule+"\nx := http.send({})\n"), nil, 1, []string{"http.send", "p.rego:10"}},
		"a test reaches out":      {with("p_test.rego", good+"\ntest_x if http.send({})\n"), nil, 1, []string{"p_test.rego:9", "http.send"}},
		"a test is no Rego":       {with("p_test.rego", "package"), nil, 1, []string{"p_test.rego:1"}},
		"settings are wrong":      {with("settings.yaml", "enforcemnt: deny\n"), nil, 1, []string{"settings.yaml", "enforcemnt"}},
		"there are no tests":      {with("p_test.rego", ""), nil, 2, []string{"no test", "test_"}},
		"no rules":                {map[string]string{"settings.yaml": settings}, nil, 2, []string{"no file with rules"}},
		"sets in folders below":   {map[string]string{"a/p.rego": rule, "a/p_test.rego": good, "a/settings.yaml": settings, ".git/x.rego": "x"}, nil, 0, []string{"2 passed"}},
		"an expression of nobody": {whole, []string{"--run", "("}, 2, []string{"--run"}},
		"a format of nobody":      {whole, []string{"-o", "xml"}, 2, []string{`"xml" is no format`}},
	} {
		t.Run(name, func(t *testing.T) {
			out, code := run(t, "", append([]string{"test", folder(t, c.files)}, c.args...)...)
			if code != c.code {
				t.Errorf("exit %d, want %d: %s", code, c.code, out)
			}
			for _, word := range c.says {
				if !strings.Contains(out, word) {
					t.Errorf("%s\nwant %q in it", out, word)
				}
			}
		})
	}
}

func TestWhereSetsAre(t *testing.T) {
	files := map[string]string{"p.rego": rule, "p_test.rego": good, "settings.yaml": settings, "README.md": "x"}
	dir := folder(t, map[string]string{
		"p.rego": rule, "p_test.rego": good, "settings.yaml": settings, "other.rego": "package broken(",
		"set.yaml": manifest(t, "true", files), "none.yaml": manifest(t, "false", files),
	})
	for name, c := range map[string]struct {
		args  []string
		stdin string
		code  int
		says  string
	}{
		"a file":                 {[]string{dir + "/p.rego"}, "", 0, "2 passed"},
		"its tests":              {[]string{dir + "/p_test.rego"}, "", 0, "2 passed"},
		"a manifest":             {[]string{dir + "/set.yaml"}, "", 0, "from-manifest"},
		"standard input":         {[]string{"-"}, "---\n" + manifest(t, "false", files) + "---\n" + manifest(t, "true", files), 0, "2 passed"},
		"several":                {[]string{dir + "/set.yaml", dir + "/p.rego"}, "", 0, "4 passed"},
		"no label":               {[]string{dir + "/none.yaml"}, "", 2, "no ConfigMap with the label fairlead.io/policy=true"},
		"the same one again":     {[]string{dir + "/p.rego", dir + "/p.rego"}, "", 2, "named twice"},
		"nothing there":          {[]string{dir + "/absent"}, "", 2, "no such file"},
		"no argument":            {nil, "", 2, "requires at least 1 arg"},
		"a folder with mistakes": {[]string{dir}, "", 1, "other.rego:1"},
	} {
		t.Run(name, func(t *testing.T) {
			if out, code := run(t, c.stdin, append([]string{"test"}, c.args...)...); code != c.code || !strings.Contains(out, c.says) {
				t.Errorf("exit %d, want %d: %s\nwant %q in it", code, c.code, out, c.says)
			}
		})
	}
}

// A bundle is a set with its data, its tests and the settings beside it, by the name that its entry has.
func TestBundles(t *testing.T) {
	dir := t.TempDir()
	const module = "# METADATA\n# scope: package\n# custom: {match: [{apiGroups: [\"\"], resources: [pods]}]}\npackage org\n\n" +
		"deny contains data.org.words.no if input.request.object.spec.containers[0].name == data.parameters.name\n"
	const tests = "package org_test\n\ntest_no if data.org.deny == {\"never\"} with input.request.object.spec.containers as [{\"name\": \"web\"}]\n"
	made := tarball.Of(t, map[string]string{
		".manifest": `{"roots": ["org", "org_test"]}`, "org/org.rego": module, "org/org_test.rego": tests, "org/words/data.json": `{"no": "never"}`,
	})
	file := filepath.Join(dir, "org.tar.gz")
	if err := errors.Join(os.WriteFile(file, made, 0o600),
		os.WriteFile(filepath.Join(dir, "settings.yaml"), []byte("failurePolicy: Fail\nparameters: {name: web}\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if out, code := run(t, "", "check", "bundle/org="+file); code != 0 || !strings.Contains(out, "name: org.bundles.fairlead.io") || !strings.Contains(out, "failurePolicy: Fail") {
		t.Errorf("check ends with %d: %s", code, out)
	}
	if out, code := run(t, "", "test", "bundle/org="+file); code != 0 || !strings.Contains(out, "1 passed") {
		t.Errorf("test ends with %d: %s", code, out)
	}
	if out, code := run(t, "", "check", "bundle/Org="+file); code != 2 || !strings.Contains(out, `name "Org"`) {
		t.Errorf("a name that none can have: %d: %s", code, out)
	}
}

func TestFailuresAsJSON(t *testing.T) {
	out, code := run(t, "", "test", folder(t, map[string]string{"p.rego": rule, "p_test.rego": bad, "settings.yaml": settings}), "-o", "json")
	var all summary
	if err := json.Unmarshal([]byte(out), &all); err != nil || code != terminal.ExitFound {
		t.Fatalf("exit %d, %v: %s", code, err, out)
	}
	result := all.Sets[0]
	if all.Passed != 2 || all.Failed != 1 || len(result.Revision) != 12 || result.Coverage <= 50 || result.Coverage >= 100 || !cmp.Equal(result.Uncovered, []string{"p.rego:8"}) {
		t.Errorf("%s", out)
	}
	wrong := result.Tests[2]
	if wrong.Name != "p_test.test_wrong" || wrong.Outcome != "fail" || wrong.Where != "p_test.rego:9" || len(wrong.Trace) == 0 || wrong.Output != "seen\n" {
		t.Errorf("%+v", wrong)
	}
	for _, test := range result.Tests[:2] {
		if test.Outcome != "pass" || test.Trace != nil {
			t.Errorf("%+v", test)
		}
	}
}

func TestCheck(t *testing.T) {
	dir := folder(t, map[string]string{
		"p.rego":        strings.Replace(rule, "resources: [pods]", "resources: [pods, pods/resize], operations: [CREATE]", 1),
		"settings.yaml": "parameters: {longest: 5}\nenforcement: warn\nfailurePolicy: Fail\ntimeoutSeconds: 3\nexemptions: [{rules: [absent], users: [x]}]\n",
	})
	out, code := run(t, "", "check", dir, "--fairlead-namespace", "own")
	for _, word := range []string{"warn   p.deny  p.rego:6", "exemptions name absent", "names.policies.fairlead.io", "failurePolicy: Fail", "timeoutSeconds: 3", "- pods/resize", "- own"} {
		if code != terminal.ExitOK || !strings.Contains(out, word) {
			t.Errorf("exit %d: %s\nwant %q in it", code, out, word)
		}
	}
	broken := folder(t, map[string]string{"p.rego": "package p\n\ndeny contains \"x\" if true\n"})
	if out, code := run(t, "", "check", broken); code != terminal.ExitFound || !strings.Contains(out, "custom.match") {
		t.Errorf("exit %d: %s", code, out)
	}
}

func TestNativeHeedsGates(t *testing.T) {
	all, code := run(t, "", "native")
	if code != terminal.ExitOK || strings.Count(all, "kind: ValidatingAdmissionPolicy\n") != 20 || strings.Contains(all, "status:") {
		t.Errorf("exit %d, %d policies", code, strings.Count(all, "kind: ValidatingAdmissionPolicy\n"))
	}
	if some, code := run(t, "", "native", "--feature-gates", "ResourcesDeletionProtection=false"); code != terminal.ExitOK || strings.Contains(some, "kruise-native-deletion") || !strings.Contains(some, "immutable-clonesets") {
		t.Errorf("exit %d without deletion protection", code)
	}
}
