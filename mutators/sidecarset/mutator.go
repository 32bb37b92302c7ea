package sidecarset

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fairlead-io/fairlead/mutators/podview"
	"github.com/fairlead-io/fairlead/webhook/admission"
)

// Options are what may differ between installations. The zero value is the default.
type Options struct {
	// SortByName is the feature gate EnableSortSidecarContainerByName: injected containers are sorted by name over all
	// SidecarSets.
	SortByName bool
	// Revisions are the versions that SidecarSets had; nil if there are none.
	Revisions *Revisions
	// Observer counts; nil if nobody does.
	Observer Observer
}

// Observer is told what becomes of SidecarSets that match a Pod. It is safe for concurrent use and returns at once.
type Observer interface {
	// Injected says that so many SidecarSets brought so many containers into a Pod.
	Injected(sidecarSets, containers int)
	// Skipped says that a SidecarSet that matches a Pod was left out.
	Skipped(reason Reason)
}

// Reason is why a SidecarSet that matches a Pod is left out, of a fixed and small number, for a metric's label.
type Reason string

// The reasons.
const (
	// TakenBySidecarSet: another SidecarSet before it brings a container of the same name.
	TakenBySidecarSet Reason = "name_taken_by_sidecarset"
	// TakenByPod: the Pod has a container of the same name in its other list.
	TakenByPod Reason = "name_taken_by_pod"
)

type silent struct{}

func (silent) Injected(int, int) {}
func (silent) Skipped(Reason)    {}

// Mutator is the step of Pod admission that injects sidecars.
type Mutator struct {
	index      *Index
	namespaces Namespaces
	revisions  *Revisions
	clock      func() time.Time
	sortByName bool
	observer   Observer
}

// NewMutator makes the step. clock gives the times that the Pods' annotations record.
func NewMutator(index *Index, namespaces Namespaces, clock func() time.Time, opts Options) *Mutator {
	m := &Mutator{
		index: index, namespaces: namespaces, revisions: opts.Revisions, clock: clock, sortByName: opts.SortByName, observer: opts.Observer,
	}
	if m.revisions == nil {
		m.revisions = &Revisions{}
	}
	if m.observer == nil {
		m.observer = silent{}
	}
	return m
}

// Name is the mutator's name in errors and metrics.
func (*Mutator) Name() string { return "sidecarset" }

// MutatePod injects the SidecarSets that select the Pod. It refuses a Pod whose annotations from an earlier injection
// cannot be read (400), and one whose SidecarSet asks for an older version that cannot be restored, or computes resources
// that cannot be (422); a namespace or revision that cannot be looked up is a fault.
func (m *Mutator) MutatePod(ctx context.Context, _ *admission.Request, pod *podview.Pod) ([]string, error) {
	if pod.Terminating || pod.Phase == "Succeeded" || pod.Phase == "Failed" {
		return nil, nil
	}
	sets, bases, err := m.match(ctx, pod)
	if err != nil || len(sets) == 0 {
		return nil, err
	}
	in, err := m.newInjection(ctx, pod, sets, bases)
	if err != nil {
		return nil, err
	}
	if err := in.run(); err != nil {
		return nil, decodeError(err)
	}
	return in.warnings, nil
}

// decodeError makes what cannot be read of a Pod the Pod's fault.
func decodeError(err error) error {
	var refusal *admission.Refusal
	if errors.As(err, &refusal) {
		return err
	}
	return fmt.Errorf("reading the Pod: %w", admission.Refuse(400, "%v", err))
}
