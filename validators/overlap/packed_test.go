package overlap

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// What is packed comes back as it was, but for the paths of the claims.
func TestPackedLosesNothing(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.Just("app"))
	texts := rapid.SliceOfN(text, 1, 3)
	demands := rapid.Custom(func(t *rapid.T) *Selector {
		if rapid.Bool().Draw(t, "missing") {
			return nil
		}
		s := &Selector{demands: []demand{}}
		for _, key := range rapid.SliceOfNDistinct(text, 0, 3, rapid.ID[string]).Draw(t, "keys") {
			d := demand{key: key, exists: rapid.Bool().Draw(t, "exists"), absent: rapid.Bool().Draw(t, "absent")}
			if d.listed = rapid.Bool().Draw(t, "listed"); d.listed {
				d.allowed = texts.Draw(t, "allowed")
			} else {
				d.denied = texts.Draw(t, "denied")
			}
			s.demands = append(s.demands, d)
		}
		return s
	})
	rapid.Check(t, func(t *rapid.T) {
		want := &set{
			name: text.Draw(t, "name"), base: text.Draw(t, "base"), claims: []claim{},
			selector: demands.Draw(t, "selector"), namespace: demands.Draw(t, "namespace"),
		}
		for range rapid.IntRange(0, 3).Draw(t, "claims") {
			want.claims = append(want.claims, claim{
				slot:    slot{rapid.SampledFrom([]Kind{Containers, Volumes}).Draw(t, "kind"), text.Draw(t, "claimed")},
				content: text.Draw(t, "content"), policy: "Overwrite",
			})
		}
		small := pack(want)
		if diff := cmp.Diff(want, small.unpack(), cmp.AllowUnexported(set{}, slot{}, claim{}, Selector{}, demand{})); diff != "" {
			t.Fatal(diff)
		}
		if small.name() != want.name {
			t.Fatalf("name %q, want %q", small.name(), want.name)
		}
		for _, c := range want.claims {
			if found, ok := small.claim(c.slot); !ok || found.slot != c.slot {
				t.Fatalf("claim %v: %v, %v", c.slot, found, ok)
			}
		}
	})
}

// The whole service is to stay below 120 MiB with 10,000 SidecarSets, of which the comparison is a small part. They share a
// container's name here, so that they are filed too.
func TestIndexIsSmall(t *testing.T) {
	const sets, perSet = 10_000, 450
	before := heap()
	x := NewIndex()
	for i := range sets {
		raw := fmt.Appendf(nil, `{"metadata":{"name":"other-%d"},"spec":{"selector":{"matchLabels":{"app":"other-%d"}},`+
			`"containers":[{"name":"agent"}],"volumes":[{"name":"agent-buf-%d","emptyDir":{}}]}}`, i, i, i)
		if err := x.Upsert(raw); err != nil {
			t.Fatal(err)
		}
	}
	used := int(heap()-before) / sets
	t.Logf("%d bytes for each SidecarSet", used)
	if used > perSet {
		t.Errorf("%d SidecarSets take %d bytes each, more than %d", sets, used, perSet)
	}
	runtime.KeepAlive(x)
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
