package sidecarset

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/mutators/podview"
)

// Outcome is what becomes of one SidecarSet at one Pod's admission: injected, or the first reason why it is not, in the
// order in which they are listed here.
type Outcome string

// The outcomes.
const (
	// Injected: its containers come into the Pod.
	Injected Outcome = "Injected"
	// PatchesMetadata: it has no containers, and only patches labels and annotations.
	PatchesMetadata Outcome = "PatchesMetadata"
	// Unusable: it does not compile, and no earlier version of it is in force.
	Unusable Outcome = "Unusable"
	// PodIsOver: the Pod is being deleted or has ended, so that nothing is injected.
	PodIsOver Outcome = "PodIsOver"
	// OtherNamespace: its namespaceSelector does not match the Pod's namespace.
	OtherNamespace Outcome = "OtherNamespace"
	// NoSelector: it has no selector, which selects nothing.
	NoSelector Outcome = "NoSelector"
	// OtherLabels: its selector does not match the Pod's labels.
	OtherLabels Outcome = "OtherLabels"
	// InjectionPaused: injectionStrategy.paused is true.
	InjectionPaused Outcome = "InjectionPaused"
	// CanaryInstead: a canary stands in for it.
	CanaryInstead Outcome = "CanaryInstead"
	// NoVersion: it asks for an older version that cannot be injected, for which the Pod is refused.
	NoVersion Outcome = "NoVersion"
	// NameTaken: it brings a container whose name another SidecarSet or the Pod has.
	NameTaken Outcome = "NameTaken"
)

// Explanation is what becomes of one SidecarSet, and why.
type Explanation struct {
	SidecarSet string
	Outcome    Outcome
	// Why says it in words, for this Pod; "" if there is nothing to add.
	Why string
	// Order is the place among those that are injected, from 1; else 0.
	Order int
	// Version is what the Pod gets, or would get if nothing else were in the way.
	Version Version
	// Recorded is what the Pod says it has of it; nil if nothing.
	Recorded *Version
	// Containers are the names that it brings into the Pod.
	Containers []string
	// Broken is why the newest version is not in force; "" if it is.
	Broken string
}

// Selected says whether the SidecarSet is one of the Pod's, whatever keeps it from being injected.
func (e *Explanation) Selected() bool {
	switch e.Outcome {
	case Unusable, OtherNamespace, NoSelector, OtherLabels:
		return false
	default:
		return true
	}
}

// UpToDate says whether the Pod records the version that it would get now. The hash does not speak for what the
// controller could not upgrade in a running Pod, so the revision counts too where both are known.
func (e *Explanation) UpToDate() bool {
	r := e.Recorded
	return r != nil && r.Hash == e.Version.Hash &&
		(r.Revision == e.Version.Revision || r.Revision == "" || e.Version.Revision == "")
}

// Version is a version of a SidecarSet.
type Version struct {
	// Hash is that of what running Pods can be upgraded to.
	Hash string
	// Revision names a ControllerRevision, "" if that is not known.
	Revision string
	// Asked is the injectionStrategy.revision that led to an older version, "" for the current one.
	Asked string
	// Time is when a recorded version came into the Pod.
	Time string
}

// Explain says of every SidecarSet what becomes of it when the Pod is admitted, those that are injected first and in their
// order, the others by name. It decides with what MutatePod decides with, and changes nothing. The error says that a
// namespace or a revision could not be looked up, or that what the Pod records cannot be read.
func (m *Mutator) Explain(ctx context.Context, pod *podview.Pod) ([]Explanation, error) {
	records, err := readRecords(pod, v1beta1.SidecarSetHashAnnotation)
	if err != nil {
		return nil, err
	}
	sets, failures := m.index.all()
	matched, bases, err := m.match(ctx, pod)
	if err != nil {
		return nil, err
	}
	found := make(map[string]Explanation, len(sets)+len(failures))
	for _, set := range sets {
		e := Explanation{SidecarSet: set.name, Version: set.version()}
		if e.Outcome, e.Why, err = m.unselected(ctx, pod, set, bases); err != nil {
			return nil, err
		}
		found[set.name] = e
	}
	if err := m.explainMatched(ctx, pod, matched, bases, found); err != nil {
		return nil, err
	}
	for name, failure := range failures {
		e, inForce := found[name]
		if !inForce {
			e = Explanation{SidecarSet: name, Outcome: Unusable, Why: failure.Error()}
		}
		e.Broken = failure.Error()
		found[name] = e
	}
	for name, e := range found {
		if f, ok := records.of(name); ok {
			e.Recorded = &Version{Hash: f.Hash, Revision: f.ControllerRevision, Time: f.UpdateTimestamp}
			found[name] = e
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b Explanation) int {
		return cmp.Or(cmp.Compare(position(a), position(b)), cmp.Compare(a.SidecarSet, b.SidecarSet))
	}), nil
}

