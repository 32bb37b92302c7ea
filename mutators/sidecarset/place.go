package sidecarset

import (
	"errors"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

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
	// recorded says that, by its annotations, the Pod has this very version of the container.
	recorded bool
}

func comparePlacements(a, b placement) int { return byName(a.container, b.container) }

func (in *injection) build(set *Compiled, sidecars []*sidecar) (placements []placement, err error) {
	for _, s := range sidecars {
		recorded := in.hashes.has(set, s)
		instances := s.instances
		if s.hot {
			if err = in.settlePair(s, recorded); err != nil {
				return nil, err
			}
			if instances, err = s.assign(in.working.index(s)); err != nil {
				return nil, err
			}
		}
		for i := range instances {
			c, err := in.buildContainer(s, &instances[i])
			if err != nil {
				return nil, err
			}
			placements = append(placements, placement{container: c, before: s.before, recorded: recorded})
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

// takePlace replaces a container of the Pod that has a sidecar's name. One that is this very sidecar stays, whatever
// others did to it (the API server adds a token's mount, other webhooks use another registry or pull policy, and they may
// not get to do so again), and gets what it lacks by now, such as a variable that its source container got since.
func (in *injection) takePlace(list podview.List, i int, p placement) error {
	present := in.pod.ContainerList(list)[i]
	mark, err := in.variable(present, v1beta1.SidecarInjectedEnv)
	if err != nil {
		return err
	}
	if !p.recorded || mark.raw == nil {
		in.pod.Replace(list, i, p.container)
		return nil
	}
	return addMissing(present, p.container)
}

// addMissing appends the entries of a container's lists that another has under another key, or not at all.
func addMissing(to, from *podview.Container) error {
	return errors.Join(
		addMissingEntries(to, from, podview.Env, "name"),
		addMissingEntries(to, from, podview.VolumeMounts, "mountPath"),
		addMissingEntries(to, from, podview.VolumeDevices, "devicePath"),
	)
}

func addMissingEntries(to, from *podview.Container, field podview.Field, keyMember string) error {
	seen := make(map[string]bool)
	err := to.Entries(field, func(raw jsontext.Value) error {
		key, err := stringMember(raw, keyMember)
		seen[key] = true
		return err
	})
	if err != nil {
		return err
	}
	var missing []jsontext.Value
	err = from.Entries(field, func(raw jsontext.Value) error {
		key, unreadable := stringMember(raw, keyMember)
		if !seen[key] {
			missing = append(missing, raw)
		}
		return unreadable
	})
	to.Append(field, missing...)
	return err
}
