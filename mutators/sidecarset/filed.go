package sidecarset

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/utils/lru"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/webhook/jsonwalk"
)

// maxCompiled is how many SidecarSets are kept as they are injected, some 2 KiB in 20 objects each: those used last. All
// others are kept as text of half the size in one object, which a Pod that they match has compiled again within 50 µs. With
// all of 10,000 kept compiled, walking them took collections of garbage a fifth of all CPU time.
const maxCompiled = 1024

// filed is a SidecarSet in force: what tells whether it matches a Pod, and what it is compiled from when it does. It never
// changes. Its texts are parts of one.
type filed struct {
	name, document string
	// labels and namespace are its selectors; it takes Pods of all namespaces if everywhere is set.
	labels, namespace conditions
	everywhere        bool
	places            []uint64
	place             [1]uint64 // the memory of places: most have one
}

// file compiles a SidecarSet and gives both forms of it.
func file(raw []byte) (*Compiled, *filed, error) {
	doc, source, err := readDocument(raw)
	if err != nil {
		return nil, nil, err
	}
	set, err := compileDocument(doc)
	if err != nil {
		return nil, nil, err
	}
	kept, err := keep(source)
	if err != nil {
		return nil, nil, err
	}
	f := &filed{document: kept, name: set.name, labels: pack(set.selector), everywhere: set.namespaceSelector == nil}
	if !f.everywhere {
		f.namespace = pack(set.namespaceSelector)
	}
	return set, f, nil
}

// move has the texts kept by t, as parts of one.
func (f *filed) move(t *texts) {
	all := t.keep(f.name + f.document + string(f.labels) + string(f.namespace))
	cut := func(length int) string {
		part := all[:length]
		all = all[length:]
		return part
	}
	f.name, f.document = cut(len(f.name)), cut(len(f.document))
	f.labels, f.namespace = conditions(cut(len(f.labels))), conditions(cut(len(f.namespace)))
}

// keptAnnotations are those that a SidecarSet is compiled from.
var keptAnnotations = []string{
	v1beta1.SidecarSetHashAnnotation, v1beta1.SidecarSetHashWithoutImageAnnotation,
	v1beta1.SidecarSetCanaryAnnotation, v1beta1.SidecarSetBaseAnnotation,
}

// keep is the part of a SidecarSet that it is compiled from: without managed fields, other annotations, status and white
// space, which are the most of what a cluster stores.
func keep(raw jsontext.Value) (string, error) {
	out, name, annotations, status := opened(), opened(), opened(), opened()
	err := jsonwalk.Walk(raw, func(w *jsonwalk.Walker) error {
		return w.Object(func(member string) error {
			switch member {
			case "apiVersion", "kind", "spec":
				return copyMember(w, &out, member)
			case "metadata":
				return w.Object(func(member string) error {
					switch member {
					case "name":
						return copyMember(w, &name, member)
					case "annotations":
						return copyMembers(w, &annotations, keptAnnotations...)
					}
					return nil
				})
			case "status":
				return copyMembers(w, &status, "latestRevision")
			}
			return nil
		})
	})
	if err != nil {
		return "", err
	}
	metadata := append(appendMember(name, "annotations", append(annotations, '}')), '}')
	out = appendMember(out, "metadata", metadata)
	out = append(appendMember(out, "status", append(status, '}')), '}')
	err = out.Compact(readOptions)
	return string(out), err
}

// opened is an object that has no member yet, and no end.
func opened() jsontext.Value { return jsontext.Value{'{'} }

func copyMembers(w *jsonwalk.Walker, to *jsontext.Value, wanted ...string) error {
	return w.Object(func(member string) error {
		if slices.Contains(wanted, member) {
			return copyMember(w, to, member)
		}
		return nil
	})
}

func copyMember(w *jsonwalk.Walker, to *jsontext.Value, member string) error {
	value, err := w.Value()
	if value != nil {
		*to = appendMember(*to, member, value)
	}
	return err
}

// compiled are the SidecarSets used last.
type compiled struct{ used *lru.Cache }

func newCompiled() compiled { return compiled{lru.New(maxCompiled)} }

// of is a SidecarSet in force, compiled.
func (c compiled) of(f *filed) *Compiled {
	if set, ok := c.used.Get(f); ok {
		return set.(*Compiled)
	}
	set, err := Compile([]byte(f.document))
	if err != nil {
		panic("sidecarset: a SidecarSet compiled before it was kept: " + err.Error())
	}
	c.used.Add(f, set)
	return set
}
