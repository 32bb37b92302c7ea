package userpolicy

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/webhook/admission"
)

// noon is when requests of these tests come.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// images is a set with a rule of each action, of which one is for Deployments alone.
const images = `# METADATA
# scope: package
# title: Images
# description: Where images come from.
# custom:
#   match:
#     - {apiGroups: [""], apiVersions: ["v1"], resources: ["pods"], operations: ["CREATE", "UPDATE"]}
#     - {apiGroups: ["apps"], apiVersions: ["v1"], resources: ["deployments"], operations: ["CREATE"]}
package images

spec := input.request.object.spec if input.request.kind.kind == "Pod"

spec := input.request.object.spec.template.spec if input.request.kind.kind == "Deployment"

# METADATA
# title: Images come from our registry.
# custom:
#   id: registry
deny contains {"message": msg, "field": sprintf("spec.containers[%d].image", [i])} if {
	some i, c in spec.containers
	not startswith(c.image, data.parameters.registry)
	msg := sprintf("%s is not from %s", [c.image, data.parameters.registry])
}

warn contains "the tag latest moves" if {
	some c in spec.containers
	endswith(c.image, ":latest")
}

# METADATA
# custom:
#   id: replicas
#   match:
#     - {apiGroups: ["apps"], resources: ["deployments"]}
dryrun contains "three replicas would be enough" if input.request.object.spec.replicas > 3
`

const imageSettings = "parameters: {registry: registry.example.com/}\n"

