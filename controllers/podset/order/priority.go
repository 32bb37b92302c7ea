package order

import (
	"cmp"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// priorityRules are those of a strategy, none for none.
func priorityRules(strategy *v1beta1.UpdatePriorityStrategy, keylessFirst bool) []rule {
	switch {
	case strategy == nil:
		return nil
	case len(strategy.WeightPriority) > 0:
		return []rule{byWeight(strategy.WeightPriority)}
	case len(strategy.OrderPriority) > 0:
		return []rule{byKey(strategy.OrderPriority, keylessFirst)}
	default:
		return nil
	}
}

// byWeight puts the larger sum of weights of matching terms first.
func byWeight(terms []v1beta1.UpdatePriorityWeightTerm) rule {
	selectors := make([]labels.Selector, len(terms))
	for i := range terms {
		selector, err := metav1.LabelSelectorAsSelector(&terms[i].MatchSelector)
		if err != nil {
			selector = labels.Nothing() // admission refuses it; a stored one must not stop a rollout
		}
		selectors[i] = selector
	}
	weight := once(func(pod *corev1.Pod) (sum int64) {
		for i, selector := range selectors {
			if selector.Matches(labels.Set(pod.Labels)) {
				sum += int64(terms[i].Weight)
			}
		}
		return sum
	})
	return func(a, b *standing) int { return cmp.Compare(weight(b.pod), weight(a.pod)) }
}

// once asks once for each Pod: a sort compares it with a dozen others.
func once[T any](of func(*corev1.Pod) T) func(*corev1.Pod) T {
	known := map[*corev1.Pod]T{}
	return func(pod *corev1.Pod) T {
		answer, is := known[pod]
		if !is {
			answer = of(pod)
			known[pod] = answer
		}
		return answer
	}
}

// place is that of a Pod in an order of keys.
type place struct {
	level  int
	number uint64
}

// byKey puts the earlier of the keys first, and within one key the larger number at the end of its value.
func byKey(terms []v1beta1.UpdatePriorityOrderTerm, keylessFirst bool) rule {
	keyless := len(terms)
	if keylessFirst {
		keyless = -1
	}
	placeOf := once(func(pod *corev1.Pod) place {
		for i, term := range terms {
			if value, has := pod.Labels[term.OrderedKey]; has {
				return place{i, trailingNumber(value)}
			}
		}
		return place{level: keyless}
	})
	return func(a, b *standing) int {
		of, than := placeOf(a.pod), placeOf(b.pod)
		return cmp.Or(cmp.Compare(of.level, than.level), cmp.Compare(than.number, of.number))
	}
}

// trailingNumber is 10 of web-10, and 0 where there are no digits. A label value has at most 63 characters, of which
// more than 20 digits would not fit: they count as the largest number.
func trailingNumber(value string) uint64 {
	digits := value[len(strings.TrimRight(value, "0123456789")):]
	if digits == "" {
		return 0
	}
	n, _ := strconv.ParseUint(digits, 10, 64) // the largest number when it does not fit
	return n
}
