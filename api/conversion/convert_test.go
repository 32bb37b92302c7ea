package conversion

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

const alphaApps, betaApps = "apps.kruise.io/v1alpha1", "apps.kruise.io/v1beta1"

func TestTheSameVersionComesBackUntouched(t *testing.T) {
	const object = ` {"kind":"CloneSet", "apiVersion":"apps.kruise.io/v1beta1","metadata":{"annotations":{"conversion.fairlead.io/v1beta1-fields":"x"}}} `
	converted, err := Convert(jsontext.Value(object), betaApps)
	if err != nil || string(converted.Object) != object {
		t.Errorf("%s, %v", converted.Object, err)
	}
}

func TestAListIsConvertedItemByItem(t *testing.T) {
	got := through(t, jsontext.Value(`{"apiVersion":"apps.kruise.io/v1alpha1","kind":"DaemonSetList","metadata":{"continue":"c"},"items":[`+
		`{"apiVersion":"apps.kruise.io/v1alpha1","kind":"DaemonSet","metadata":{"name":"a"},"status":{"daemonSetHash":"x"}},`+
		`{"apiVersion":"apps.kruise.io/v1beta1","kind":"DaemonSet","metadata":{"name":"b"},"status":{"updateRevision":"z"}}]}`), nothing, betaApps)
	sameYAML(t, betaApps, "DaemonSetList", `
metadata: {continue: c}
items:
- {apiVersion: apps.kruise.io/v1beta1, kind: DaemonSet, metadata: {name: a}, status: {updateRevision: x}}
- {apiVersion: apps.kruise.io/v1beta1, kind: DaemonSet, metadata: {name: b}, status: {updateRevision: z}}`, got)
}

// TestAnAnnotationThatNobodyUnderstandsIsNamed has one that was stored while nobody judged it. It must not fail a list.
func TestAnAnnotationThatNobodyUnderstandsIsNamed(t *testing.T) {
	got, err := Convert(jsontext.Value(`{"apiVersion":"policy.kruise.io/v1alpha1","kind":"PodUnavailableBudgetList","items":[
		{"apiVersion":"policy.kruise.io/v1alpha1","kind":"PodUnavailableBudget","metadata":{"name":"a","annotations":{
			"kruise.io/pub-protect-operations":"DELETE,PATCH","pub.kruise.io/protect-total-replicas":"3000000000"}}},
		{"apiVersion":"policy.kruise.io/v1alpha1","kind":"PodUnavailableBudget","metadata":{"name":"b"}}]}`), "policy.kruise.io/v1beta1")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`metadata.annotations[kruise.io/pub-protect-operations]: "PATCH" is no operation, of which there are DELETE, UPDATE, EVICT, RESIZE`,
		`metadata.annotations[pub.kruise.io/protect-total-replicas]: "3000000000" is no whole number of 32 bits`,
	}
	if diff := cmp.Diff(want, got.Notes); diff != "" {
		t.Error(diff)
	}
}

func TestWhatCannotBeConvertedIsNamed(t *testing.T) {
	for name, c := range map[string]struct{ object, to, want, field string }{
		"no JSON":     {`{`, betaApps, "reading an object: ", ""},
		"no object":   {`[]`, betaApps, "reading an object: found [", ""},
		"no version":  {`{"kind":"CloneSet"}`, betaApps, "converting  CloneSet to apps.kruise.io/v1beta1: the groups differ", ""},
		"bad version": {`{"apiVersion":"a/b/c"}`, betaApps, "apiVersion: unexpected GroupVersion string: a/b/c", "apiVersion"},
		"no target":   {`{"apiVersion":"apps.kruise.io/v1alpha1"}`, "a/b/c", "unexpected GroupVersion string", ""},
		"other group": {
			`{"apiVersion":"apps.kruise.io/v1alpha1","kind":"CloneSet","metadata":{"name":"a"}}`, "policy.kruise.io/v1beta1",
			"converting apps.kruise.io/v1alpha1 CloneSet a to policy.kruise.io/v1beta1: the groups differ", "",
		},
		"other version": {`{"apiVersion":"apps.kruise.io/v1alpha1","kind":"CloneSet"}`, "apps.kruise.io/v1", "only v1alpha1 and v1beta1 are known", ""},
		"other kind":    {`{"apiVersion":"apps.kruise.io/v1alpha1","kind":"EphemeralJob"}`, betaApps, "the kind is not one of ours, or has one version only", ""},
		"a field of another kind": {
			`{"apiVersion":"apps.kruise.io/v1alpha1","kind":"WorkloadSpread","spec":{"subsets":[{},7]}}`, betaApps,
			"spec.subsets[1]: expected an object, found", "spec.subsets[1]",
		},
		"a flag that is none": {
			`{"apiVersion":"apps.kruise.io/v1alpha1","kind":"CloneSet","spec":{"scaleStrategy":{"disablePVCReuse":"no"}}}`, betaApps,
			"spec.scaleStrategy.disablePVCReuse: expected a boolean, found", "spec.scaleStrategy.disablePVCReuse",
		},
		"in a list": {
			`{"apiVersion":"apps.kruise.io/v1alpha1","kind":"CloneSetList","items":[{"apiVersion":"apps.kruise.io/v1alpha1","kind":"CloneSet","metadata":{"name":"bad"},"spec":7}]}`,
			betaApps, "CloneSet bad to apps.kruise.io/v1beta1: spec: expected an object", "spec",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Convert(jsontext.Value(c.object), c.to)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error is %v, want %q in it", err, c.want)
			}
			var field *FieldError
			if errors.As(err, &field) != (c.field != "") || field != nil && field.Field != c.field {
				t.Errorf("field is %v, want %q", field, c.field)
			}
		})
	}
}

// FuzzConvert: no object makes a conversion panic, and what was converted can be converted back to what it was.
func FuzzConvert(f *testing.F) {
	crds := definitions(f)
	for i := range kinds {
		g := &generator{Rand: newRand(uint64(i)), unknown: true}
		f.Add([]byte(g.object(kinds[i].Resource, Alpha, schemaOf(f, crds, kinds[i].Resource, Alpha))))
		f.Add([]byte(g.object(kinds[i].Resource, Beta, schemaOf(f, crds, kinds[i].Resource, Beta))))
	}
	f.Fuzz(func(t *testing.T, object []byte) {
		for _, pair := range [][2]string{{alphaApps, betaApps}, {"policy.kruise.io/v1alpha1", "policy.kruise.io/v1beta1"}} {
			there, err := Convert(object, pair[0])
			if err != nil || &there.Object[0] == &object[0] { // of that version already
				continue
			}
			if !there.Object.IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
				t.Fatalf("no JSON: %s", there.Object)
			}
			if _, err = Convert(there.Object, pair[1]); err != nil && !acceptable(err) {
				t.Fatalf("%s becomes %s: %v", object, there.Object, err)
			}
		}
	})
}

// acceptable errors say that v1beta1 held what v1alpha1 refuses, or no type can hold.
func acceptable(err error) bool {
	var field *FieldError
	return errors.As(err, &field) && strings.HasPrefix(field.Field, "metadata.annotations[")
}
