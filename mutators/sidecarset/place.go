package sidecarset

import (
	"errors"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

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
	// kept says that the Pod came with this very version of the container, by its annotations and its mark.
	kept bool
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
			p, err := in.prepare(set, s, &instances[i], recorded)
			if err != nil {
				return nil, err
			}
			placements = append(placements, p)
		}
	}
	return placements, nil
}

// prepare makes one container of a sidecar. Resources are computed at creation only: one that stays as it is keeps its.
func (in *injection) prepare(set *Compiled, s *sidecar, from *instance, recorded bool) (placement, error) {
	c, err := in.buildContainer(s, from)
	if err != nil {
		return placement{}, err
	}
	kept, err := in.injectedBefore(s.list, c.Name) // without the mark it is the Pod's own, and is replaced
	if err != nil {
		return placement{}, err
	}
	kept = kept && recorded
	if s.resources != nil && !kept {
		if c, err = in.apportion(set, s, c); err != nil {
			return placement{}, err
		}
	}
	return placement{container: c, before: s.before, kept: kept}, nil
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
	if !p.kept {
		in.pod.Replace(list, i, p.container)
		return nil
	}
	return addMissing(in.pod.ContainerList(list)[i], p.container)
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
