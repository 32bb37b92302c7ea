package sidecarset

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/fairlead-io/fairlead/mutators/podview"
	"github.com/fairlead-io/fairlead/mutators/resourceexpr"
	"github.com/fairlead-io/fairlead/webhook/admission"
	"github.com/fairlead-io/fairlead/webhook/jsonwalk"
)

// amounts are quantities of cpu and memory; what is not set is not in it.
type amounts map[resourceexpr.Resource]resource.Quantity

// target is a container of the Pod from whose resources those of sidecars are computed.
type target struct {
	name             string
	limits, requests amounts
}

// allTargets are the containers that count for a resourcesPolicy whose expression matches their names: those that run
// as long as the Pod does, native sidecars first, without injected ones. A container that has the name of a sidecar, as
// its SidecarSet calls it, is none either, also when that SidecarSet is left out of this Pod (sidecarset.md §4.9).
func (in *injection) allTargets() ([]target, error) {
	if in.targets != nil {
		return in.targets, nil
	}
	in.targets = []target{}
	for _, c := range in.pod.InitContainers {
		if c.RestartPolicy != "Always" {
			continue
		}
		if err := in.addTarget(c); err != nil {
			return nil, err
		}
	}
	for _, c := range in.pod.Containers {
		if err := in.addTarget(c); err != nil {
			return nil, err
		}
	}
	return in.targets, nil
}

func (in *injection) addTarget(c *podview.Container) error {
	if injected, err := in.isSidecar(c); err != nil || injected || in.calledLikeSidecar(c.Name) {
		return err
	}
	t := target{name: c.Name}
	err := jsonwalk.Walk(c.JSON(), func(w *jsonwalk.Walker) error {
		return w.Object(func(member string) error {
			if member != "resources" {
				return nil
			}
			return t.read(w)
		})
	})
	if err != nil {
		return admission.Refuse(400, "reading resources of container %s of the Pod: %v; correct them", c.Name, err)
	}
	in.targets = append(in.targets, t)
	return nil
}

func (in *injection) calledLikeSidecar(name string) bool {
	return slices.ContainsFunc(in.matched, func(set *Compiled) bool {
		return slices.ContainsFunc(set.all, func(s *sidecar) bool { return s.name == name })
	})
}

func (t *target) read(w *jsonwalk.Walker) error {
	return w.Object(func(member string) (err error) {
		switch member {
		case "limits":
			t.limits, err = readAmounts(w)
		case "requests":
			t.requests, err = readAmounts(w)
		}
		return err
	})
}

func readAmounts(w *jsonwalk.Walker) (amounts, error) {
	list := amounts{}
	err := w.Object(func(name string) error {
		r := resourceexpr.Resource(name)
		if r != resourceexpr.CPU && r != resourceexpr.Memory {
			return nil
		}
		raw, err := w.Value()
		if err != nil || raw == nil || raw.Kind() == jsontext.KindNull {
			return err
		}
		var q resource.Quantity
		if err := q.UnmarshalJSON(raw); err != nil {
			return fmt.Errorf("%s %s: %w", name, raw, err)
		}
		list[r] = q
		return nil
	})
	return list, err
}

func limitsOf(t target) amounts   { return t.limits }
func requestsOf(t target) amounts { return t.requests }

// aggregate is the sum or the largest of a resource over the targets; all is false if one of them has none of it.
func (p *resourcesPolicy) aggregate(targets []target, list func(target) amounts, r resourceexpr.Resource) (total resource.Quantity, all bool) {
	all = true
	for _, t := range targets {
		q, has := list(t)[r]
		all = all && has
		switch {
		case p.sum:
			total.Add(q)
		case q.Cmp(total) > 0:
			total = q.DeepCopy()
		}
	}
	return total, all
}
