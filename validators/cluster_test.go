package validators_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/validators/dryrun"
	"github.com/fairlead-io/fairlead/validators/facts"
	"github.com/fairlead-io/fairlead/validators/neighbours"
)

// TemplateProblems refuses containers called broken and claims with a capital letter, and terms whose key is broken.
func (cluster) TemplateProblems(_ context.Context, template dryrun.Template) (problems []dryrun.Problem, _ error) {
	text := string(template.Object)
	for part, field := range map[string]string{
		`"broken"`: "spec.containers[0].image", `"broken node"`: "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].key",
		`"broken preference"`: "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0].key",
		`"broken toleration"`: "spec.tolerations[0].key", `"broken image"`: "spec.containers[0].image", `"broken handler"`: "spec.containers[0].startupProbe.httpGet.port",
	} {
		if strings.Contains(text, part) {
			problems = append(problems, dryrun.Problem{Field: field, Type: "FieldValueRequired", Body: "Required value"})
		}
	}
	for i, claim := range template.Claims {
		if claim != strings.ToLower(claim) {
			problems = append(problems, dryrun.Problem{Field: "claims[" + string(rune('0'+i)) + "]", Type: "FieldValueInvalid", Body: "Invalid value"})
		}
	}
	return problems, nil
}

// ClaimProblems refuses an access mode.
func (cluster) ClaimProblems(_ context.Context, claim dryrun.Claim) ([]dryrun.Problem, error) {
	if strings.Contains(string(claim.Object), `"Broken"`) {
		return []dryrun.Problem{{Field: "spec.accessModes", Type: "FieldValueNotSupported", Body: "Unsupported value"}}, nil
	}
	return nil, nil
}

// ObjectProblems refuses a key.
func (cluster) ObjectProblems(_ context.Context, object dryrun.Object) ([]dryrun.Problem, error) {
	if strings.Contains(string(object.Raw), `"broken key"`) {
		return []dryrun.Problem{{Field: "data[broken key]", Type: "FieldValueInvalid", Body: "Invalid value in " + object.Resource}}, nil
	}
	return nil, nil
}

// stored are the objects of testdata/cluster/objects.yaml, by the path of their kind and namespace.
var stored = func() map[string]map[string]jsontext.Value {
	text, err := os.ReadFile("testdata/cluster/objects.yaml")
	if err != nil {
		panic(err)
	}
	var all map[string]map[string]any
	if err := yaml.UnmarshalStrict(text, &all); err != nil {
		panic(err)
	}
	found := make(map[string]map[string]jsontext.Value)
	for kind, objects := range all {
		found[kind] = make(map[string]jsontext.Value)
		for name, object := range objects {
			raw, err := yaml.Marshal(object)
			if err != nil {
				panic(err)
			}
			if raw, err = yaml.YAMLToJSON(raw); err != nil {
				panic(err)
			}
			found[kind][name] = raw
		}
	}
	return found
}()

func at(resource schema.GroupVersionResource, namespace string) string {
	return strings.Trim(strings.Join([]string{resource.Group, resource.Resource, namespace}, " "), " ")
}

// Object implements facts.Objects.
func (cluster) Object(_ context.Context, resource schema.GroupVersionResource, namespace, name string) (jsontext.Value, bool, error) {
	raw, found := stored[at(resource, namespace)][name]
	return raw, found, nil
}

// Objects implements facts.Objects.
func (cluster) Objects(_ context.Context, resource schema.GroupVersionResource, namespace string) (all []jsontext.Value, err error) {
	for _, raw := range stored[at(resource, namespace)] {
		all = append(all, raw)
	}
	slices.SortFunc(all, func(a, b jsontext.Value) int { return strings.Compare(string(a), string(b)) })
	return all, nil
}

// watched are the same objects as their watches show them.
func watched(t testing.TB) *neighbours.Index {
	t.Helper()
	x := neighbours.NewIndex(clock.RealClock{})
	for _, resource := range facts.Compared() {
		for place, objects := range stored {
			namespace, there := strings.CutPrefix(place, at(resource, "")+" ")
			if !there {
				continue
			}
			for _, raw := range objects {
				if err := x.Sink(resource.Resource).Upsert(in(t, namespace, raw)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return x
}

// in is an object with the namespace in it.
func in(t testing.TB, namespace string, raw jsontext.Value) jsontext.Value {
	t.Helper()
	patched, err := jsonpatch.MergePatch(raw, fmt.Appendf(nil, `{"metadata":{"namespace":%q}}`, namespace))
	if err != nil {
		t.Fatal(err)
	}
	return patched
}

// tableOf is the table of a kind.
func tableOf(t testing.TB, kind string) table {
	t.Helper()
	for _, x := range tables(t) {
		if x.Kind == kind {
			return x
		}
	}
	t.Fatalf("no table of %s", kind)
	return table{}
}
