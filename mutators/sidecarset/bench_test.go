package sidecarset

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"

	"github.com/fairlead-io/fairlead/mutators"
	"github.com/fairlead-io/fairlead/mutators/podview"
	"github.com/fairlead-io/fairlead/webhook/review"
)

// benchSet is a SidecarSet for Pods of one application. status and the annotations are what a cluster adds.
func benchSet(name, app string, i int) []byte {
	return fmt.Appendf(nil, `{"apiVersion":"apps.kruise.io/v1beta1","kind":"SidecarSet","metadata":{"name":%q,`+
		`"annotations":{"kruise.io/sidecarset-hash":"4cb9cx4f44x2d4xvd66wzd4xv4bc2x5vdv958b76zb9cwxv4545755cdvdb842z4",`+
		`"kruise.io/sidecarset-hash-without-image":"288d6x2cbf4988z94c478b89v6zzc8w2bx8d5v886v9v47544228bv8492b9zvw4"}},`+
		`"spec":{"selector":{"matchLabels":{"app":%q}},"updateStrategy":{"type":"NotUpdate"},"containers":[{"name":"agent-%d",`+
		`"image":"registry.example.com/obs/agent:2.7","command":["/agent"],"args":["--config=/etc/agent/config.yaml"],`+
		`"env":[{"name":"NODE","valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"spec.nodeName"}}}],`+
		`"resources":{"limits":{"cpu":"200m","memory":"128Mi"}},"volumeMounts":[{"name":"agent-buf-%d","mountPath":"/buf"}],`+
		`"podInjectPolicy":"BeforeAppContainer","shareVolumePolicy":{"type":"disabled"},`+
		`"upgradeStrategy":{"upgradeType":"ColdUpgrade"}}],"volumes":[{"name":"agent-buf-%d","emptyDir":{}}]},`+
		`"status":{"latestRevision":"%s-5c9fbc7d4"}}`, name, app, i, i, i, name)
}

// benchIndex has n SidecarSets of which one matches the Pod of pod2.json.
func benchIndex(tb testing.TB, n int) *Index {
	tb.Helper()
	index := NewIndex()
	for i := range n {
		raw := benchSet("match", "nginx", 0)
		if i > 0 {
			raw = benchSet(fmt.Sprintf("other-%d", i), fmt.Sprintf("other-%d", i), i)
		}
		if err := index.Upsert(raw); err != nil {
			tb.Fatal(err)
		}
	}
	return index
}

// BenchmarkInjection is one review without HTTP: decoding, the mutator, the patch and its encoding. Its cost must not
// grow with the number of SidecarSets.
func BenchmarkInjection(b *testing.B) {
	body := readFile(b, "testdata/pod2.json")
	for _, n := range []int{1, 100, 1000, 10000} {
		chain := mutators.PodChain{NewMutator(benchIndex(b, n), namespaceLabels{}, testClock, Options{})}
		b.Run(fmt.Sprintf("SidecarSets=%d", n), func(b *testing.B) { benchReviews(b, chain, body) })
	}
	b.Run("SidecarSets=0", func(b *testing.B) {
		benchReviews(b, mutators.PodChain{NewMutator(NewIndex(), namespaceLabels{}, testClock, Options{})}, body)
	})
}

func benchReviews(b *testing.B, chain mutators.PodChain, body []byte) {
	b.ReportAllocs()
	var out []byte
	for b.Loop() {
		decoded, err := review.Decode(body)
		if err != nil {
			b.Fatal(err)
		}
		response := chain.Handle(b.Context(), decoded.Request)
		if !response.Allowed {
			b.Fatal(response.Status)
		}
		out = review.Append(out[:0], decoded.APIVersion, decoded.UID(), response)
	}
}

// BenchmarkMutatePod is the mutator's own part.
func BenchmarkMutatePod(b *testing.B) {
	decoded, err := review.Decode(readFile(b, "testdata/pod2.json"))
	if err != nil {
		b.Fatal(err)
	}
	mutator := NewMutator(benchIndex(b, 1000), namespaceLabels{}, testClock, Options{})
	b.ReportAllocs()
	for b.Loop() {
		pod, err := podview.Parse(decoded.Request.Object, "default")
		if err != nil {
			b.Fatal(err)
		}
		if _, err := mutator.MutatePod(b.Context(), decoded.Request, pod); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkUpsert is what a change of a SidecarSet costs, and what one costs at the start when it was never defaulted.
func BenchmarkUpsert(b *testing.B) {
	index, raw := benchIndex(b, 1000), benchSet("other-7", "other-7", 7)
	for name, raw := range map[string][]byte{
		"defaulted":       raw,
		"never defaulted": bytes.Replace(raw, []byte(`"kruise.io/sidecarset-hash"`), []byte(`"example.com/other"`), 1),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := index.Upsert(raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// The whole service is to stay below 120 MiB with 10,000 SidecarSets; the index may have a third of that.
func TestIndexIsSmall(t *testing.T) {
	const sets, perSet = 10000, 4 << 10
	before := heap()
	index := benchIndex(t, sets)
	used := heap() - before
	t.Logf("%d bytes for each SidecarSet", used/sets)
	if used > sets*perSet {
		t.Errorf("%d SidecarSets take %d bytes each, more than %d", sets, used/sets, perSet)
	}
	runtime.KeepAlive(index)
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// Allocations stand for cost here, since time is noisy on a machine that others use.
func TestCostDoesNotGrowWithSidecarSets(t *testing.T) {
	decoded, err := review.Decode(readFile(t, "testdata/pod2.json"))
	if err != nil {
		t.Fatal(err)
	}
	cost := func(n int) float64 {
		chain := mutators.PodChain{NewMutator(benchIndex(t, n), namespaceLabels{}, testClock, Options{})}
		return testing.AllocsPerRun(50, func() { chain.Handle(t.Context(), decoded.Request) })
	}
	if one, many := cost(1), cost(2000); many > one+2 { // pools may be emptied by a collection
		t.Errorf("a review takes %v allocations with one SidecarSet, %v with 2,000 of which one matches", one, many)
	}
}
