package sidecarset

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/test/golden"
)

// FuzzInjection injects any SidecarSet into any Pod: an answer comes, its patch applies, and doing it again changes
// nothing.
func FuzzInjection(f *testing.F) {
	folders, err := filepath.Glob("testdata/cases/*")
	if err != nil {
		f.Fatal(err)
	}
	for _, folder := range folders {
		review, err := os.ReadFile(filepath.Join(folder, "review.json"))
		if err != nil {
			f.Fatal(err)
		}
		pod := golden.Encode(f, golden.Object(f, review))
		for _, object := range golden.Objects(f, filepath.Join(folder, "objects")) {
			if golden.At(golden.Decode(f, object), "kind") == "SidecarSet" {
				f.Add(pod, object)
			}
		}
	}
	f.Fuzz(func(t *testing.T, pod, set []byte) {
		b := &bed{index: NewIndex(), namespaces: namespaceLabels{"shop": {"tier": "gold"}}, clock: testClock}
		if err := b.index.Upsert(set); err != nil && len(b.index.sets) > 0 {
			t.Fatalf("a SidecarSet that does not compile is in force: %v", err)
		}
		response := b.admitRaw(pod)
		if response.Fault != 0 {
			t.Fatalf("fault %d: %+v", response.Fault, response.Status)
		}
		if !jsontext.Value(pod).IsValid() || !jsontext.Value(set).IsValid() || !response.Allowed {
			return // the API server sends neither duplicate names nor what is no UTF-8
		}
		once, _ := b.inject(t, golden.Decode(t, pod))
		if _, again := b.inject(t, once); len(again) > 0 {
			t.Fatalf("the second injection does %s", golden.Encode(t, again))
		}
	})
}
