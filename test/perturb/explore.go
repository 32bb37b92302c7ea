package perturb

import (
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/test/perturb/apiserver"
)

// Result is what came of a run.
type Result struct {
	Plan Plan
	// Err is the first thing that was wrong, nil if nothing was.
	Err error
	// Trace is what happened, a line a step.
	Trace []string
	// Calls are the writes.
	Calls          []*Call
	Digest, Counts string
	// CountsByOne are of the kinds of Workload.CountedByOne; "" if more than one process has led.
	CountsByOne string
	Server      *apiserver.Server
}

// Do runs a plan on what a server has, or, if that is nil, from nothing. It must be called in a bubble of
// testing/synctest.
func (w *Workload) Do(plan Plan, from *apiserver.Server) Result {
	r := newRun(w, plan, from)
	changes := len(r.server.Log())
	r.do()
	result := Result{
		Plan: plan, Err: r.failure, Trace: r.trace, Calls: r.calls, Digest: w.Digest(r.server), Counts: r.counts(changes, w.Counted), Server: r.server,
	}
	if r.processes == 1 {
		result.CountsByOne = r.counts(changes, w.CountedByOne)
	}
	return result
}

// Scenario is a short story of a user and a workload.
type Scenario struct {
	Name string
	// Given leads to where it begins, and Stages are what the user does then.
	Given, Stages string
	// AnyEnd tells that the end depends on which Pods there are, so that faults that replace Pods change it.
	AnyEnd bool
}

// Prepared is a scenario whose unperturbed run is known.
type Prepared struct {
	Scenario
	workload *Workload
	from     *apiserver.Server
	Calm     Result
}

// Prepare runs a scenario without faults.
func (w *Workload) Prepare(s Scenario) (*Prepared, error) {
	given := w.Do(Plan{Stages: Stages(s.Given)}, nil)
	if given.Err != nil {
		return nil, given.Explain("the way to where the scenario begins")
	}
	p := &Prepared{Scenario: s, workload: w, from: given.Server}
	p.Calm = w.Do(Plan{Stages: Stages(s.Stages)}, p.from)
	if p.Calm.Err != nil {
		return nil, p.Calm.Explain("the run without faults")
	}
	return p, nil
}

// With is the scenario for another controller, which has to come to the same end.
func (p *Prepared) With(w *Workload) *Prepared {
	other := *p
	other.workload = w
	return &other
}

// Points are the plans with one fault at one write, of those faults that make sense there.
func (p *Prepared) Points(faults []Fault) []Plan {
	var points []Plan
	for i, call := range p.Calm.Calls {
		for _, f := range faults {
			if f.Applies(call) {
				points = append(points, Plan{Stages: p.Calm.Plan.Stages, Faults: []Injection{{f, i + 1}}})
			}
		}
	}
	return points
}

// Do runs a plan of the scenario, and compares the end with that of the run without faults (I11).
func (p *Prepared) Do(plan Plan) Result {
	result := p.workload.Do(plan, p.from)
	otherEnd, otherCounts := false, plan.AnyCounts
	for _, f := range plan.Faults {
		otherEnd, otherCounts = otherEnd || f.OtherEnd || f.OtherCounts && p.AnyEnd, otherCounts || f.OtherCounts || f.OtherEnd
	}
	switch {
	case result.Err != nil:
	case !otherEnd && result.Digest != p.Calm.Digest:
		result.Err = fmt.Errorf("I11: the end is\n%s\nwithout faults it is\n%s", result.Digest, p.Calm.Digest)
	case !otherCounts && result.Counts != p.Calm.Counts:
		result.Err = fmt.Errorf("I11: made and deleted are %s, without faults %s", result.Counts, p.Calm.Counts)
	case !otherCounts && result.CountsByOne != "" && result.CountsByOne != p.Calm.CountsByOne:
		result.Err = fmt.Errorf("I11: made and deleted are %s, without faults %s", result.CountsByOne, p.Calm.CountsByOne)
	}
	return result
}

// traceLength is how much of a trace is printed: its end, where things went wrong.
const traceLength = 60

// Explain is the error of a run that failed, with what repeats it.
func (r Result) Explain(what string) error {
	shown := r.Trace[max(len(r.Trace)-traceLength, 0):]
	for i, line := range shown {
		shown[i] = cut(line)
	}
	return fmt.Errorf("%s: %w\nrepeat it with the plan %q\n%s", what, r.Err, r.Plan, strings.Join(shown, "\n"))
}

func cut(line string) string {
	const width = 300 // patches of Pods can be long
	if len(line) > width {
		return line[:width] + "…"
	}
	return line
}
