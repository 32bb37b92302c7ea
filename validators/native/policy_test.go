package native

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/validators"
	"github.com/fairlead-io/fairlead/validators/facts"
	"github.com/fairlead-io/fairlead/validators/overlap"
)

const chart = "../../charts/kruise/files"

// The chart installs what the command prints.
func TestTheChartHasThePolicies(t *testing.T) {
	parts := Parts()
	found, err := filepath.Glob(chart + "/native/*")
	if err != nil || len(found) != len(parts) {
		t.Fatalf("%v, %v, want %d files", found, err, len(parts))
	}
	for name, policies := range parts {
		var want bytes.Buffer
		if err := Write(&want, policies); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(chart, "native", name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.String(), string(got)); diff != "" {
			t.Errorf("go generate ./validators/native writes another %s.yaml (-policies +chart):\n%s", name, diff)
		}
	}
}

func TestPoliciesOfGates(t *testing.T) {
	names := func(set string) (all []string) {
		gates := features.New("")
		if err := gates.Set(set); err != nil {
			t.Fatal(err)
		}
		for _, p := range Policies(gates) {
			if p.Policy.Name != p.Binding.Name || p.Binding.Spec.PolicyName != p.Policy.Name {
				t.Errorf("policy %s has binding %s of %s", p.Policy.Name, p.Binding.Name, p.Binding.Spec.PolicyName)
			}
			all = append(all, strings.TrimPrefix(p.Policy.Name, prefix))
		}
		return all
	}
	deletions := func(names []string) []string {
		return slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, "immutable-") })
	}
	all := names("")
	want := []string{"deletion-always", "deletion-cascading", "deletion-crds-cascading", "kruise-deletion-always", "kruise-deletion-cascading"}
	if diff := cmp.Diff(want, deletions(slices.Clone(all))); diff != "" {
		t.Error(diff)
	}
	parts := 0
	for _, part := range Parts() {
		parts += len(part)
	}
	if parts != len(all) {
		t.Errorf("the parts have %d policies, want %d", parts, len(all))
	}
	if diff := cmp.Diff(slices.Delete(want, 2, 3), deletions(names("DeletionProtectionForCRDCascadingGate=true"))); diff != "" {
		t.Error(diff)
	}
	if got := deletions(names("ResourcesDeletionProtection=false,DeletionProtectionForCRDCascadingGate=true")); len(got) != 0 {
		t.Errorf("without deletion protection there are %v", got)
	}
}

// Every rule of the service about a change has its policy, or a reason why not.
func TestEveryImmutableRule(t *testing.T) {
	engine, err := validators.New(t.Context(), validators.Options{
		Builtins: facts.Builtins(facts.Sources{SidecarSets: overlap.NewIndex()}), Log: logr.Discard(),
	})
	if err != nil {
		t.Fatal(err)
	}
	known := make(map[string]bool)
	for _, k := range kinds {
		for _, problems := range append(slices.Collect(valuesOf(k.ofVersion)), k.problems) {
			for _, p := range problems {
				known[p.rule] = true
			}
		}
	}
	seen := 0
	for _, rule := range engine.Rules() {
		if !strings.HasSuffix(rule.ID, "-immutable") {
			continue
		}
		seen++
		_, left := Left[rule.ID]
		if known[rule.ID] == left {
			t.Errorf("rule %s: policy %v, left out %v", rule.ID, known[rule.ID], left)
		}
		delete(known, rule.ID)
	}
	if len(known) != 0 || seen < 17 {
		t.Errorf("%d rules; policies of none: %v", seen, known)
	}
}

func valuesOf(m map[string][]problem) func(func([]problem) bool) {
	return func(yield func([]problem) bool) {
		for _, v := range m {
			if !yield(v) {
				return
			}
		}
	}
}

// What a workload's definition has in its spec either may change, by the words of the message, or a policy keeps it.
func TestEveryFieldMayChangeOrMayNot(t *testing.T) {
	sentence := regexp.MustCompile(`cannot be changed: only ([a-zA-Z, ]+) may change`)
	for _, resource := range []string{"clonesets", "daemonsets", "statefulsets"} {
		text, err := os.ReadFile(chart + "/crds/apps.kruise.io_" + resource + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(text, &crd); err != nil {
			t.Fatal(err)
		}
		problems := kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.resource == resource })].problems
		mutable := strings.Split(sentence.FindStringSubmatch(problems[0].texts)[1], ", ")
		for _, version := range crd.Spec.Versions {
			for member := range version.Schema.OpenAPIV3Schema.Properties["spec"].Properties {
				kept := slices.ContainsFunc(problems, func(p problem) bool { return strings.Contains(p.texts, `"spec.`+member+`: `) })
				if kept == slices.Contains(mutable, member) {
					t.Errorf("%s %s: spec.%s: kept %v", resource, version.Name, member, kept)
				}
			}
		}
	}
}
