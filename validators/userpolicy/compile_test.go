package userpolicy

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/webhook/admission"
)

// broken is a parameter that cannot be read.
type broken struct{}

// MarshalJSON implements json.Marshaler.
func (broken) MarshalJSON() ([]byte, error) { panic("on purpose") }

// What panics while a set is compiled is a mistake of that set, and ends no process.
func TestAPanicOfTheCompilerIsAnError(t *testing.T) {
	source, err := Parse("images", map[string]string{"a.rego": images})
	if err != nil {
		t.Fatal(err)
	}
	source.Settings.Parameters = map[string]any{"p": broken{}}
	if _, err := Compile(t.Context(), source); err == nil || !strings.Contains(err.Error(), "compiling the set images: panic: on purpose") {
		t.Errorf("%v", err)
	}
}

// Rules may use each other by the names that their author gave them, and their own metadata.
func TestRulesKeepTheirNames(t *testing.T) {
	s := set(t, map[string]string{"a.rego": `# METADATA
# scope: package
# custom: {match: [{apiGroups: [""], resources: [pods]}]}
package names

# METADATA
# title: First
# custom: {id: first, severity: high}
deny contains sprintf("%s is %s", [rego.metadata.rule().title, rego.metadata.rule().custom.severity])

deny contains "second"

warn contains sprintf("%d denials", [count(deny)])

warn contains "also there" if "second" in data.names.deny
`})
	want := "[first: First is high names.deny: second names.warn: 2 denials names.warn: also there]"
	if got := fmt.Sprint(decide(t, s, pod("x")).Violations); got != want {
		t.Errorf("said %s, want %s", got, want)
	}
	var ids []string
	for _, v := range decide(t, s, pod("x")).Violations {
		ids = append(ids, v.Rule)
	}
	if got := strings.Join(ids, ","); got != "first,names.deny,names.warn,names.warn" {
		t.Errorf("rules %s", got)
	}
}

// Only rules that concern a request are asked: another that would fail, or take for ever, costs nothing.
func TestRulesOfOtherRequestsAreNotAsked(t *testing.T) {
	s := set(t, map[string]string{"a.rego": `# METADATA
# scope: package
# custom: {match: [{apiGroups: ["", apps], resources: [pods, deployments]}]}
package apart

# METADATA
# custom: {id: pods, match: [{apiGroups: [""], resources: [pods]}]}
deny contains "a Pod"

# METADATA
# custom: {id: deployments, match: [{apiGroups: [apps], resources: [deployments]}]}
deny contains "for ever" if {
	some a in numbers.range(1, 1000000)
	some b in numbers.range(1, 1000000)
	a * b == -1
}
`})
	if got := decide(t, s, pod("x")).Violations; len(got) != 1 || got[0].Rule != "pods" {
		t.Errorf("said %v", got)
	}
}

// What a request of each kind asks is prepared once, and kinds that ask the same share it, whatever is invented.
func TestQuestionsAreBounded(t *testing.T) {
	s := set(t, map[string]string{"a.rego": "# METADATA\n# scope: package\n# custom: {match: [{apiGroups: ['*'], resources: ['*']}]}\npackage all\n\ndeny contains \"x\"\n"})
	for i := range mostTargets + 10 {
		resource := metav1.GroupVersionResource{Group: fmt.Sprint("group", i), Version: "v1", Resource: "things"}
		if got := decide(t, s, request(resource, "Thing", "{}")).Violations; len(got) != 1 {
			t.Fatalf("%v says %v", resource, got)
		}
	}
	if targets, prepared := len(s.queries.targets), len(s.queries.prepared); targets > mostTargets || prepared != 1 {
		t.Errorf("%d kinds of requests and %d questions are remembered", targets, prepared)
	}
}

