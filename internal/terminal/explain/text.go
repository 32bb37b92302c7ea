package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/internal/terminal/review"
	"github.com/fairlead-io/fairlead/mutators/sidecarset"
)

// printPod writes a report for people.
func printPod(t *terminal.Text, r *PodReport) {
	where := "as it is in the cluster"
	if !r.Stored {
		where = "as it would be created"
	}
	t.Line("%s", t.In(terminal.Bold, fmt.Sprintf("Pod %s/%s, %s", r.Namespace, r.Name, where)))
	printAdmission(t, r)
	printSidecarSets(t, r)
	printGates(t, r.Gates)
	printLaunch(t, r.Launch)
	printBudgets(t, r.Budgets)
	for _, p := range r.Protection {
		t.Line("deletion protection: %s has the label with %s, which means: %s", p.Object, p.Mode, p.Means)
	}
	for _, note := range r.Notes {
		t.Line("%s %s", t.In(terminal.Dim, "note:"), note)
	}
}

func printAdmission(t *terminal.Text, r *PodReport) {
	switch {
	case r.Admission.Refused != "":
		t.Line("admission: %s: %s", t.In(terminal.Bad, "refuses such a Pod"), r.Admission.Refused)
	case !r.Admission.Called:
		t.Line("admission: %s: %s", t.In(terminal.Warn, "does not see such a Pod"), r.Admission.Why)
	default:
		t.Line("admission: mpod.kb.io sees such a Pod")
	}
}

func printSidecarSets(t *terminal.Text, r *PodReport) {
	if len(r.SidecarSets) == 0 {
		t.Line("sidecars: there is no SidecarSet")
		return
	}
	if r.Admission.Called {
		t.Line("sidecars, in the order of injection:")
	} else {
		t.Line("sidecars that it would have if admission saw it:")
	}
	for _, s := range r.SidecarSets {
		t.Line("  %s", sidecarSetLine(t, s))
		if s.Asked != "" && s.Outcome == string(sidecarset.Injected) {
			t.Line("      an older version, as its injectionStrategy.revision asks for %s", s.Asked)
		}
		if s.Revision != "" || s.Recorded != nil {
			t.Line("      %s", versionLine(s))
		}
		if words := s.State.words(); words != "" && s.State != UpToDate {
			t.Line("      %s", t.In(terminal.Warn, words))
		}
		if s.NewestUnusable != "" && s.Outcome != string(sidecarset.Unusable) {
			t.Line("      %s: %s", t.In(terminal.Bad, "its newest version cannot be used, and the last good one is in force"), s.NewestUnusable)
		}
	}
}

func sidecarSetLine(t *terminal.Text, s SidecarSetOutcome) string {
	switch {
	case s.Outcome == string(sidecarset.PatchesMetadata):
		return fmt.Sprintf("%d. %s: %s", s.Order, s.Name, t.In(terminal.Good, "patches labels and annotations"))
	case s.Order > 0:
		return fmt.Sprintf("%d. %s: %s", s.Order, s.Name, t.In(terminal.Good, "injects "+strings.Join(s.Containers, ", ")))
	default:
		return fmt.Sprintf("-  %s: %s: %s", s.Name, t.In(terminal.Dim, "not injected ("+s.Outcome+")"), s.Why)
	}
}

func versionLine(s SidecarSetOutcome) string {
	var parts []string
	if s.Revision != "" {
		parts = append(parts, "version "+s.Revision)
	}
	if s.Recorded != nil {
		had := s.Recorded.Revision
		if had == "" {
			had = "hash " + s.Recorded.Hash
		}
		parts = append(parts, fmt.Sprintf("the Pod has %s since %s", had, s.Recorded.Time))
	}
	return strings.Join(parts, "; ")
}

