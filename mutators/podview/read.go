package podview

import (
	"github.com/fairlead-io/fairlead/webhook/jsonwalk"
)

func (p *Pod) read(w *jsonwalk.Walker) error {
	return w.Object(func(name string) error {
		switch name {
		case "metadata":
			p.saw(metadata, w)
			return w.Object(func(name string) error { return p.readMetadata(w, name) })
		case "spec":
			p.saw(spec, w)
			return w.Object(func(name string) error { return p.readSpec(w, name) })
		case "status":
			return w.Object(func(name string) (err error) {
				if name == "phase" {
					p.Phase, err = w.String()
				}
				return err
			})
		}
		return nil
	})
}

// saw records that the request has a member, unless it is null.
func (p *Pod) saw(m part, w *jsonwalk.Walker) {
	if w.Kind() != 'n' {
		p.sent |= m
	}
}

func (p *Pod) readMetadata(w *jsonwalk.Walker, name string) (err error) {
	switch name {
	case "name":
		p.Name, err = w.String()
	case "generateName":
		p.GenerateName, err = w.String()
	case "namespace":
		p.Namespace, err = w.String()
	case "deletionTimestamp":
		p.Terminating = w.Kind() != 'n'
	case "labels":
		p.saw(labels, w)
		p.Labels, err = w.Strings()
	case "annotations":
		p.saw(annotations, w)
		p.Annotations, err = w.Strings()
	case "ownerReferences":
		err = w.Array(func() error { return p.readOwner(w) })
	}
	return err
}

func (p *Pod) readOwner(w *jsonwalk.Walker) error {
	var o OwnerReference
	err := w.Object(func(name string) (err error) {
		switch name {
		case "apiVersion":
			o.APIVersion, err = w.String()
		case "kind":
			o.Kind, err = w.String()
		case "name":
			o.Name, err = w.String()
		case "uid":
			o.UID, err = w.String()
		case "controller":
			o.Controller, err = w.Bool()
		}
		return err
	})
	p.OwnerReferences = append(p.OwnerReferences, o)
	return err
}

func (p *Pod) readSpec(w *jsonwalk.Walker, name string) (err error) {
	switch name {
	case "containers":
		p.saw(containers, w)
		p.Containers, err = readContainers(w)
	case "initContainers":
		p.saw(initContainers, w)
		p.InitContainers, err = readContainers(w)
	case "volumes":
		p.saw(volumes, w)
		p.Volumes, err = readNames(w, "name")
	case "imagePullSecrets":
		p.saw(imagePullSecrets, w)
		p.ImagePullSecrets, err = readNames(w, "name")
	case "readinessGates":
		p.saw(readinessGates, w)
		p.ReadinessGates, err = readNames(w, "conditionType")
	}
	return err
}

func readContainers(w *jsonwalk.Walker) (list []*Container, err error) {
	err = w.Array(func() error {
		c := &Container{origin: len(list)}
		list = append(list, c)
		return c.read(w)
	})
	return list, err
}

// readNames reads one string member of each object of an array.
func readNames(w *jsonwalk.Walker, member string) (names []string, err error) {
	err = w.Array(func() error {
		var value string
		defer func() { names = append(names, value) }()
		return w.Object(func(name string) (err error) {
			if name == member {
				value, err = w.String()
			}
			return err
		})
	})
	return names, err
}
