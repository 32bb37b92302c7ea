// Package overlap finds the SidecarSets that may be injected into the same Pods and disagree about what they bring
// (sidecarset.md §5.10). It looks up names, not SidecarSets: the cost of a search grows with what is searched for.
package overlap

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Selector is a label selector read for comparing it with others. The nil Selector selects everything.
type Selector struct {
	demands []demand // sorted by key, one a key
}

// demand is what a selector asks of one key.
type demand struct {
	key string
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
	s := &Selector{demands: make([]demand, 0, len(selector.MatchLabels)+len(selector.MatchExpressions))}
	for key, value := range selector.MatchLabels {
		s.demands = append(s.demands, demand{key: key, exists: true, listed: true, allowed: []string{value}})
	}
	for _, e := range selector.MatchExpressions {
		switch e.Operator {
		case metav1.LabelSelectorOpIn:
			s.demands = append(s.demands, demand{key: e.Key, exists: true, listed: true, allowed: e.Values})
		case metav1.LabelSelectorOpNotIn:
			s.demands = append(s.demands, demand{key: e.Key, denied: e.Values})
		case metav1.LabelSelectorOpExists:
			s.demands = append(s.demands, demand{key: e.Key, exists: true})
		case metav1.LabelSelectorOpDoesNotExist:
			s.demands = append(s.demands, demand{key: e.Key, absent: true})
		}
	}
	s.join()
	return s
}

// join sorts the demands and makes one of those on the same key.
func (s *Selector) join() {
	slices.SortStableFunc(s.demands, func(a, b demand) int { return cmp.Compare(a.key, b.key) })
	joined := s.demands[:0]
	for _, d := range s.demands {
		if last := len(joined) - 1; last >= 0 && joined[last].key == d.key {
			joined[last] = joined[last].and(d)
		} else {
			joined = append(joined, d)
		}
	}
	s.demands = joined
}

// on is what the selector asks of a key, which may be nothing.
func (s *Selector) on(key string) demand {
	i, found := slices.BinarySearchFunc(s.demands, key, func(d demand, key string) int { return cmp.Compare(d.key, key) })
	if !found {
		return demand{}
	}
	return s.demands[i]
}

// and is what is asked by both.
func (d demand) and(other demand) demand {
	both := demand{
		key: d.key, exists: d.exists || other.exists, absent: d.absent || other.absent,
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
	for i, j := 0, 0; i < len(a.demands) && j < len(b.demands); {
		asked, other := a.demands[i], b.demands[j]
		switch cmp.Compare(asked.key, other.key) {
		case -1:
			i++
		case 1:
			j++
		default:
			if !asked.and(other).possible() {
				return false
			}
			i, j = i+1, j+1
		}
	}
	return true
}