// position sorts those without an order last.
func position(e Explanation) int {
	if e.Order == 0 {
		return 1 << 30
	}
	return e.Order
}

// explainMatched decides about those that the Pod's admission would begin with.
func (m *Mutator) explainMatched(ctx context.Context, pod *podview.Pod, matched []*Compiled, bases []string, found map[string]Explanation) error {
	if over(pod) {
		return nil
	}
	quiet := *m
	quiet.observer = silent{}
	in, err := quiet.newInjection(ctx, pod, nil, bases)
	if err != nil {
		return err
	}
	order := 0
	for _, set := range matched {
		e := found[set.name]
		chosen, err := in.choose(ctx, set)
		switch refusal := refusalOf(err); {
		case refusal != "":
			e.Outcome, e.Why, e.Version = NoVersion, refusal, Version{Asked: set.older.String()}
		case err != nil:
			return err
		default:
			e.Version = chosen.version()
			if chosen != set {
				e.Version.Asked = set.older.String()
			}
			if _, why := in.taken(chosen); why != "" {
				e.Outcome, e.Why = NameTaken, why
				break
			}
			order++
			e.Outcome, e.Why, e.Order, e.Containers = Injected, "", order, chosen.brings()
			if len(chosen.all) == 0 {
				e.Outcome = PatchesMetadata
			}
		}
		found[set.name] = e
	}
	return nil
}

// unselected is the first reason for which admission would not even begin with a SidecarSet, "" if there is none.
func (m *Mutator) unselected(ctx context.Context, pod *podview.Pod, set *Compiled, bases []string) (Outcome, string, error) {
	if over(pod) {
		return PodIsOver, "the Pod is being deleted or has ended", nil
	}
	if why, err := m.otherNamespace(ctx, pod, set); err != nil || why != "" {
		return OtherNamespace, why, err
	}
	switch requirements, selectable := set.selector.Requirements(); {
	case !selectable:
		return NoSelector, "spec.selector is missing or empty, which selects no Pod", nil
	case !set.selector.Matches(labels.Set(pod.Labels)):
		return OtherLabels, "the Pod " + unmet(requirements, pod.Labels), nil
	case set.paused:
		return InjectionPaused, "spec.injectionStrategy.paused is true", nil
	case slices.Contains(bases, set.name):
		return CanaryInstead, "a canary that stands in for it matches the Pod", nil
	}
	return "", "", nil
}

// otherNamespace is why a SidecarSet does not select Pods of the Pod's namespace, "" if it does.
func (m *Mutator) otherNamespace(ctx context.Context, pod *podview.Pod, set *Compiled) (string, error) {
	if set.namespaceSelector == nil {
		return "", nil
	}
	name := namespaceOf(pod)
	found, exists, err := m.namespaces.Labels(ctx, name)
	switch {
	case err != nil:
		return "", fmt.Errorf("looking up namespace %q: %w", name, err)
	case !exists:
		return "there is no namespace " + name, nil
	case set.namespaceSelector.Matches(labels.Set(found)):
		return "", nil
	}
	requirements, _ := set.namespaceSelector.Requirements()
	return fmt.Sprintf("namespace %s %s", name, unmet(requirements, found)), nil
}
