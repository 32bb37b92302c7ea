// Package overlap finds the SidecarSets that may be injected into the same Pods and disagree about what they bring
// (sidecarset.md §5.10). It looks up names, not SidecarSets: the cost of a search grows with what is searched for.
package overlap

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Selector is a label selector read for comparing it with others. The nil Selector selects everything.
type Selector struct {
	keys map[string]demand
}

// demand is what a selector asks of one key.
type demand struct {
	// exists and absent say that the key must be there, or must not.
	exists, absent bool
	// listed says that only the values allowed will do.
	listed  bool
	allowed []string
	denied  []string
}

// Read reads a selector; nil stays nil. Operators that do not exist ask for nothing: such a selector is refused elsewhere.
func Read(selector *metav1.LabelSelector) *Selector {
	if selector == nil {
		return nil
	}
	s := &Selector{keys: make(map[string]demand)}
	for key, value := range selector.MatchLabels {
		s.add(key, demand{exists: true, listed: true, allowed: []string{value}})
	}
	for _, e := range selector.MatchExpressions {
		switch e.Operator {
		case metav1.LabelSelectorOpIn:
			s.add(e.Key, demand{exists: true, listed: true, allowed: e.Values})
		case metav1.LabelSelectorOpNotIn:
			s.add(e.Key, demand{denied: e.Values})
		case metav1.LabelSelectorOpExists:
			s.add(e.Key, demand{exists: true})
		case metav1.LabelSelectorOpDoesNotExist:
			s.add(e.Key, demand{absent: true})
		}
	}
	return s
}

func (s *Selector) add(key string, d demand) {
	if before, ok := s.keys[key]; ok {
		d = before.and(d)
	}
	s.keys[key] = d
}

// and is what is asked by both.
func (d demand) and(other demand) demand {
	both := demand{
		exists: d.exists || other.exists, absent: d.absent || other.absent,
		listed: d.listed || other.listed, denied: slices.Concat(d.denied, other.denied),
	}
	switch {
	case d.listed && other.listed:
		both.allowed = slices.DeleteFunc(slices.Clone(d.allowed), func(v string) bool { return !slices.Contains(other.allowed, v) })
	case d.listed:
		both.allowed = d.allowed
	default:
		both.allowed = other.allowed
	}
	return both
}

// possible says whether some labels meet the demand.
func (d demand) possible() bool {
	if d.exists && d.absent {
		return false
	}
	return !d.listed || slices.ContainsFunc(d.allowed, func(v string) bool { return !slices.Contains(d.denied, v) })
}

// Overlap says whether the same labels can meet both selectors. They cannot if there is a key for which both ask and that
// has no value which satisfies both; a key that only one names keeps them apart from nothing.
func Overlap(a, b *Selector) bool {
	if a == nil || b == nil {
		return true
	}
	if len(b.keys) < len(a.keys) {
		a, b = b, a
	}
	for key, asked := range a.keys {
		if other, both := b.keys[key]; both && !asked.and(other).possible() {
			return false
		}
	}
	return true
}
