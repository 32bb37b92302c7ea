package userpolicy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestSecretsAreMasked(t *testing.T) {
	deployment := request(metav1.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, "Deployment",
		`{"spec":{"template":{"spec":{"initContainers":[{"env":[{"name":"A","value":"hunter22"}]}],"containers":[{"env":[{"name":"B","value":"no"},{"name":"C"}]}]}}}}`)
	deployment.OldObject = []byte(`{"spec":{"template":{"spec":{"containers":[{"env":[{"name":"B","value":"oldsecret"}]}]}}}}`)
	distribution := request(metav1.GroupVersionResource{Group: "apps.kruise.io", Version: "v1beta1", Resource: "resourcedistributions"}, "ResourceDistribution",
		`{"spec":{"resource":{"kind":"Secret","data":{"k":"aHVudGVyMjI="},"stringData":{"p":"plaintext"}}}}`)
	// One value is a part of another, one is quoted where a rule prints the object around it, one where it makes JSON of that.
	nested := request(metav1.GroupVersionResource{Version: "v1", Resource: "pods"}, "Pod",
		`{"spec":{"containers":[{"env":[{"value":"sesame"},{"value":"sesame-opens"},{"value":"a\"b\nc"},{"value":"<tag>"}]}]}}`)
	container := request(metav1.GroupVersionResource{Version: "v1", Resource: "pods"}, "Pod", `{"spec":{"containers":[{
		"command":["/app","serve","--user","operator","--verbose"],"args":["--password=hunter22","TOKEN=sesame-opens","-c","run all","--replicas=3","-e","PIN=tellnobody"],
		"env":[{"name":"KEY","value":"-----BEGIN KEY-----\r\nMIIBVQ==\n  ab\n"}],
		"livenessProbe":{"httpGet":{"httpHeaders":[{"name":"Authorization","value":"Bearer abc"}]}}}]}}`)
	workflow := request(metav1.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "workflows"}, "Workflow",
		`{"spec":{"step":{"env":{"A":"secretive","B":{"from":"elsewhere"}}}}}`)
	secret := request(metav1.GroupVersionResource{Version: "v1", Resource: "secrets"}, "Secret", `{"data":{"k":"eA=="}}`)
	for message, c := range map[string]struct {
		m    *mask
		want string
	}{
		"the value hunter22 is bad":         {maskOf(deployment), "the value *** is bad"},
		"xhunter22x":                        {maskOf(deployment), "x***x"},
		"it was oldsecret":                  {maskOf(deployment), "it was ***"},
		"no, it is not normal":              {maskOf(deployment), "***, it is not normal"},
		"hunter22, aHVudGVyMjI=, plaintext": {maskOf(distribution), "***, ***, ***"},
		"x is in it":                        {maskOf(secret), "***"},
		"long: sesame-opens, part: sesame":  {maskOf(nested), "long: ***, part: ***"},
		`[{"value": "a\"b\nc"}]`:            {maskOf(nested), `[{"value": "***"}]`},
		`{"value":"\u003ctag\u003e"}`:       {maskOf(nested), `{"value":"***"}`},
		// What containers are given, and what may be read beside it.
		`{"A": "secretive"} is in elsewhere`:                 {maskOf(workflow), `{"A": "***"} is in elsewhere`},
		`["--password=hunter22", "TOKEN=sesame-opens"]`:      {maskOf(container), `["--password=***", "TOKEN=***"]`},
		"/app serve as operator runs all, with 3 --replicas": {maskOf(container), "/app serve as *** runs all, with 3 --replicas"},
		`sh -c "run all"`:                         {maskOf(container), `sh -c "***"`},
		"-e PIN=tellnobody, so it is tellnobody":  {maskOf(container), "-e ***, so it is ***"},
		"the line MIIBVQ== of ab":                 {maskOf(container), "the line *** of ab"},
		"Authorization is Bearer abc":             {maskOf(container), "Authorization is ***"},
		"it begins with -----BEGIN KEY-----, ...": {maskOf(container), "it begins with ***, ..."},
	} {
		if got := c.m.apply(message); got != c.want {
			t.Errorf("%q becomes %q, want %q", message, got, c.want)
		}
	}
}

