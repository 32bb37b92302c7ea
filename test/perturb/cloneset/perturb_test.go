package cloneset

import (
	"iter"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/fairlead-io/fairlead/test/perturb"
)

func TestEveryPoint(t *testing.T) {
	var total atomic.Int64
	t.Run("scenarios", func(t *testing.T) {
		for i, s := range all() {
			every := 1
			if i >= len(scenarios) && !*long {
				every = 5
			}
			if testing.Short() {
				every = 10 // enough where something else is tested, such as with the race detector
			}
			t.Run(s.Name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { total.Add(int64(everyPoint(t, s, perturb.Short(), every))) })
			})
		}
	})
	t.Logf("%d points", total.Load())
	if total.Load() < 1000 && !t.Failed() && !testing.Short() {
		t.Error("these are too few to find much")
	}
}

// everyPoint runs every so many-th point of a story, and tells how many there are.
func everyPoint(t *testing.T, s story, faults []perturb.Fault, every int) int {
	prepared, err := s.workload().Prepare(s.Scenario)
	if err != nil {
		t.Fatal(err)
	}
	points := slices.Collect(everyNth(prepared.Points(faults), every))
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

func everyNth(points []perturb.Plan, n int) iter.Seq[perturb.Plan] {
	return func(yield func(perturb.Plan) bool) {
		for i := 0; i < len(points) && yield(points[i]); i += n {
			continue
		}
	}
}
