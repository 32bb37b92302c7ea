package sidecarset

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/fairlead-io/fairlead/mutators/podview"
)

// Namespaces knows the labels of namespaces. It is safe for concurrent use.
type Namespaces interface {
	// Labels are the labels of a namespace that exists. An error says that nobody can tell now.
	Labels(ctx context.Context, name string) (labels map[string]string, found bool, err error)
}

// match finds the SidecarSets of a Pod in the order of injection (sidecarset.md §4.1, §4.2, §4.4), and the bases that a
// canary among them stands in for.
func (m *Mutator) match(ctx context.Context, pod *podview.Pod) (sets []*Compiled, bases []string, err error) {
	namespace := pod.Namespace
	if namespace == "" {
		namespace = "default"
	}
	found := m.index.candidates(namespace, pod.Labels)
	found = slices.DeleteFunc(found, func(f *filed) bool { return !f.labels.match(pod.Labels) })
	if found, err = m.inNamespace(ctx, namespace, found); err != nil {
		return nil, nil, err
	}
	for _, f := range found {
		sets = append(sets, m.index.compiled.of(f))
	}
	slices.SortFunc(sets, func(a, b *Compiled) int {
		return cmp.Or(group(a)-group(b), cmp.Compare(a.name, b.name))
	})
	sets = slices.CompactFunc(sets, func(a, b *Compiled) bool { return a.name == b.name })
	for _, s := range sets {
		if s.base != "" {
			bases = append(bases, s.base)
		}
	}
	return slices.DeleteFunc(sets, func(s *Compiled) bool { return slices.Contains(bases, s.name) }), bases, nil
}

// group puts SidecarSets of certain namespaces before those of all.
func group(s *Compiled) int {
	if s.pinned != nil {
		return 0
	}
	return 1
}

// inNamespace drops the SidecarSets whose namespaceSelector does not match. The namespace is looked up only when one has
// a namespaceSelector, since a cache that does not know it yet costs a request.
func (m *Mutator) inNamespace(ctx context.Context, namespace string, sets []*filed) ([]*filed, error) {
	if !slices.ContainsFunc(sets, func(f *filed) bool { return !f.everywhere }) {
		return sets, nil
	}
	labels, exists, err := m.namespaces.Labels(ctx, namespace)
	if err != nil {
		return nil, fmt.Errorf("looking up namespace %q: %w", namespace, err)
	}
	return slices.DeleteFunc(sets, func(f *filed) bool {
		return !f.everywhere && (!exists || !f.namespace.match(labels))
	}), nil
}