func TestTestsAndOtherFilesAreNotServed(t *testing.T) {
	source, err := Parse("images", map[string]string{"images.rego": images, "images_test.rego": "package images_test\n\nbroken", "README.md": "# Images"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Compile(t.Context(), source); err != nil {
		t.Errorf("tests are compiled: %v", err)
	}
	if len(source.Tests) != 1 || len(source.Modules) != 1 {
		t.Errorf("tests %v, modules %v", source.Tests, source.Modules)
	}
	if _, err := Parse("empty", map[string]string{"README.md": ""}); err == nil || !strings.Contains(err.Error(), "has no rules") {
		t.Errorf("a set without rules: %v", err)
	}
}

func TestTheInputIsTheReview(t *testing.T) {
	s := set(t, map[string]string{"a.rego": `# METADATA
# scope: package
# custom: {match: [{apiGroups: [""], resources: [pods]}]}
package input_test_set

deny contains json.marshal(json.remove(input.request, ["object"])) if input.kind == "AdmissionReview"

warn contains sprintf("%v", [input.request.object.big])
`})
	req := pod("x")
	req.Object = []byte(`{"big":9007199254740993}`)
	req.DryRun, req.SubResource = true, ""
	req.Options = []byte(`{"kind":"CreateOptions"}`)
	req.UserInfo = admission.UserInfo{Username: "ada", UID: "7", Groups: []string{"dev"}, Extra: []byte(`{"k":["v"]}`)}
	decision := decide(t, s, req)
	want := `{"dryRun":true,"kind":{"group":"","kind":"Pod","version":"v1"},"name":"web","namespace":"shop","oldObject":null,"operation":"CREATE",` +
		`"options":{"kind":"CreateOptions"},"resource":{"group":"","resource":"pods","version":"v1"},"uid":"1",` +
		`"userInfo":{"extra":{"k":["v"]},"groups":["dev"],"uid":"7","username":"ada"}}`
	if got := decision.Of(Deny)[0].Message; got != want {
		t.Errorf("the input is %s, want %s", got, want)
	}
	if got := decision.Of(Warn)[0].Message; got != "9007199254740993" {
		t.Errorf("a large number becomes %s", got)
	}
}

func TestWhatARuleSaysMustHaveAMessage(t *testing.T) {
	s := set(t, map[string]string{"a.rego": "# METADATA\n# scope: package\n# custom: {match: [{apiGroups: [''], resources: [pods]}]}\npackage p\n\ndeny contains {\"msg\": \"x\"}\n"})
	_, err := s.Evaluate(t.Context(), Request{Request: pod("x"), Time: noon}, nil)
	if err == nil || !strings.Contains(err.Error(), "a.rego:6") || admission.Failed(err).Fault != 500 {
		t.Errorf("%v, want a fault that names the rule", err)
	}
}

func TestDataOfABundle(t *testing.T) {
	source, err := Parse("bundle/org", map[string]string{"a.rego": "# METADATA\n# scope: package\n# custom: {match: [{apiGroups: [''], resources: [pods]}]}\npackage org\n\ndeny contains data.org.words.no\n"})
	if err != nil {
		t.Fatal(err)
	}
	with, err := source.WithData(map[string]any{"org": map[string]any{"words": map[string]any{"no": "never"}}})
	if err != nil || with.Revision() == source.Revision() {
		t.Fatalf("%v, revisions %s and %s", err, with.Revision(), source.Revision())
	}
	s, err := Compile(t.Context(), with)
	if err != nil {
		t.Fatal(err)
	}
	if got := decide(t, s, pod("x")).Violations; len(got) != 1 || got[0].Message != "never" {
		t.Errorf("said %v", got)
	}
	if _, err := source.WithData(map[string]any{"parameters": 1}); err == nil {
		t.Error("a bundle may set parameters")
	}
}

// Thousands of elses take OPA seconds, and a megabyte of them many minutes.
func TestCompilingEndsWithItsContext(t *testing.T) {
	files := expression("f(1)")
	files["f.rego"] = "package p\n\nf(x) := 1 if x == 2\n" + strings.Repeat("else := 1 if x == 3\n", 2000)
	source, err := Parse("p", files)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := Compile(ctx, source); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "it takes too long") {
		t.Error(err)
	}
}
