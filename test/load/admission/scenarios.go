package main

import (
	"fmt"
	"time"

	"github.com/fairlead-io/fairlead/test/load/reviews"
)

// scenario is one row of the table.
type scenario struct {
	name string
	path string
	body []byte
	// answer is a part of the right answer.
	answer string
	// sidecarSets is how many there are.
	sidecarSets int
	// inCluster says that the service needs an API server, which the harness plays.
	inCluster bool
	target    target
}

// target is what a scenario is to cost at most.
type target struct {
	// ratio is to the no-op's CPU time; 0 for none. With ofFirst it is to the ratio of the first scenario.
	ratio   float64
	ofFirst bool
	// cpu is a time instead; 0 for none.
	cpu time.Duration
	// rss is the memory in MiB; 0 for none.
	rss int64
}

// maxP99 is what 99 of 100 reviews are to stay below with inFlight at once, as a ratio to the no-op; also of what
// waits for an API server meanwhile.
const maxP99 = 4

// The parts of right answers.
const (
	accepted  = `"allowed":true`
	denied    = `"allowed":false`
	patched   = `"patchType":"JSONPatch"`
	converted = `"status":"Success"`
)

func scenarios() []scenario {
	const pods = "/mutate-pod"
	list := []scenario{{
		name: "Pod that matches 1 of 1 SidecarSets", path: pods, body: reviews.Matched(), answer: patched, sidecarSets: 1, target: target{ratio: 1.6},
	}}
	for _, n := range []int{100, 1000, 10000} {
		list = append(list, scenario{
			name: fmt.Sprintf("Pod that matches 1 of %d SidecarSets", n), path: pods, body: reviews.Matched(), answer: patched, sidecarSets: n,
			target: target{ratio: 1.1, ofFirst: true},
		})
	}
	list[len(list)-1].target.rss = 120
	return append(list,
		scenario{
			name: "Pod that matches none of 1000 SidecarSets", path: pods, body: reviews.Unmatched(), answer: accepted, sidecarSets: 1000,
			target: target{ratio: 1.2},
		},
		scenario{
			name: "DELETE of a protected Deployment, denied", path: "/validate-apps-deployment", answer: denied, sidecarSets: 1,
			body: reviews.Deletion("Always", 3), target: target{ratio: 1.3},
		},
		scenario{
			name: "DELETE of a protected Deployment without replicas, allowed", path: "/validate-apps-deployment", answer: accepted, sidecarSets: 1,
			body: reviews.Deletion("Cascading", 0), target: target{ratio: 1.3},
		},
		scenario{
			name: "ContainerRecreateRequest CREATE, captured", path: "/mutate-apps-kruise-io-containerrecreaterequest", answer: patched, inCluster: true,
			body: reviews.Capture(), target: target{ratio: 2},
		},
		scenario{
			name: "SidecarSet CREATE through Rego, beside 1000", path: "/validate-apps-kruise-io-sidecarset", answer: accepted, sidecarSets: 1000,
			body: reviews.Creation(), target: target{cpu: 3 * time.Millisecond},
		},
		scenario{
			name: "CloneSet CREATE through all rules", path: "/validate-apps-kruise-io-cloneset", answer: accepted, sidecarSets: 1,
			body: reviews.Workload(), target: target{ratio: 8},
		},
		scenario{
			name: "Conversion of a SidecarSet", path: "/convert", body: reviews.Conversion(), answer: converted, sidecarSets: 1, target: target{ratio: 2},
		},
	)
}

// result is what was measured of a scenario.
type result struct {
	scenario
	ours, noop sample
	// reads is how often a review reads from the API server, and readsCPU what that costs, which is not ours to spare.
	reads    float64
	readsCPU time.Duration
	rss      int64 // MiB, after the reviews
}

// ratio is our CPU time to the no-op's, without that of reads.
func (r result) ratio() float64 { return float64(r.ours.cpu-r.readsCPU) / float64(r.noop.cpu) }

func (r result) p99Ratio() float64 { return float64(r.ours.p99) / float64(r.noop.p99) }

// misses says which targets a result misses. first is that of the first scenario.
func (r result) misses(first result) (missed []string) {
	t := r.target
	most := t.ratio
	if t.ofFirst {
		most *= first.ratio()
	}
	if most > 0 && r.ratio() > most {
		missed = append(missed, fmt.Sprintf("CPU %.2f > %.2f", r.ratio(), most))
	}
	if t.cpu > 0 && r.ours.cpu > t.cpu {
		missed = append(missed, fmt.Sprintf("CPU %v > %v", r.ours.cpu, t.cpu))
	}
	if r.p99Ratio() >= maxP99 {
		missed = append(missed, fmt.Sprintf("p99 %.2f ≥ %d", r.p99Ratio(), maxP99))
	}
	if t.rss > 0 && r.rss >= t.rss {
		missed = append(missed, fmt.Sprintf("RSS %d MiB ≥ %d MiB", r.rss, t.rss))
	}
	return missed
}

// String is the target as the table has it; that of p99 is everyone's.
func (t target) String() string {
	text := fmt.Sprintf("≤ %.1f", t.ratio)
	switch {
	case t.cpu > 0:
		text = fmt.Sprintf("≤ %v CPU", t.cpu)
	case t.ofFirst:
		text += " × the first"
	}
	if t.rss > 0 {
		text += fmt.Sprintf(", RSS < %d MiB", t.rss)
	}
	return text
}
