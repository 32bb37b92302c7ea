// Package podview is the narrow, editable view of a Pod that the Pod mutators share. It decodes only what they look
// at, collects what they change as semantic operations, and emits them as a minimal RFC 6902 patch. Fields that it does
// not know are never touched (DESIGN.md §3, Fidelity).
package podview

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/webhook/admission"
	"github.com/fairlead-io/fairlead/webhook/jsonwalk"
)

// OwnerReference is what mutators need of one.
type OwnerReference struct {
	APIVersion, Kind, Name, UID string
	Controller                  bool
}

// Pod is a Pod with the changes that mutators made so far: a later mutator sees what an earlier one did. Its exported
// fields are for reading; change the Pod through its methods.
type Pod struct {
	Name, GenerateName, Namespace string
	Labels, Annotations           map[string]string
	OwnerReferences               []OwnerReference
	Terminating                   bool
	Phase                         string

	InitContainers, Containers []*Container
	// Volumes and ImagePullSecrets are names, ReadinessGates condition types, each in the Pod's order.
	Volumes, ImagePullSecrets, ReadinessGates []string

	sent    part
	changed changed
}

// part is a set of the Pod's members that the request had, as far as the patch must know: JSON Patch can only append
// to a list, or add to a map, that exists.
type part uint

const (
	metadata part = 1 << iota
	labels
	annotations
	spec
	containers
	initContainers
	volumes
	imagePullSecrets
	readinessGates
)

// changed collects the changes that are not kept in the containers themselves.
type changed struct {
	name                                      bool
	labels, annotations                       map[string]sentValue
	volumes, imagePullSecrets, readinessGates []jsontext.Value
}

// sentValue is what the request had for a key of a map; ok is false if it had nothing.
type sentValue struct {
	value string
	ok    bool
}

// List names one of the Pod's two lists of containers.
type List int

// The container lists of a Pod.
const (
	Containers List = iota
	InitContainers
)

// Parse reads a Pod's JSON, which the view aliases. A Pod without a namespace has the request's. What is no Pod is
// refused with 400.
func Parse(raw jsontext.Value, namespace string) (*Pod, error) {
	p := &Pod{}
	if err := jsonwalk.Walk(raw, p.read); err != nil {
		return nil, admission.Refuse(400, "decoding Pod: %v", err)
	}
	if p.Namespace == "" {
		p.Namespace = namespace
	}
	return p, nil
}

// Controller is the owner reference with controller: true, if there is one.
func (p *Pod) Controller() (OwnerReference, bool) {
	i := slices.IndexFunc(p.OwnerReferences, func(o OwnerReference) bool { return o.Controller })
	if i < 0 {
		return OwnerReference{}, false
	}
	return p.OwnerReferences[i], true
}

// SetName gives a Pod that only has generateName its final name.
func (p *Pod) SetName(name string) {
	p.changed.name = p.changed.name || name != p.Name
	p.Name = name
}

// SetAnnotation sets an annotation; setting the value that is there changes nothing.
func (p *Pod) SetAnnotation(key, value string) {
	set(&p.Annotations, &p.changed.annotations, key, value)
}

// SetLabel sets a label; setting the value that is there changes nothing.
func (p *Pod) SetLabel(key, value string) {
	set(&p.Labels, &p.changed.labels, key, value)
}

func set(values *map[string]string, changed *map[string]sentValue, key, value string) {
	old, ok := (*values)[key]
	if ok && old == value {
		return
	}
	if *values == nil {
		*values = make(map[string]string)
	}
	if *changed == nil {
		*changed = make(map[string]sentValue)
	}
	(*values)[key] = value
	switch sent, again := (*changed)[key]; {
	case !again:
		(*changed)[key] = sentValue{value: old, ok: ok}
	case sent.ok && sent.value == value: // two mutations that undo each other leave no trace
		delete(*changed, key)
	}
}

// AddReadinessGate appends a readiness gate unless the Pod has one of that condition type.
func (p *Pod) AddReadinessGate(conditionType string) {
	if slices.Contains(p.ReadinessGates, conditionType) {
		return
	}
	p.ReadinessGates = append(p.ReadinessGates, conditionType)
	p.changed.readinessGates = append(p.changed.readinessGates, object("conditionType", conditionType))
}

// AddVolume appends a volume, given as JSON, unless the Pod has one of that name.
func (p *Pod) AddVolume(name string, raw jsontext.Value) {
	if slices.Contains(p.Volumes, name) {
		return
	}
	p.Volumes = append(p.Volumes, name)
	p.changed.volumes = append(p.changed.volumes, raw)
}

// AddImagePullSecret appends a reference to a Secret unless the Pod has one of that name.
func (p *Pod) AddImagePullSecret(name string) {
	if slices.Contains(p.ImagePullSecrets, name) {
		return
	}
	p.ImagePullSecrets = append(p.ImagePullSecrets, name)
	p.changed.imagePullSecrets = append(p.changed.imagePullSecrets, object("name", name))
}

// ContainerList is the current list.
func (p *Pod) ContainerList(l List) []*Container { return *p.list(l) }

// Insert puts containers into a list, the first of them at index at.
func (p *Pod) Insert(l List, at int, containers ...*Container) {
	list := p.list(l)
	*list = slices.Insert(*list, at, containers...)
}

// Replace puts a container in the place of the one at index at. It keeps the place without a change in the patch
// when both say the same.
func (p *Pod) Replace(l List, at int, c *Container) {
	list := *p.list(l)
	c.origin = list[at].origin
	c.dirty = list[at].dirty || !sameJSON(list[at].render(), c.render())
	if !c.dirty {
		c = list[at]
	}
	list[at] = c
}

func (p *Pod) list(l List) *[]*Container {
	if l == InitContainers {
		return &p.InitContainers
	}
	return &p.Containers
}