// Who sends the request chooses the message as well as what is looked for in it: 2000 values in 100 KB are 200 MB of comparing.
func TestMaskingIsBounded(t *testing.T) {
	var env []string
	for i := range 2000 {
		env = append(env, fmt.Sprintf(`{"name":"E%d","value":"value-%d"}`, i, i))
	}
	m := maskOf(request(metav1.GroupVersionResource{Version: "v1", Resource: "pods"}, "Pod", `{"spec":{"containers":[{"env":[`+strings.Join(env, ",")+`]}]}}`))
	if got := m.apply("an image, and value-1"); got != "an image, and ***" {
		t.Errorf("%q", got)
	}
	if got := m.apply(strings.Repeat("x", 100_000)); got != masked {
		t.Errorf("%d characters are looked through", len(got))
	}
	if got := m.apply("an image"); got != masked {
		t.Errorf("%q after all the time was spent", got)
	}
}

// A rule may call what it finds by what it saw, which is then no name that may be shown.
func TestNamesThatRulesMakeUpAreMasked(t *testing.T) {
	s := set(t, map[string]string{"a.rego": `# METADATA
# scope: package
# custom: {match: [{apiGroups: [""], resources: [pods]}]}
package p

# METADATA
# custom: {id: no-env}
deny contains "one" if true

deny contains {"message": "two", "rule": input.request.object.spec.containers[0].env[0].value} if true
`})
	req := request(metav1.GroupVersionResource{Version: "v1", Resource: "pods"}, "Pod", `{"spec":{"containers":[{"env":[{"value":"sesame"},{"value":"no"}]}]}}`)
	decision := decide(t, s, req)
	var names []string
	for _, v := range decision.Masked(s, req).Violations {
		names = append(names, v.Rule)
	}
	if diff := cmp.Diff([]string{"no-env", "***"}, names); diff != "" {
		t.Error(diff)
	}
	if decision.Violations[1].Rule != "sesame" {
		t.Errorf("the decision itself has changed: %v", decision.Violations)
	}
}

func TestALineHasTheDecisionAndNotTheObject(t *testing.T) {
	s := set(t, map[string]string{"a.rego": `# METADATA
# scope: package
# custom: {match: [{apiGroups: [""], resources: [pods]}]}
package leaky

deny contains sprintf("env is %v", [input.request.object.spec.containers[0].env[0].value])
`})
	req := request(metav1.GroupVersionResource{Version: "v1", Resource: "pods"}, "Pod",
		`{"metadata":{"annotations":{"note":"private"}},"spec":{"containers":[{"env":[{"name":"A","value":"sesame"}]}]}}`)
	decision := decide(t, s, req)
	if decision.Violations[0].Message != "env is sesame" {
		t.Fatalf("the requester is told %v", decision)
	}
	var out bytes.Buffer
	writeDecision(slog.New(slog.NewJSONHandler(&out, nil)), s, req, decision)
	if strings.Contains(out.String(), "sesame") || strings.Contains(out.String(), "private") {
		t.Errorf("the object is in the log: %s", out.String())
	}
	var line struct {
		Decision, Action, Set, Revision, User, Resource, Namespace, Name string
		Violations                                                       []logged
	}
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || strings.Count(out.String(), "\n") != 1 {
		t.Fatalf("%v: %s", err, out.String())
	}
	if line.Decision != "1" || line.Action != "deny" || line.Set != "images" || line.Revision != s.Revision() || line.User != "ada" ||
		line.Resource != "pods" || line.Namespace != "shop" || line.Name != "web" || len(line.Violations) != 1 || line.Violations[0].Message != "env is ***" {
		t.Errorf("the line is %s", out.String())
	}
}
