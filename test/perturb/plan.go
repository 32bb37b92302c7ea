package perturb

import (
	"fmt"
	"strconv"
	"strings"
)

// Plan is all that a run depends on. Its text, which Parse reads, is like
//
//	image=2 partition=2; partition=0 :: P1@3 P5.3@7 :: 42
//
// which are the stages of what the user does, each when nothing is left to do of the one before; the faults with the
// writes at which they happen; and the seed of what happens when several things can, 0 for always the first.
type Plan struct {
	Stages [][]string
	Faults []Injection
	Seed   uint64
	// AnyCounts tells that the numbers of objects made and deleted need not be those of a run without faults.
	AnyCounts bool
}

// Injection is a fault at a write.
type Injection struct {
	Fault
	At int
}

func (p Plan) String() string {
	stages := make([]string, len(p.Stages))
	for i, edits := range p.Stages {
		stages[i] = strings.Join(edits, " ")
	}
	faults := make([]string, len(p.Faults))
	for i, f := range p.Faults {
		faults[i] = fmt.Sprintf("%s@%d", f.ID, f.At)
	}
	return fmt.Sprintf("%s :: %s :: %d", strings.Join(stages, "; "), strings.Join(faults, " "), p.Seed)
}

// Stages reads the stages of a plan.
func Stages(text string) [][]string {
	var stages [][]string
	for stage := range strings.SplitSeq(text, ";") {
		if edits := strings.Fields(stage); len(edits) > 0 {
			stages = append(stages, edits)
		}
	}
	return stages
}

// Parse reads a plan with faults of a list.
func Parse(text string, faults []Fault) (Plan, error) {
	parts := strings.Split(text, "::")
	if len(parts) != 3 {
		return Plan{}, fmt.Errorf("reading plan %q: want \"stages :: faults :: seed\"", text)
	}
	p := Plan{Stages: Stages(parts[0])}
	for word := range strings.FieldsSeq(parts[1]) {
		id, number, _ := strings.Cut(word, "@")
		at, err := strconv.Atoi(number)
		if err != nil {
			return Plan{}, fmt.Errorf("reading fault %q: want fault@write: %w", word, err)
		}
		known := false
		for _, f := range faults {
			if f.ID == id {
				p.Faults, known = append(p.Faults, Injection{f, at}), true
			}
		}
		if !known {
			return Plan{}, fmt.Errorf("reading fault %q: there is no fault of this name", word)
		}
	}
	seed, err := strconv.ParseUint(strings.TrimSpace(parts[2]), 10, 64)
	if err != nil {
		return Plan{}, fmt.Errorf("reading the seed: %w", err)
	}
	p.Seed = seed
	return p, nil
}