func printGates(t *terminal.Text, gates []Gate) {
	for _, g := range gates {
		status := g.Status
		if status == "" {
			status = "not set"
		}
		by := ""
		if g.SetBy != "" {
			by = " by " + g.SetBy
		}
		t.Line("readiness gate %s: %s%s; added by %s; %s", g.Type, status, by, g.AddedBy, g.Meaning)
	}
}

func printLaunch(t *terminal.Text, l *Launch) {
	if l == nil {
		return
	}
	t.Line("launch priority, by ConfigMap %s:", l.ConfigMap)
	ordered := slices.Clone(l.Containers)
	slices.SortStableFunc(ordered, func(a, b LaunchContainer) int { return int(max(-1, min(1, b.Priority-a.Priority))) })
	for _, c := range ordered {
		words := map[string]string{launchSettled: "is ready or done", launchMayStart: "may start", launchWaits: "waits for the key " + c.Key}[c.State]
		if len(c.WaitsFor) > 0 {
			words += ", which is added after " + strings.Join(c.WaitsFor, ", ")
		}
		t.Line("  %s (%d): %s", c.Name, c.Priority, words)
	}
	t.Line("  next: %s", l.Next)
}

func printBudgets(t *terminal.Text, budgets []Budget) {
	for _, b := range budgets {
		t.Line("budget %s, by %s: %s", b.Name, b.SelectedBy, b.Decides)
		t.Line("  %s; of %d replicas %d are available and %d must be, %d may become unavailable; for %s", b.Rule, b.Total, b.Current, b.Desired, b.Allowed,
			strings.Join(b.Protects, ", "))
		for _, note := range b.Notes {
			t.Line("  %s %s", t.In(terminal.Dim, "note:"), note)
		}
	}
}

func printDeletion(t *terminal.Text, r *DeletionReport) {
	name := r.Name
	if r.Namespace != "" {
		name = r.Namespace + "/" + name
	}
	t.Line("%s", t.In(terminal.Bold, fmt.Sprintf("deletion of %s %s", r.Kind, name)))
	for _, v := range r.Webhooks {
		switch v.Decision {
		case review.Denied:
			t.Line("  %s: %s", v.Webhook, t.In(terminal.Bad, "denies it: "+v.Message))
		case review.Failed:
			t.Line("  %s: cannot judge it: %s; its failure policy is %s", v.Webhook, v.Message, v.FailurePolicy)
		default:
			t.Line("  %s: allows it", v.Webhook)
		}
	}
	if len(r.Webhooks) == 0 {
		t.Line("  no webhook of Fairlead is asked")
	}
	for _, other := range r.Others {
		t.Line("  %s is asked too, and may deny it", other)
	}
	for _, finalizer := range r.Finalizers {
		t.Line("  finalizer %s: the object stays until its owner takes that away", finalizer)
	}
	if r.Deleting {
		t.Line("  it is being deleted already")
	}
	for _, note := range r.Notes {
		t.Line("  %s %s", t.In(terminal.Dim, "note:"), note)
	}
	if r.Allowed {
		t.Line("  %s", t.In(terminal.Good, "=> Fairlead lets it go"))
	} else {
		t.Line("  %s", t.In(terminal.Bad, "=> refused"))
	}
}

func printSidecarSet(t *terminal.Text, r *SidecarSetReport) {
	t.Line("%s", t.In(terminal.Bold, "SidecarSet "+r.Name))
	if r.NewestUnusable != "" {
		t.Line("  %s: %s", t.In(terminal.Bad, "its newest version cannot be used"), r.NewestUnusable)
	}
	t.Line("  Pods: %d", r.Pods)
	for _, state := range []State{UpToDate, Outdated, NotInPod, KeptOut, LeftOver} {
		if n := r.Counts[state]; n > 0 {
			t.Line("  %s: %d", state, n)
		}
	}
	for _, pod := range r.List {
		line := fmt.Sprintf("  %s/%s: %s", pod.Namespace, pod.Name, pod.State)
		if pod.Why != "" {
			line += ": " + pod.Why
		}
		t.Line("%s", line)
	}
}
