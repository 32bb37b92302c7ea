package facts

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// requirement is what a selector asks of the value of one key: to be one of some, to be none of some, to be there, not to be.
type requirement struct {
	in, notIn      sets.Set[string]
	exists, absent bool
}

// requirements are those of a selector, by key.
func requirements(selector metav1.LabelSelector) map[string]*requirement {
	all := make(map[string]*requirement)
	of := func(key string) *requirement {
		if all[key] == nil {
			all[key] = &requirement{}
		}
		return all[key]
	}
	for key, value := range selector.MatchLabels {
		of(key).only(sets.New(value))
	}
	for _, e := range selector.MatchExpressions {
		switch e.Operator {
		case metav1.LabelSelectorOpIn:
			of(e.Key).only(sets.New(e.Values...))
		case metav1.LabelSelectorOpNotIn:
			of(e.Key).notIn = of(e.Key).notIn.Union(sets.New(e.Values...))
		case metav1.LabelSelectorOpExists:
			of(e.Key).exists = true
		case metav1.LabelSelectorOpDoesNotExist:
			of(e.Key).absent = true
		}
	}
	return all
}

func (r *requirement) only(values sets.Set[string]) {
	if r.in != nil {
		values = values.Intersection(r.in)
	}
	r.in = values
}

// meets says whether a label, or the lack of one, can satisfy both.
func (r *requirement) meets(other *requirement) bool {
	mayLack := r.in == nil && !r.exists && other.in == nil && !other.exists
	if r.absent || other.absent {
		return mayLack
	}
	if r.in == nil && other.in == nil {
		return true // there are more values than any list excludes
	}
	both := requirement{in: r.in}
	if other.in != nil {
		both.only(other.in)
	}
	return both.in.Difference(r.notIn).Difference(other.notIn).Len() > 0
}

// looselyOverlap says whether two selectors have the same keys, and for each a value that satisfies both (protection.md §5).
// Those with different keys are not compared: a Pod that both select is rather a mistake of its labels than of theirs.
func looselyOverlap(a, b metav1.LabelSelector) bool {
	left, right := requirements(a), requirements(b)
	if len(left) != len(right) {
		return false
	}
	for key, r := range left {
		if other := right[key]; other == nil || !r.meets(other) {
			return false
		}
	}
	return len(left) > 0
}
