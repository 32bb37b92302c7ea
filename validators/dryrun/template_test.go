package dryrun

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

func refusal(code int, causes string) string {
	return `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","message":"no","code":` + itoa(code) + `,"details":{"causes":[` + causes + `]}}`
}

func itoa(n int) string { out, _ := json.Marshal(n); return string(out) }

// A claim template counts as a volume of its name, unless the template has one; unknown members go to the API server as they are.
func TestTemplateBody(t *testing.T) {
	f := newFixture(t)
	template := Template{Object: jsontext.Value(`{"metadata":{"labels":{"a":"b"}},"spec":{"volumes":[{"name":"own","emptyDir":{}},{"name":"twice"}],"future":1}}`), Claims: []string{"twice", "data", "data"}}
	if got, err := f.TemplateProblems(t.Context(), template); err != nil || len(got) != 0 {
		t.Fatalf("%v, %v", got, err)
	}
	var sent struct {
		Template any `json:"template"`
	}
	if err := json.Unmarshal([]byte(f.bodies[0]), &sent); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"a": "b"}},
		"spec": map[string]any{"future": 1.0, "volumes": []any{
			map[string]any{"name": "own", "emptyDir": map[string]any{}}, map[string]any{"name": "twice"},
			map[string]any{"name": "data", "emptyDir": map[string]any{}},
		}},
	}
	if diff := cmp.Diff(want, sent.Template); diff != "" {
		t.Error(diff)
	}
}

func TestTemplateProblems(t *testing.T) {
	f := newFixture(t)
	f.code = http.StatusUnprocessableEntity
	f.body = refusal(422, `{"reason":"FieldValueNotFound","message":"Not found: \"v\"","field":"template.spec.containers[0].volumeMounts[0].name"},
		{"reason":"FieldValueInvalid","message":"Invalid value: \"A\"","field":"template.spec.volumes[1].name"},
		{"reason":"FieldValueInvalid","message":"a name of ours","field":"metadata.name"}`)
	template := Template{Object: jsontext.Value(`{"spec":{"volumes":[{"name":"own"}]}}`), Claims: []string{"own", "A"}}
	got, err := f.TemplateProblems(t.Context(), template)
	want := []Problem{
		{Field: "spec.containers[0].volumeMounts[0].name", Type: "FieldValueNotFound", Body: `Not found: "v"`},
		{Field: "claims[1]", Type: "FieldValueInvalid", Body: `Invalid value: "A"`},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	if i, found := got[1].OfClaim(); i != 1 || !found {
		t.Errorf("claim %d %t", i, found)
	}
	if _, found := got[0].OfClaim(); found {
		t.Error("a mount is no claim")
	}
}

// What was made of a template is kept, and the same template in another spelling costs no question; neither does what its maker
// vouches for.
func TestDefaultedIsRemembered(t *testing.T) {
	f := newFixture(t)
	f.body = `{"template":{"spec":{"restartPolicy":"Always"}}}`
	for _, spelling := range []string{`{"spec":{"a":1,"b":2}}`, `{"spec": {"b":2, "a":1}}`} {
		got, err := f.Defaulted(t.Context(), Template{Object: jsontext.Value(spelling)})
		if err != nil || string(got) != `{"spec":{"restartPolicy":"Always"}}` {
			t.Fatalf("%s, %v", got, err)
		}
	}
	completed := Template{Object: jsontext.Value(`{"spec":{"a":1,"b":2,"restartPolicy":"Always"}}`)}
	f.Vouch(completed)
	if problems, err := f.TemplateProblems(t.Context(), completed); err != nil || len(problems) != 0 {
		t.Errorf("%v, %v", problems, err)
	}
	if len(f.asked) != 1 {
		t.Errorf("asked %d times", len(f.asked))
	}
}

func TestARefusedTemplateHasNoDefaults(t *testing.T) {
	f := newFixture(t)
	f.code, f.body = http.StatusUnprocessableEntity, invalid
	if got, err := f.Defaulted(t.Context(), Template{Object: jsontext.Value(`{}`)}); got != nil || err != nil {
		t.Errorf("%s, %v", got, err)
	}
}

func TestClaimsAndObjects(t *testing.T) {
	f := newFixture(t)
	f.code, f.body = http.StatusUnprocessableEntity, refusal(422, `{"reason":"FieldValueRequired","message":"Required value","field":"spec.accessModes"}`)
	got, err := f.ClaimProblems(t.Context(), Claim{Object: jsontext.Value(`{"metadata":{"name":"data","labels":{"a":"b"}},"spec":{"x":1}}`)})
	if diff := cmp.Diff([]Problem{{Field: "spec.accessModes", Type: "FieldValueRequired", Body: "Required value"}}, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	if want := `{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"generateName":"kruise-validation-","labels":{"a":"b"},"namespace":"kruise-system"},"spec":{"x":1}}`; f.bodies[0] != want {
		t.Errorf("sent %s", f.bodies[0])
	}
	secret := func(name string) Object {
		return Object{Resource: "secrets", Raw: jsontext.Value(`{"kind":"Secret","metadata":{"name":"` + name + `","namespace":"other","uid":"u"}}`)}
	}
	for i, c := range []struct {
		code    int
		message string
		want    int
		fails   bool
	}{
		{201, "", 0, false},
		{409, "there is one", 0, false},
		{400, "cannot be decoded", 1, false},
		{400, "admission webhook does not support dry run", 0, true},
		{403, "no", 0, true},
	} {
		f.code, f.body = c.code, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":`+itoa(c.code)+`,"message":"`+c.message+`"}`
		got, err := f.ObjectProblems(t.Context(), secret("s"+itoa(i)))
		if len(got) != c.want || (err != nil) != c.fails {
			t.Errorf("%d: %v, %v", c.code, got, err)
		}
	}
	if want := `{"kind":"Secret","metadata":{"name":"s0","namespace":"kruise-system"}}`; f.bodies[1] != want {
		t.Errorf("sent %s", f.bodies[1])
	}
}
