package sidecarset

import (
	"slices"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/mutators/podview"
)

// injectContainers builds all sidecars, from the Pod as it came, before it puts the first of them into the Pod.
func (in *injection) injectContainers() error {
	var inits, containers []placement
	for _, set := range in.sets {
		more, err := in.build(set, set.initContainers)
		if err != nil {
			return err
		}
		inits = append(inits, more...)
		if more, err = in.build(set, set.containers); err != nil {
			return err
		}
		containers = append(containers, more...)
	}
	slices.SortStableFunc(inits, comparePlacements)
	if in.m.sortByName {
		slices.SortStableFunc(containers, comparePlacements)
	}
	if err := in.place(podview.InitContainers, inits); err != nil {
		return err
	}
	return in.place(podview.Containers, containers)
}

// placement is a sidecar's container on its way into the Pod.
type placement struct {
	container *podview.Container
	before    bool
	// renew says that the Pod has this very version of it, which others may have added to; theirs are members that are
	// not the SidecarSet's to say.
	renew  bool
	theirs []string
}

func comparePlacements(a, b placement) int { return byName(a.container, b.container) }

func (in *injection) build(set *Compiled, sidecars []*sidecar) (placements []placement, err error) {
	recorded := in.hashes.has(set)
	for _, s := range sidecars {
		instances, theirs := s.instances, []string(nil)
		if s.hot {
			kept, err := in.settlePair(s, recorded)
			if err != nil {
				return nil, err
			}
			if kept {
				theirs = []string{"image"}
			} else if instances, err = s.assign(in.working.index(s)); err != nil {
				return nil, err
			}
		}
		for i := range instances {
			c, err := in.buildContainer(s, &instances[i])
			if err != nil {
				return nil, err
			}
			placements = append(placements, placement{container: c, before: s.before, renew: recorded, theirs: theirs})
		}
	}
	return placements, nil
}

// buildContainer adds to a fragment what depends on the Pod, in the order of sidecarset.md §4.6.
func (in *injection) buildContainer(s *sidecar, from *instance) (*podview.Container, error) {
	c := from.template.Clone()
	if len(s.transfers) == 0 && !s.shareMounts && !s.shareDevices && len(from.versionEnv) == 0 {
		return c, nil
	}
	seen := slices.Clone(s.envNames)
	if err := in.transfer(s, c, &seen); err != nil {
		return nil, err
	}
	if err := in.share(s, c, &seen); err != nil {
		return nil, err
	}
	addEnv(c, &seen, from.versionEnv...)
	return c, nil
}

// place puts sidecars where the Pod has a container of their name, and the others before or after its own containers.
func (in *injection) place(list podview.List, placements []placement) error {
	var before, after []*podview.Container
	for _, p := range placements {
		i := indexOf(in.pod.ContainerList(list), p.container.Name)
		switch {
		case i >= 0:
			if err := in.takePlace(list, i, p); err != nil {
				return err
			}
		case p.before:
			before = append(before, p.container)
		default:
			after = append(after, p.container)
		}
	}
	in.pod.Insert(list, len(in.pod.ContainerList(list)), after...)
	in.pod.Insert(list, 0, before...)
	return nil
}

// takePlace replaces a container of the Pod that has a sidecar's name. One that is this sidecar already is only renewed.
func (in *injection) takePlace(list podview.List, i int, p placement) error {
	present := in.pod.ContainerList(list)[i]
	mark, err := in.variable(present, v1beta1.SidecarInjectedEnv)
	if err != nil {
		return err
	}
	if !p.renew || mark.raw == nil {
		in.pod.Replace(list, i, p.container)
		return nil
	}
	theirs := p.theirs
	if policy, err := stringMember(present.JSON(), "imagePullPolicy"); err == nil && policy == "Always" {
		theirs = append(theirs, "imagePullPolicy") // the admission plugin AlwaysPullImages refuses every other policy
	}
	raw := present.JSON()
	renewed, err := renew(raw, p.container.JSON(), theirs...)
	if err != nil || &renewed[0] == &raw[0] {
		return err
	}
	c, err := podview.NewContainer(renewed)
	if err != nil {
		return err
	}
	in.pod.Replace(list, i, c)
	return nil
}
