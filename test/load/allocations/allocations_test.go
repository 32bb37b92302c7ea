package allocations

import (
	"testing"

	"github.com/fairlead-io/fairlead/test/load/reviews"
)

// ceilings are a twentieth above what was measured. Who exceeds one has made that review slower; who stays far below one may
// lower it.
var ceilings = []struct {
	name        string
	body        []byte
	handler     func(testing.TB) answerer
	allocations float64
}{
	{"Pod that matches 1 of 1 SidecarSets", reviews.Matched(), podsBeside(1), 108},
	{"Pod that matches 1 of 1100 SidecarSets", reviews.Matched(), podsBeside(1100), 108},
	{"Pod that matches none of 1000 SidecarSets", reviews.Unmatched(), podsBeside(1000), 66},
	{"DELETE of a protected Deployment, denied", reviews.Deletion("Always", 3), deletions, 62},
	{"DELETE of a protected Deployment without replicas, allowed", reviews.Deletion("Cascading", 0), deletions, 60},
	{"ContainerRecreateRequest CREATE, captured", reviews.Capture(), captures, 129},
	{"SidecarSet CREATE through Rego, beside 1000", reviews.Creation(), rulesBeside(1000, "SidecarSet"), 1500},
	{"CloneSet CREATE through all rules", reviews.Workload(), rulesBeside(1, "CloneSet"), 2700},
	{"Conversion of a SidecarSet", reviews.Conversion(), conversions, 98},
}

func TestAllocations(t *testing.T) {
	if racing {
		t.Skip("pools forget at random under the race detector")
	}
	for _, c := range ceilings {
		t.Run(c.name, func(t *testing.T) {
			answer := c.handler(t)
			if got := testing.AllocsPerRun(100, func() { answer(t, c.body) }); got > c.allocations {
				t.Errorf("a review takes %v allocations, more than %v", got, c.allocations)
			}
		})
	}
}

func BenchmarkReview(b *testing.B) {
	for _, c := range ceilings {
		b.Run(c.name, func(b *testing.B) {
			answer := c.handler(b)
			b.ReportAllocs()
			for b.Loop() {
				answer(b, c.body)
			}
		})
	}
}
