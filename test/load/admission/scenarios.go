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
	// policies is how many users' rules there are; 0 for no set.
	policies int
	// refused is a body that must be refused before anything is measured, where consent may also mean that nobody looked.
	refused []byte
	// gates are those that differ from their defaults.
	gates  string
	target target
}

// target is what a scenario is to cost at most.
type target struct {
	// ratio is to the no-op's CPU time; 0 for none. With of it is to that of another scenario.
	ratio float64
	of    *scenario
	// cpu is a time instead; 0 for none.
	cpu time.Duration
	// rss is the memory in MiB; 0 for none.
	rss int64
}

// maxP99 is what 99 of 100 reviews are to stay below with inFlight at once, as a ratio to the no-op; also of what
// waits for an API server meanwhile. What may cost more than that many times the no-op's CPU cannot: all cores are busy
// with inFlight such reviews, and each waits for the others.
const maxP99 = 4

// The parts of right answers.
const (
	accepted  = `"allowed":true`
	denied    = `"allowed":false`
	patched   = `"patchType":"JSONPatch"`
	converted = `"status":"Success"`
)

// concerned is how many users' rules are for Pods.
const concerned = 3

func scenarios() []scenario {
	const pods = "/mutate-pod"
	first := scenario{
		name: "Pod that matches 1 of 1 SidecarSets", path: pods, body: reviews.Matched(), answer: patched, sidecarSets: 1, target: target{ratio: 1.6},
	}
	alone := scenario{
		name: "Pod through 3 users' rules", path: reviews.PoliciesPath, body: reviews.Matched(), answer: accepted, refused: reviews.Unmatched(),
		policies: concerned,
	}
	among := alone
	among.name, among.policies, among.target = "Pod through 200 users' rules, of which 3 concern it", 200, target{ratio: 1.3, of: &alone}
	list := []scenario{first}
	for _, n := range []int{100, 1000, 10000} {
		list = append(list, scenario{
			name: fmt.Sprintf("Pod that matches 1 of %d SidecarSets", n), path: pods, body: reviews.Matched(), answer: patched, sidecarSets: n,
			target: target{ratio: 1.1, of: &first},
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
			name: "UPDATE of a Pod under a budget that takes no unit", path: "/validate-pod", answer: accepted, sidecarSets: 1,
			body: reviews.Annotated(), gates: "PodUnavailableBudgetUpdateGate=true", target: target{ratio: 3},
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
		among,
		scenario{
			name: "Conversion of a SidecarSet", path: "/convert", body: reviews.Conversion(), answer: converted, sidecarSets: 1, target: target{ratio: 2},
		},
	)
}
