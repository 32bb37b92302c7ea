package containerrecreate

import (
	"os"
	"path/filepath"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/internal/jsontree"
	"github.com/fairlead-io/fairlead/webhook/admission"
)

// FuzzCapture: whatever comes, the answer is a verdict, a patch applies, and what it makes can be neither captured again
// nor changed by writing it back.
func FuzzCapture(f *testing.F) {
	for _, seed := range []string{
		`{"metadata":{"name":"r"},"spec":{"podName":"web-0","containers":[{"name":"web"},{"name":"nap"}]}}`,
		`{"spec":{"podName":"web-0","containers":[{"name":"bare","ports":null}],"strategy":null}}`,
		`{"metadata":{"labels":{"crr.apps.kruise.io/active":""}},"spec":{"podName":"web-0","strategy":{"failurePolicy":""}}}`,
		`{"metadata":null,"spec":{"podName":"\u0077eb-0","containers":[{}]}}`,
	} {
		f.Add([]byte(seed))
	}
	reviews, err := filepath.Glob("testdata/cases/*/review.json")
	if err != nil || len(reviews) == 0 {
		f.Fatalf("there are no cases: %v", err)
	}
	for _, file := range reviews {
		review, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		top, err := jsontree.Parse(review)
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(top.Object("request").Object("object").Bytes()))
	}
	handler := New(shop(), true)
	f.Fuzz(func(t *testing.T, object []byte) {
		if !jsontext.Value(object).IsValid() {
			return // the server has refused it
		}
		create := &admission.Request{Operation: admission.Create, Namespace: "shop", Object: object}
		response := handler.Handle(t.Context(), create)
		if response.Fault != 0 || !response.Allowed && (response.Status.Code != 400 || response.Patch != nil) {
			t.Fatalf("answer %+v %+v", response, response.Status)
		}
		if !response.Allowed || response.Patch == nil {
			return
		}
		patch, err := jsonpatch.DecodePatch(response.Patch)
		if err != nil {
			t.Fatal(err)
		}
		captured, err := patch.Apply(object)
		if err != nil {
			t.Fatalf("applying %s: %v", response.Patch, err)
		}
		r, err := parse(captured)
		if err != nil {
			t.Fatal(err)
		}
		if containers := r.spec.Get("containers"); containers != nil && len(containers.Elements()) > 0 {
			create.Object = captured
			if again := handler.Handle(t.Context(), create); again.Allowed {
				t.Errorf("%s was captured twice", captured)
			}
		}
		update := &admission.Request{Operation: admission.Update, Object: captured, OldObject: captured}
		if same := handler.Handle(t.Context(), update); !same.Allowed {
			t.Errorf("writing %s back was refused: %+v", captured, same.Status)
		}
	})
}
