package conversion

import (
	"math/rand/v2"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"pgregory.net/rapid"

	"github.com/fairlead-io/fairlead/internal/jsontree"
)

// trip is a kind with the schemas of its two versions.
type trip struct {
	rapid.TB
	*kind
	alpha, beta *apiextensionsv1.JSONSchemaProps
}

func eachKind(t *testing.T, test func(trip, *rapid.T)) {
	t.Helper()
	crds := definitions(t)
	for i := range kinds {
		k := &kinds[i]
		tr := trip{kind: k, alpha: schemaOf(t, crds, k.Resource, Alpha), beta: schemaOf(t, crds, k.Resource, Beta)}
		t.Run(k.Kind, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				tr := tr
				tr.TB = rt
				test(tr, rt)
			})
		})
	}
}

func draw(rt *rapid.T, unknown bool) *generator {
	return &generator{Rand: rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1)), unknown: unknown}
}

func (tr trip) to(version string, raw jsontext.Value) jsontext.Value {
	tr.Helper()
	converted, err := Convert(raw, tr.Group+"/"+version)
	if err != nil {
		tr.Fatalf("%v\n%s", err, raw)
	}
	return converted.Object
}

// plain is an object without what conversions keep in it.
func (tr trip) plain(raw jsontext.Value) any {
	tr.Helper()
	top, err := jsontree.Parse(raw)
	if err != nil {
		tr.Fatal(err)
	}
	w := &work{top: top}
	w.takeKept(Alpha)
	return decoded(tr, top.Bytes())
}

// respelled is an object of v1alpha1 as it reads after it was v1beta1.
func (tr trip) respelled(raw jsontext.Value) jsontext.Value {
	tr.Helper()
	top, err := jsontree.Parse(raw)
	if err != nil {
		tr.Fatal(err)
	}
	if tr.canonical != nil {
		tr.canonical(&work{top: top})
	}
	return top.Bytes()
}

func (tr trip) same(what string, want, got any) {
	tr.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		tr.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

// TestNothingIsLost holds every kind to round trips from either version, with fields that no schema knows.
func TestNothingIsLost(t *testing.T) {
	eachKind(t, func(tr trip, rt *rapid.T) {
		g := draw(rt, true)
		beta := g.object(tr.Resource, Beta, tr.beta)
		tr.same("v1beta1 through v1alpha1", decoded(tr, beta), decoded(tr, tr.to(Beta, tr.to(Alpha, beta))))
		alpha := g.object(tr.Resource, Alpha, tr.alpha)
		tr.same("v1alpha1 through v1beta1", tr.plain(tr.respelled(alpha)), tr.plain(tr.to(Alpha, tr.to(Beta, alpha))))
	})
}

// TestNothingIsLostInStorage does the same as the API server does: it prunes what the version's schema lacks. A
// conversion that left a field where the schema does not have it would lose it here.
func TestNothingIsLostInStorage(t *testing.T) {
	eachKind(t, func(tr trip, rt *rapid.T) {
		g := draw(rt, false)
		beta := stored(tr, g.object(tr.Resource, Beta, tr.beta), tr.beta)
		alpha := tr.to(Alpha, beta)
		tr.same("pruning v1alpha1", decoded(tr, alpha), decoded(tr, stored(tr, alpha, tr.alpha)))
		again := tr.to(Beta, stored(tr, alpha, tr.alpha))
		tr.same("v1beta1, read and written in v1alpha1", decoded(tr, beta), decoded(tr, again))
		tr.same("it reads the same again", decoded(tr, alpha), decoded(tr, tr.to(Alpha, again)))

		alpha = stored(tr, g.object(tr.Resource, Alpha, tr.alpha), tr.alpha)
		beta = tr.to(Beta, alpha)
		tr.same("pruning v1beta1", decoded(tr, beta), decoded(tr, stored(tr, beta, tr.beta)))
	})
}

// TestAClientsEditReadsBack lets a client of either version change what it sees, on an object that carries what it
// cannot see.
func TestAClientsEditReadsBack(t *testing.T) {
	eachKind(t, func(tr trip, rt *rapid.T) {
		g := draw(rt, false)
		edited := g.edited(tr, tr.to(Alpha, g.object(tr.Resource, Beta, tr.beta)), g.object(tr.Resource, Alpha, tr.alpha))
		beta := tr.to(Beta, edited)
		tr.same("what a v1alpha1 client wrote", tr.plain(tr.respelled(edited)), tr.plain(tr.respelled(tr.to(Alpha, beta))))
		edited = g.edited(tr, beta, g.object(tr.Resource, Beta, tr.beta))
		tr.same("what a v1beta1 client wrote", tr.plain(edited), tr.plain(tr.to(Beta, tr.to(Alpha, edited))))
	})
}

// TestOnlyLabelsAndAnnotationsOfMetadataChange, which the API server would overrule or refuse.
func TestOnlyLabelsAndAnnotationsOfMetadataChange(t *testing.T) {
	eachKind(t, func(tr trip, rt *rapid.T) {
		g := draw(rt, true)
		for _, version := range []string{Alpha, Beta} {
			schema, other := tr.alpha, Beta
			if version == Beta {
				schema, other = tr.beta, Alpha
			}
			object := g.object(tr.Resource, version, schema)
			before, after := decoded(tr, object).(map[string]any), decoded(tr, tr.to(other, object)).(map[string]any)
			if after["apiVersion"] != tr.Group+"/"+other {
				tr.Fatalf("apiVersion is %v", after["apiVersion"])
			}
			for _, all := range []map[string]any{before, after} {
				delete(all, "apiVersion")
				delete(all, "spec")
				delete(all, "status")
				delete(all["metadata"].(map[string]any), labels)
				delete(all["metadata"].(map[string]any), annotations)
			}
			tr.same("beside spec and status", before, after)
		}
	})
}
