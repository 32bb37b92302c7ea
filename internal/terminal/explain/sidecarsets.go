package explain

import (
	"context"
	"errors"

	"github.com/fairlead-io/fairlead/mutators/podview"
	"github.com/fairlead-io/fairlead/mutators/sidecarset"
)

// sidecarSets says what becomes of every SidecarSet. stored says that the Pod is in the cluster.
func sidecarSets(ctx context.Context, mutator *sidecarset.Mutator, pod *podview.Pod, stored bool) ([]SidecarSetOutcome, error) {
	explanations, err := mutator.Explain(ctx, pod)
	if err != nil {
		return nil, err
	}
	found := make([]SidecarSetOutcome, 0, len(explanations))
	for i := range explanations {
		e := &explanations[i]
		o := SidecarSetOutcome{
			Name: e.SidecarSet, Outcome: string(e.Outcome), Why: e.Why, Order: e.Order, Containers: e.Containers,
			Hash: e.Version.Hash, Revision: e.Version.Revision, Asked: e.Version.Asked, NewestUnusable: e.Broken,
		}
		if r := e.Recorded; r != nil {
			o.Recorded = &Recorded{Hash: r.Hash, Revision: r.Revision, Time: r.Time}
		}
		if stored {
			o.State = stateOf(e)
		}
		found = append(found, o)
	}
	return found, nil
}

// stateOf compares what a stored Pod has with what it would get.
func stateOf(e *sidecarset.Explanation) State {
	switch {
	case e.Outcome == sidecarset.PodIsOver:
		return NotSelected
	case e.Outcome == sidecarset.PatchesMetadata: // leaves no record, and is not brought to running Pods
		return UpToDate
	case e.Outcome == sidecarset.Injected && e.Recorded == nil:
		return NotInPod
	case e.Outcome == sidecarset.Injected && e.UpToDate():
		return UpToDate
	case e.Outcome == sidecarset.Injected:
		return Outdated
	case e.Recorded != nil:
		return LeftOver
	case e.Selected():
		return KeptOut
	default:
		return NotSelected
	}
}

// words are what a state means for a Pod, and what to do about it.
func (s State) words() string {
	switch s {
	case UpToDate:
		return "the Pod has this version"
	case Outdated:
		return "the Pod has another version; a Pod that is created anew gets this one"
	case NotInPod:
		return "the Pod was created before the two matched; sidecars come only into Pods that are created, so create it anew"
	case LeftOver:
		return "the Pod has it from its creation, and would not get it now"
	default:
		return ""
	}
}

// errNoPods is why there is nothing to say.
var errNoPods = errors.New("no Pod is in the files")
