package cloneset

import (
	"iter"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/fairlead-io/fairlead/test/perturb"
)

// scenarios are the stories whose every write is perturbed by every fault.
var scenarios = []perturb.Scenario{
	{Name: "scale out", Given: "replicas=2 max-unavailable=1", Stages: "replicas=5"},
	{Name: "scale out step by step", Given: "replicas=1 scale-unavailable=1", Stages: "replicas=3"},
	{Name: "update in place", Given: "replicas=3 max-unavailable=1 policy=InPlaceIfPossible", Stages: "image=2 partition=2; partition=0"},
	{Name: "update in place with surge", Given: "replicas=3 max-unavailable=0 max-surge=1 policy=InPlaceIfPossible", Stages: "image=2 side=2"},
	{Name: "recreate", Given: "replicas=3 max-unavailable=1", Stages: "env=2 partition=2; partition=0"},
	{Name: "recreate with surge", Given: "replicas=3 max-unavailable=0 max-surge=1", Stages: "image=2"},
	{Name: "scale in", Given: "replicas=5", Stages: "replicas=2"},
	{Name: "delete the Pods that are named", Given: "replicas=4 max-unavailable=1 claims=true", Stages: "delete-pod=0 name-pod=2; replicas=3"},
	{Name: "roll back", Given: "replicas=3 max-unavailable=1 policy=InPlaceIfPossible; image=2 partition=1", Stages: "image=1 partition=0"},
}

func TestEveryPoint(t *testing.T) {
	var total atomic.Int64
	t.Run("scenarios", func(t *testing.T) {
		for _, s := range scenarios {
			t.Run(s.Name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { total.Add(int64(everyPoint(t, s, perturb.Short()))) })
			})
		}
	})
	t.Logf("%d points", total.Load())
	if total.Load() < 1000 && !t.Failed() && !testing.Short() {
		t.Error("these are too few to find much")
	}
}

// everyPoint runs every point of a scenario, and tells how many there are.
func everyPoint(t *testing.T, s perturb.Scenario, faults []perturb.Fault) int {
	prepared, err := newWorkload(mistake{}).Prepare(s)
	if err != nil {
		t.Fatal(err)
	}
	points := prepared.Points(faults)
	if testing.Short() {
		points = slices.Collect(everyTenth(points))
	}
	failed := map[string]int{}
	for _, plan := range points {
		result := prepared.Do(plan)
		if result.Err == nil {
			continue
		}
		id := plan.Faults[0].ID
		if failed[id]++; failed[id] == 1 {
			t.Error(result.Explain("with a fault"))
		}
	}
	if len(failed) > 0 {
		t.Errorf("failed points by fault: %v", failed)
	}
	t.Logf("%d writes, %d points", len(prepared.Calm.Calls), len(points))
	return len(points)
}

// everyTenth is enough where something else is tested, such as with the race detector.
func everyTenth(points []perturb.Plan) iter.Seq[perturb.Plan] {
	return func(yield func(perturb.Plan) bool) {
		for i := 0; i < len(points) && yield(points[i]); i += 10 {
			continue
		}
	}
}
