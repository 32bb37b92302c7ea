package sidecarset

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/internal/jsontree"
	"github.com/fairlead-io/fairlead/mutators/podview"
)

// workingContainers is the annotation that says which of the two containers of each hot-upgrade sidecar works.
type workingContainers struct {
	names   map[string]string
	changed bool
}

func readWorking(pod *podview.Pod) (*workingContainers, error) {
	w := &workingContainers{names: map[string]string{}}
	if found := pod.Annotations[v1beta1.SidecarSetWorkingHotUpgradeContainer]; found != "" {
		if err := json.Unmarshal([]byte(found), &w.names, readOptions); err != nil {
			return nil, unreadable(v1beta1.SidecarSetWorkingHotUpgradeContainer, err)
		}
	}
	return w, nil
}

// index tells which of the two works, the first unless the Pod says otherwise.
func (w *workingContainers) index(s *sidecar) int {
	if w.names[s.name] == s.pairName(1) {
		return 1
	}
	return 0
}

func (w *workingContainers) set(s *sidecar, working int) {
	if name := s.pairName(working); w.names[s.name] != name {
		if w.names == nil {
			w.names = map[string]string{}
		}
		w.names[s.name] = name
		w.changed = true
	}
}

func (w *workingContainers) write(pod *podview.Pod) {
	if !w.changed {
		return
	}
	out := jsontext.Value{'{'}
	for _, name := range slices.Sorted(maps.Keys(w.names)) {
		out = appendMember(out, name, jsontree.Quote(w.names[name]))
	}
	pod.SetAnnotation(v1beta1.SidecarSetWorkingHotUpgradeContainer, string(append(out, '}')))
}

// settlePair sees to the annotations of a hot-upgrade sidecar. A Pod that comes with both containers, recorded as this
// very version, may be in the midst of an upgrade, which is the controller's to finish: what its annotations say stays. In
// any other Pod the pair begins as after a finished upgrade, with the container working that worked before.
func (in *injection) settlePair(s *sidecar, recorded bool) error {
	working := in.working.index(s)
	kept := recorded && in.working.names[s.name] == s.pairName(working)
	for i := 0; kept && i < len(s.instances); i++ {
		var err error
		if kept, err = in.injectedBefore(s.list, s.pairName(i)); err != nil {
			return err
		}
	}
	in.working.set(s, working)
	w, other := s.pairName(working), s.pairName(1-working)
	version := in.pod.Annotations[versionKey(w)]
	if version == "" || version == "0" {
		version = "1"
	}
	for _, a := range [...]struct{ key, value string }{
		{versionKey(w), version}, {versionAltKey(w), "0"}, {versionKey(other), "0"}, {versionAltKey(other), version},
	} {
		if _, there := in.pod.Annotations[a.key]; !there || !kept {
			in.pod.SetAnnotation(a.key, a.value)
		}
	}
	return nil
}

// injectedBefore tells whether the Pod came with a container that an earlier injection made.
func (in *injection) injectedBefore(list podview.List, name string) (bool, error) {
	i := indexOf(in.pod.ContainerList(list), name)
	if i < 0 {
		return false, nil
	}
	mark, err := in.variable(in.pod.ContainerList(list)[i], v1beta1.SidecarInjectedEnv)
	return mark.raw != nil, err
}

// assign gives the two containers their images while the one at index working works.
func (s *sidecar) assign(working int) ([]instance, error) {
	if working == 0 {
		return s.instances, nil
	}
	instances := slices.Clone(s.instances)
	for i := range instances {
		raw, err := editObject(instances[i].template.JSON(), []string{"image"}, "image", jsontree.Quote(s.pairImage(i, working)))
		if err != nil {
			return nil, err
		}
		if instances[i].template, err = podview.NewContainer(raw); err != nil {
			return nil, err
		}
	}
	return instances, nil
}
