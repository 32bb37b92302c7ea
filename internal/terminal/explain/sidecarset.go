package explain

import (
	"context"
	"encoding/json"

	"github.com/fairlead-io/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/mutators/podview"
	"github.com/fairlead-io/fairlead/mutators/sidecarset"
)

// SidecarSet says which Pods of the cluster a SidecarSet selects, and how they are; all says to list those that are up to
// date too.
func (e *Explainer) SidecarSet(ctx context.Context, name string, all bool) (*SidecarSetReport, error) {
	index := e.Reviewer.Judge.SidecarSets
	failure := index.Failures()[name]
	namespaces, inForce := index.Pinned(name)
	if !inForce && failure == nil {
		return nil, terminal.Usagef("reading SidecarSet %s: there is none", name)
	}
	report := &SidecarSetReport{Name: name, Counts: map[State]int{}}
	if failure != nil {
		report.NewestUnusable = failure.Error()
	}
	if !inForce {
		return report, nil
	}
	if namespaces == nil {
		namespaces = []string{""} // all
	}
	for _, namespace := range namespaces {
		err := e.Cluster.Each(ctx, podResource, namespace, nil, func(raw json.RawMessage) error { return e.count(ctx, raw, all, report) })
		if err != nil {
			return nil, terminal.Unreachable(err)
		}
	}
	return report, nil
}

func (e *Explainer) count(ctx context.Context, raw json.RawMessage, all bool, report *SidecarSetReport) error {
	pod, err := podview.Parse([]byte(raw), "")
	if err != nil {
		return err
	}
	called, err := e.admission(ctx, pod)
	if err != nil {
		return err
	}
	explanations, err := e.Reviewer.Judge.Sidecars.Explain(ctx, pod)
	if err != nil {
		return err
	}
	for i := range explanations {
		found := &explanations[i]
		if found.SidecarSet != report.Name || found.Outcome == sidecarset.PodIsOver {
			continue
		}
		state, why := stateOf(found), found.Why
		if state == NotSelected || !called.Called && found.Recorded == nil {
			continue // in a namespace that admission leaves out, nothing is missing
		}
		report.Hash, report.Revision = found.Version.Hash, found.Version.Revision
		report.Pods++
		report.Counts[state]++
		if why == "" && state != UpToDate {
			why = state.words()
		}
		if state != UpToDate || all {
			report.List = append(report.List, PodState{Namespace: pod.Namespace, Name: pod.Name, State: state, Why: why})
		}
	}
	return nil
}
