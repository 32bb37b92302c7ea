package cloneset

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fairlead-io/fairlead/controllers/cloneset"
	"github.com/fairlead-io/fairlead/test/perturb"
)

var (
	long   = flag.Bool("perturb.long", false, "perturb by all faults")
	seeds  = flag.Uint64("perturb.seeds", 5, "how many random runs to make")
	first  = flag.Uint64("perturb.first", 1, "the seed of the first")
	sample = flag.Int("perturb.every", 1, "of all faults, try every so many-th point")
	replay = flag.String("perturb.plan", "", "the plan to repeat, which a failure has printed")
	given  = flag.String("perturb.given", "", "where that plan begins, which a failure has printed")
)

const (
	// shrinkTries is how many runs may be spent on making a failing plan smaller.
	shrinkTries = 150
	// writesOfARun is about how many writes a random run has, among which its faults happen.
	writesOfARun = 60
)

func allFaults() []perturb.Fault {
	return slices.Concat(perturb.First(), perturb.Long(), edited(), extremes())
}

// editsEvery is at which part of the writes each edit in the middle is tried, another one for each edit: there are as many
// of them as of all other faults together, and their runs are twice as long.
const editsEvery = 3

// TestEveryPointOfAllFaults is TestEveryPoint with the faults that it leaves out.
func TestEveryPointOfAllFaults(t *testing.T) {
	if !*long {
		t.Skip("this is for make perturb")
	}
	others := slices.DeleteFunc(slices.Concat(perturb.First(), perturb.Long()), func(f perturb.Fault) bool {
		return slices.ContainsFunc(perturb.Short(), func(g perturb.Fault) bool { return f.ID == g.ID })
	})
	for _, s := range all() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				everyPoint(t, s, others, *sample)
				everyPoint(t, s, slices.Concat(edited(), extremes()), editsEvery**sample)
			})
		})
	}
}

// TestRandomRuns edits CloneSets at random while faults happen at random, and things that can happen at the same time in
// a random order. The last edits undo what would let the end depend on that order.
func TestRandomRuns(t *testing.T) {
	const enough = 5 // failures to learn from
	failures := 0
	for seed := *first; seed < *first+*seeds && failures < enough; seed++ {
		passed := t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, plan := randomRun(seed)
				prepared, err := s.workload().Prepare(s.Scenario)
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				if result := prepared.Do(plan); result.Err != nil {
					result = prepared.Shrink(result, shrinkTries)
					t.Fatal(result.Explain(fmt.Sprintf("seed %d, given %q, settings %+v", seed, s.Given, s.settings)))
				}
			})
		})
		if !passed {
			failures++
		}
	}
}

// randomRun is what a seed stands for.
func randomRun(seed uint64) (story, perturb.Plan) {
	r := rand.New(rand.NewPCG(seed, 6))
	one := func(of ...string) string { return of[r.IntN(len(of))] }
	policy := one("ReCreate", "InPlaceIfPossible", "InPlaceIfPossible")
	limits := one("max-unavailable=1", "max-unavailable=2", "max-unavailable=50% max-surge=1", "max-unavailable=0 max-surge=1")
	feature := one("", "", "claims=true", "claims=true reuse-claims=true", "grace=5", "min-ready=3", "pre-delete=labels", "hook-update=unready",
		"pre-delete=finalizers hook-update=labels", "pre-normal=true", "first=pod-1", "scatter=pod-1", "spread="+perturb.Zone, "history=0", "exclude-preparing=true pre-delete=labels")
	s := story{settings: cloneset.Settings{PreDownload: r.IntN(2) == 0, PartitionRollback: r.IntN(3) == 0}}
	s.Given = fmt.Sprintf("replicas=%d policy=%s %s %s; label-pod=1", 2+r.IntN(4), policy, limits, feature)
	var stages []string
	for range 2 + r.IntN(3) {
		var edits []string
		for range 1 + r.IntN(3) {
			edits = append(edits, one(
				fmt.Sprintf("replicas=%d", r.IntN(7)), fmt.Sprintf("image=%d", 1+r.IntN(3)), fmt.Sprintf("env=%d", r.IntN(3)),
				fmt.Sprintf("partition=%d", r.IntN(4)), one("partition=50%", "partition=100%"), one("paused=true", "paused=false"),
				fmt.Sprintf("delete-pod=%d", r.IntN(5)), fmt.Sprintf("name-pod=%d", r.IntN(5)), fmt.Sprintf("kill-pod=%d", r.IntN(5)),
				fmt.Sprintf("fail-pod=%d", r.IntN(5)), fmt.Sprintf("release-pod=%d", r.IntN(5)), fmt.Sprintf("history=%d", r.IntN(3)),
				fmt.Sprintf("side=%d", 1+r.IntN(3)), "scale-unavailable=1", one("update-type=OnDelete", "update-type=RollingUpdate"), "image=1"+perturb.Again,
			))
		}
		stages = append(stages, strings.Join(edits, " "))
	}
	s.Stages = strings.Join(append(stages, "partition=0 paused=false update-type=RollingUpdate", fmt.Sprintf("replicas=%d", 1+r.IntN(4))), "; ")
	plan := perturb.Plan{Stages: perturb.Stages(s.Stages), Seed: seed}
	faults := allFaults()
	for range r.IntN(4) {
		plan.Faults = append(plan.Faults, perturb.Injection{Fault: faults[r.IntN(len(faults))], At: 1 + r.IntN(writesOfARun)})
	}
	// In another order, other Pods are deleted: the numbers of those made can differ.
	plan.AnyCounts = true
	return s, plan
}

// TestPlan repeats a plan.
func TestPlan(t *testing.T) {
	if *replay == "" {
		t.Skip("there is no -perturb.plan")
	}
	synctest.Test(t, func(t *testing.T) {
		plan, err := perturb.Parse(*replay, allFaults())
		if err != nil {
			t.Fatal(err)
		}
		stages, _, _ := strings.Cut(*replay, "::")
		prepared, err := newWorkload(mistake{}).Prepare(perturb.Scenario{Given: *given, Stages: stages})
		if err != nil {
			t.Fatal(err)
		}
		plan.AnyCounts = plan.Seed != 0
		if result := prepared.Do(plan); result.Err != nil {
			t.Fatal(result.Explain("again"))
		}
	})
}
