package sidecarset

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/mutators/podview"
)

// injection is the work on one Pod.
type injection struct {
	m        *Mutator
	pod      *podview.Pod
	sets     []*Compiled // without those that lost a name
	bases    []string
	warnings []string

	claims map[string]*Compiled                             // who brings a container of the name
	env    map[*podview.Container]map[string]jsontext.Value // nil until a variable is looked for

	// What resources policies compute from: targets is nil until one asks, and matched are all SidecarSets of the Pod, also
	// those left out.
	targets []target
	matched []*Compiled

	// What the Pod records of an earlier injection, and then of this one. working names the working container of each
	// hot-upgrade sidecar.
	hashes, hashesWithoutImage *records
	working                    *workingContainers
}

func (m *Mutator) newInjection(ctx context.Context, pod *podview.Pod, sets []*Compiled, bases []string) (*injection, error) {
	in := &injection{
		m: m, pod: pod, bases: bases, matched: sets, claims: map[string]*Compiled{},
	}
	for i := range sets {
		set, err := in.choose(ctx, sets[i])
		if err != nil {
			return nil, err
		}
		sets[i] = set
		if reason, why := in.taken(set); why != "" {
			m.observer.Skipped(reason)
			in.warnings = append(in.warnings, fmt.Sprintf("SidecarSet %s is not injected: %s", set.name, why))
			continue
		}
		in.sets = append(in.sets, set)
	}
	return in, nil
}

// taken tells who has a container name that the SidecarSet brings too, and claims its names if nobody does. A name is
// unique over both lists of a Pod, so a SidecarSet is left out whole rather than have the Pod refused: injecting a part
// of it would record a hash that is not true, and have two controllers upgrade one container. A container of the Pod in
// the same list is no obstacle, the sidecar takes its place.
func (in *injection) taken(set *Compiled) (reason Reason, why string) {
	for _, s := range set.all {
		otherList := in.pod.Containers
		if s.list == podview.Containers {
			otherList = in.pod.InitContainers
		}
		for i := range s.instances {
			name := s.instances[i].template.Name
			if other, ok := in.claims[name]; ok {
				return TakenBySidecarSet, fmt.Sprintf("SidecarSet %s brings a container %s too", other.name, name)
			}
			if indexOf(otherList, name) >= 0 {
				return TakenByPod, fmt.Sprintf("the Pod has a container %s of its own in its other list", name)
			}
		}
	}
	for _, s := range set.all {
		for i := range s.instances {
			in.claims[s.instances[i].template.Name] = set
		}
	}
	return "", ""
}

// claimed tells whether a sidecar is, or takes the place of, the Pod's container of that name.
func (in *injection) claimed(name string) bool { return in.claims[name] != nil }

func (in *injection) run() error {
	for _, set := range in.sets {
		if err := patchMetadata(in.pod, set); err != nil {
			return err
		}
	}
	// One without any container only patches metadata, and is not recorded.
	in.sets = slices.DeleteFunc(in.sets, func(s *Compiled) bool { return len(s.all) == 0 })
	if len(in.sets) == 0 {
		return nil
	}
	if err := in.readRecords(); err != nil {
		return err
	}
	if err := in.injectContainers(); err != nil {
		return err
	}
	for _, set := range in.sets {
		for _, v := range set.volumes {
			in.pod.AddVolume(v.name, v.raw)
		}
		for _, secret := range set.imagePullSecrets {
			in.pod.AddImagePullSecret(secret)
		}
	}
	in.record()
	in.m.observer.Injected(len(in.sets), len(in.claims))
	return nil
}

func (in *injection) readRecords() (err error) {
	if in.hashes, err = readRecords(in.pod, v1beta1.SidecarSetHashAnnotation); err != nil {
		return err
	}
	if in.hashesWithoutImage, err = readRecords(in.pod, v1beta1.SidecarSetHashWithoutImageAnnotation); err != nil {
		return err
	}
	in.working, err = readWorking(in.pod)
	return err
}

// record writes what was injected into the Pod's annotations.
func (in *injection) record() {
	now := in.m.clock().UTC().Format(time.RFC3339)
	for _, set := range in.sets {
		fields := recordFields{
			UpdateTimestamp: now, Hash: set.hashWithoutImage, SidecarSetName: set.name, SidecarList: set.sidecarList,
		}
		in.hashesWithoutImage.put(set.name, fields)
		fields.Hash, fields.ControllerRevision = set.hash, set.latestRevision
		in.hashes.put(set.name, fields)
	}
	for _, base := range in.bases {
		in.hashes.drop(base)
		in.hashesWithoutImage.drop(base)
	}
	in.hashes.write(in.pod)
	in.hashesWithoutImage.write(in.pod)
	in.working.write(in.pod)
	writeList(in.pod, in.sets, in.bases)
}

func indexOf(list []*podview.Container, name string) int {
	return slices.IndexFunc(list, func(c *podview.Container) bool { return c.Name == name })
}

// byName compares containers for a stable sort.
func byName(a, b *podview.Container) int { return strings.Compare(a.Name, b.Name) }
