package podunavailablebudget

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxEntries bounds the Pods that a status may hold, so that it stays far below what the API server stores (protection.md §3).
const maxEntries = 2000

// Claim asks to make one available Pod unavailable.
type Claim struct {
	Pod       string
	Labels    map[string]string
	Operation Operation
	// DryRun is judged like any other, and takes nothing.
	DryRun bool
}

// Outcome is what becomes of a claim.
type Outcome int

// The outcomes. Free needs no unit; Taken is a unit written into the status, or that would be but for the dry run.
const (
	Free Outcome = iota
	Taken
	Denied
)

// Reason says why a claim is denied; there are few, so that it can label a metric.
type Reason string

// The reasons.
const (
	Exhausted Reason = "exhausted"
	Crowded   Reason = "crowded"
	Conflict  Reason = "conflict"
)

// Verdict is the answer to a claim.
type Verdict struct {
	Outcome Outcome
	// Reason and Message are those of a denial. The message names the budget's numbers, nobody and no Pod.
	Reason  Reason
	Message string
}

// Allowed tells whether the operation may go on.
func (v Verdict) Allowed() bool { return v.Outcome != Denied }

func denied(reason Reason, format string, args ...any) Verdict {
	return Verdict{Outcome: Denied, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// judge says what a claim needs, in the order of protection.md §3 from step 5 on. The Pod is available, and named by the
// budget that it is under.
func judge(b *Budget, c Claim, resizeApart bool) Verdict {
	s := &b.Status
	_, disrupted := s.DisruptedPods[c.Pod]
	_, unavailable := s.UnavailablePods[c.Pod]
	switch {
	case spares(b, c, resizeApart), s.DesiredAvailable == 0, disrupted, unavailable:
		return Verdict{}
	case s.UnavailableAllowed <= 0:
		return denied(Exhausted, "the budget is exhausted: %d Pods are available and %d must be, of %d", s.CurrentAvailable, s.DesiredAvailable, s.TotalReplicas)
	case len(s.DisruptedPods)+len(s.UnavailablePods) > maxEntries:
		return denied(Crowded, "more than %d Pods are on their way out already, try again when some are gone", maxEntries)
	default:
		return Verdict{Outcome: Taken}
	}
}

// spares tells whether the spec of a budget leaves the Pod, or what is done to it, alone.
func spares(b *Budget, c Claim, resizeApart bool) bool {
	return Ignores(b, c.Labels) || !protects(b, c.Operation, resizeApart)
}

// settle answers claims one after the other, and takes their units from the status. changed tells whether there is something
// to write.
func settle(b *Budget, claims []Claim, now time.Time, resizeApart bool) (verdicts []Verdict, changed bool) {
	verdicts = make([]Verdict, len(claims))
	for i, c := range claims {
		verdicts[i] = judge(b, c, resizeApart)
		if verdicts[i].Outcome == Taken && !c.DryRun {
			take(b, c, now)
			changed = true
		}
	}
	return verdicts, changed
}

// take takes a unit. A Pod that is updated or resized stays, so that it is not waited for as one that goes.
func take(b *Budget, c Claim, now time.Time) {
	s := &b.Status
	s.UnavailableAllowed--
	pods := &s.DisruptedPods
	if c.Operation == Update || c.Operation == Resize {
		pods = &s.UnavailablePods
	}
	if *pods == nil {
		*pods = make(map[string]metav1.Time)
	}
	(*pods)[c.Pod] = metav1.NewTime(now)
}
