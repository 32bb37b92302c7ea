package sidecarset

import (
	"regexp"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/mutators/podview"
	"github.com/fairlead-io/fairlead/webhook/jsonwalk"
)

// expanded is a variable in a subPathExpr.
var expanded = regexp.MustCompile(`\$\(([-._a-zA-Z][-._a-zA-Z0-9]*)\)`)

// shared is a volumeMount or volumeDevice of one of the Pod's own containers.
type shared struct {
	raw  jsontext.Value
	path string
	// names are the variables that the path needs, and from whose env they come.
	names []string
	from  *podview.Container
}

// share appends the mounts and devices of the Pod's own containers that the sidecar's policies ask for
// (sidecarset.md §4.5). One path is never used twice, be it by a mount or a device: the Pod would be invalid.
func (in *injection) share(s *sidecar, c *podview.Container, seenEnv *[]string) error {
	paths := slices.Clone(s.paths)
	add := func(field podview.Field, pathMember string) error {
		entries, err := in.ownEntries(field, pathMember)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if slices.Contains(paths, e.path) {
				continue
			}
			paths = append(paths, e.path)
			c.Append(field, e.raw)
			if err := in.copyEnv(c, seenEnv, e.from, e.names); err != nil {
				return err
			}
		}
		return nil
	}
	if s.shareMounts {
		if err := add(podview.VolumeMounts, "mountPath"); err != nil {
			return err
		}
	}
	if s.shareDevices {
		return add(podview.VolumeDevices, "devicePath")
	}
	return nil
}

// ownEntries are the mounts or devices of all own containers of the Pod, in their order.
func (in *injection) ownEntries(field podview.Field, pathMember string) (entries []shared, err error) {
	for _, c := range in.pod.Containers {
		injected, err := in.isSidecar(c)
		if err != nil {
			return nil, err
		}
		if injected {
			continue
		}
		err = c.Entries(field, func(raw jsontext.Value) error {
			e, unreadable := readShared(raw, pathMember)
			e.from = c
			entries = append(entries, e)
			return unreadable
		})
		if err != nil {
			return nil, err
		}
	}
	return entries, nil
}

// isSidecar tells whether a container of the Pod is not its own: a sidecar takes its place, or it says of itself that
// it was injected.
func (in *injection) isSidecar(c *podview.Container) (bool, error) {
	if in.claimed(c.Name) {
		return true, nil
	}
	mark, err := in.variable(c, v1beta1.SidecarInjectedEnv)
	if err != nil || mark.raw == nil {
		return false, err
	}
	value, err := stringMember(mark.raw, "value")
	return value == "true", err
}

func readShared(raw jsontext.Value, pathMember string) (e shared, err error) {
	e.raw = raw
	err = jsonwalk.Walk(raw, func(w *jsonwalk.Walker) error {
		return w.Object(func(name string) (err error) {
			switch name {
			case pathMember:
				e.path, err = w.String()
			case "subPathExpr":
				var expr string
				expr, err = w.String()
				for _, match := range expanded.FindAllStringSubmatch(expr, -1) {
					e.names = append(e.names, match[1])
				}
			}
			return err
		})
	})
	return e, err
}