func set(t *testing.T, files map[string]string) *Set {
	t.Helper()
	source, err := Parse("images", files)
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := Compile(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

func imageSet(t *testing.T, settings string) *Set {
	return set(t, map[string]string{"images.rego": images, SettingsFile: imageSettings + settings})
}

func request(resource metav1.GroupVersionResource, kind, object string) *admission.Request {
	return &admission.Request{
		UID: "1", Operation: admission.Create, Namespace: "shop", Name: "web", Resource: resource,
		Kind:   metav1.GroupVersionKind{Group: resource.Group, Version: resource.Version, Kind: kind},
		Object: []byte(object), UserInfo: admission.UserInfo{Username: "ada", Groups: []string{"dev"}},
	}
}

func pod(image string) *admission.Request {
	return request(metav1.GroupVersionResource{Version: "v1", Resource: "pods"}, "Pod",
		`{"apiVersion":"v1","kind":"Pod","spec":{"containers":[{"name":"a","image":"`+image+`"}]}}`)
}

func deployment(image string) *admission.Request {
	return request(metav1.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, "Deployment",
		`{"kind":"Deployment","spec":{"replicas":4,"template":{"spec":{"containers":[{"name":"a","image":"`+image+`"}]}}}}`)
}

func decide(t *testing.T, s *Set, req *admission.Request) Decision {
	t.Helper()
	decision, err := s.Evaluate(t.Context(), Request{Request: req, Time: noon}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return decision
}

func TestRulesSayWhatTheyFind(t *testing.T) {
	foreign := Violation{Action: Deny, Rule: "registry", Field: "spec.containers[0].image", Message: "evil/x:latest is not from registry.example.com/"}
	latest := Violation{Action: Warn, Rule: "images.warn", Message: "the tag latest moves"}
	many := Violation{Action: DryRun, Rule: "replicas", Message: "three replicas would be enough"}
	s := imageSet(t, "")
	for name, c := range map[string]struct {
		req  *admission.Request
		want []Violation
	}{
		"nothing":          {pod("registry.example.com/x:1"), nil},
		"a Pod":            {pod("evil/x:latest"), []Violation{foreign, latest}},
		"a Deployment":     {deployment("evil/x:latest"), []Violation{foreign, latest, many}},
		"a good one":       {deployment("registry.example.com/x:1"), []Violation{many}},
		"no rule's matter": {request(metav1.GroupVersionResource{Version: "v1", Resource: "services"}, "Service", `{}`), nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, decide(t, s, c.req).Violations); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEvaluationEndsWithItsContext(t *testing.T) {
	s := set(t, map[string]string{"slow.rego": `# METADATA
# scope: package
# custom: {match: [{apiGroups: [""], resources: [pods]}]}
package slow

deny contains "slow" if {
	some a in numbers.range(1, 1000000)
	some b in numbers.range(1, 1000000)
	a * b == -1
}
`})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := s.Evaluate(ctx, Request{Request: pod("x"), Time: noon}, nil)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("%v, want a passed deadline", err)
	}
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("it took %v", took)
	}
	if response := admission.Failed(err); response.Fault != 503 {
		t.Errorf("answered %+v, want a fault that leaves it to the failure policy", response)
	}
}

func TestMistakesNameTheirPlace(t *testing.T) {
	const head = "# METADATA\n# scope: package\n# custom: {match: [{apiGroups: [\"\"], resources: [pods]}]}\npackage p\n\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"a typo":            {map[string]string{"a.rego": head + "deny contains x if {"}, []string{"a.rego:6", "rego_parse_error"}},
		"an unknown name":   {map[string]string{"a.rego": head + "deny contains msg if input.x\n"}, []string{"a.rego:6", "msg"}},
		"a forbidden call":  {map[string]string{"a.rego": head + "deny contains \"x\" if http.send({}).status == 200\n"}, []string{"a.rego:6", "http.send is not there for policies"}},
		"a random one":      {map[string]string{"a.rego": head + "deny contains \"x\" if rand.intn(\"a\", 2) == 1\n"}, []string{"a.rego:6", "rand.intn is not there"}},
		"the network":       {map[string]string{"a.rego": head + "deny contains \"x\" if net.lookup_ip_addr(\"a\")\n"}, []string{"a.rego:6", "net.lookup_ip_addr is not there"}},
		"the runtime":       {map[string]string{"a.rego": head + "deny contains \"x\" if opa.runtime().env\n"}, []string{"a.rego:6", "opa.runtime is not there"}},
		"no match":          {map[string]string{"a.rego": "package p\n\ndeny contains \"x\"\n"}, []string{"a.rego:3", "custom.match"}},
		"no set":            {map[string]string{"a.rego": head + "deny := true\n"}, []string{"a.rego:6", "deny contains message"}},
		"no rule":           {map[string]string{"a.rego": head + "x := 1\n"}, []string{"there is no rule"}},
		"unknown in match":  {map[string]string{"a.rego": strings.Replace(head, "resources", "kinds", 1) + "deny contains \"x\"\n"}, []string{"a.rego:1", "[0].kinds: there is no such field"}},
		"Leases":            {map[string]string{"a.rego": strings.Replace(strings.Replace(head, `""`, "coordination.k8s.io", 1), "pods", "leases", 1) + "deny contains \"x\"\n"}, []string{"coordination.k8s.io", "never judged"}},
		"an id twice":       {map[string]string{"a.rego": head + "# METADATA\n# custom: {id: one}\ndeny contains \"x\"\n\n# METADATA\n# custom: {id: one}\nwarn contains \"x\"\n"}, []string{"a.rego:12", "one is that of the rule at a.rego:8"}},
		"a match elsewhere": {map[string]string{"a.rego": head + "# METADATA\n# custom: {match: [{apiGroups: [apps], resources: [deployments]}]}\ndeny contains \"x\"\n"}, []string{"a.rego:8", "would never be asked"}},
		"an inventory":      {map[string]string{"a.rego": head + "deny contains \"x\" if data.inventory.namespace.a\n"}, []string{"a.rego:6", "inventory of settings.yaml"}},
		"a match twice":     {map[string]string{"a.rego": strings.Replace(head, "[pods]}", `[pods]}, {apiGroups: [""], resources: [pods]}`, 1) + "deny contains \"x\"\n"}, []string{"a.rego:1", "the same as custom.match[0]"}},
	} {
		t.Run(name, func(t *testing.T) {
			source, err := Parse("p", c.files)
			if err == nil {
				_, err = Compile(t.Context(), source)
			}
			if err == nil {
				t.Fatal("it compiles")
			}
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q is not in: %v", part, err)
				}
			}
		})
	}
}
