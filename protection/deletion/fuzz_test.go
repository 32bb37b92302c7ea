package deletion

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/webhook/admission"
)

// FuzzDeletion: whatever an object is like, the answer is a verdict, the same for a dry run, and only a dry run's is not
// told.
func FuzzDeletion(f *testing.F) {
	for _, seed := range []string{
		`{"metadata":{"labels":{"policy.kruise.io/delete-protection":"Always"}}}`,
		`{"metadata":{"labels":{"policy.kruise.io/delete-protection":"Cascading"}},"spec":{"replicas":1}}`,
		`{"metadata":{"labels":{"policy.kruise.io/delete-protection":"Cascading"}},"spec":{"replicas":-1e3}}`,
		`{"metadata":{"labels":{"policy.kruise.io/delete-protection":"Cascading"}},"spec":{"group":"a","names":{"plural":"b"},"versions":[{"name":"v1","served":true}]}}`,
		`{"metadata":{"labels":["policy.kruise.io/delete-protection"],"deletionTimestamp":null},"spec":[]}`,
	} {
		for i := range protectable {
			f.Add(uint8(i), []byte(seed))
		}
	}
	f.Fuzz(func(t *testing.T, i uint8, object []byte) {
		if !jsontext.Value(object).IsValid() {
			return // the server has refused it
		}
		told := 0
		guard := New(Options{Census: &world{pods: Count{N: 1}, objects: Count{N: 1}}, CRDCascading: i%2 == 0, Denied: func(Denial) { told++ }})
		kind := protectable[int(i)%len(protectable)]
		req := deletion(t, kind[0], kind[1], kind[2], "{}")
		req.OldObject = object
		answers := [2]admission.Response{}
		for dry := range answers {
			req.DryRun = dry == 1
			answers[dry] = guard.Handle(t.Context(), req)
		}
		first, dry := answers[0], answers[1]
		if first.Fault != 0 || first.Allowed != dry.Allowed || !first.Allowed && first.Status.Message != dry.Status.Message {
			t.Fatalf("answers %+v and %+v", first, dry)
		}
		denied := !first.Allowed && first.Status.Code == 403
		if denied != (told == 1) || told > 1 {
			t.Errorf("%+v: told %d times", first, told)
		}
	})
}
