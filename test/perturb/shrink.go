package perturb

import (
	"iter"
	"slices"
)

// Shrink takes out of a failing plan what it fails without: faults, stages and edits; at most tries runs.
func (p *Prepared) Shrink(failing Result, tries int) Result {
	for smaller := range smallerPlans(failing.Plan) {
		if tries--; tries < 0 {
			return failing
		}
		if result := p.again(smaller); result.Err != nil {
			return p.Shrink(result, tries)
		}
	}
	return failing
}

// again runs a plan of other stages than the scenario's, for which the run without faults has to be known first.
func (p *Prepared) again(plan Plan) Result {
	calm := p.workload.Do(Plan{Stages: plan.Stages}, p.from)
	if calm.Err != nil {
		return calm
	}
	other := &Prepared{Scenario: p.Scenario, workload: p.workload, from: p.from, Calm: calm}
	return other.Do(plan)
}

// smallerPlans are what a plan is without one of its parts, the ones that save most first.
func smallerPlans(plan Plan) iter.Seq[Plan] {
	with := func(stages [][]string, faults []Injection, seed uint64) Plan {
		return Plan{Stages: stages, Faults: faults, Seed: seed, AnyCounts: plan.AnyCounts}
	}
	return func(yield func(Plan) bool) {
		if plan.Seed != 0 && !yield(with(plan.Stages, plan.Faults, 0)) {
			return
		}
		for i := range plan.Faults {
			if !yield(with(plan.Stages, slices.Delete(slices.Clone(plan.Faults), i, i+1), plan.Seed)) {
				return
			}
		}
		for i, edits := range plan.Stages {
			if !yield(with(slices.Delete(slices.Clone(plan.Stages), i, i+1), plan.Faults, plan.Seed)) {
				return
			}
			for j := range edits {
				fewer := slices.Clone(plan.Stages)
				fewer[i] = slices.Delete(slices.Clone(edits), j, j+1)
				if len(edits) > 1 && !yield(with(fewer, plan.Faults, plan.Seed)) {
					return
				}
			}
		}
	}
}
