package order

import (
	"cmp"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// scatter spreads the Pods of each term over the sorted candidates, in the ratio that the whole workload has.
func scatter(sorted, all []*corev1.Pod, terms []v1beta1.UpdateScatterTerm) []*corev1.Pod {
	for _, term := range busiestFirst(sorted, terms) {
		sorted = scatterTerm(sorted, all, term)
	}
	return sorted
}

// busiestFirst leaves one term as it is. Of several it drops those that match nothing and sorts the others, because
// each works on the result of the one before and blurs it.
func busiestFirst(candidates []*corev1.Pod, terms []v1beta1.UpdateScatterTerm) []v1beta1.UpdateScatterTerm {
	if len(terms) < 2 {
		return terms
	}
	matches := func(term v1beta1.UpdateScatterTerm) int {
		matching, _ := split(candidates, term)
		return len(matching)
	}
	kept := slices.DeleteFunc(slices.Clone(terms), func(term v1beta1.UpdateScatterTerm) bool { return matches(term) == 0 })
	slices.SortStableFunc(kept, func(a, b v1beta1.UpdateScatterTerm) int { return cmp.Compare(matches(b), matches(a)) })
	return kept
}

func split(pods []*corev1.Pod, term v1beta1.UpdateScatterTerm) (matching, others []*corev1.Pod) {
	for _, pod := range pods {
		if pod.Labels[term.Key] == term.Value {
			matching = append(matching, pod)
		} else {
			others = append(others, pod)
		}
	}
	return matching, others
}

// scatterTerm alternates runs of matching and other Pods and keeps one matching Pod for the very end, so that the term
// is seen from the first to the last step of the rollout.
func scatterTerm(sorted, all []*corev1.Pod, term v1beta1.UpdateScatterTerm) []*corev1.Pod {
	matching, others := split(sorted, term)
	if len(matching) <= 1 || len(others) <= 1 {
		return sorted
	}
	last := matching[len(matching)-1]
	matching = matching[:len(matching)-1]
	allMatching, allOthers := split(all, term)
	runs := runsOf(len(matching), len(others), max(len(allMatching)-1, len(matching)), max(len(allOthers), len(others)))
	result := make([]*corev1.Pod, 0, len(sorted))
	result, others = move(result, others, runs.lead)
	for range runs.count {
		result, matching = move(result, matching, runs.matching)
		result, others = move(result, others, runs.others)
	}
	result = append(append(result, matching...), others...)
	return append(result, last)
}

func move(to, from []*corev1.Pod, n int) (longer, rest []*corev1.Pod) {
	n = min(n, len(from))
	return append(to, from[:n]...), from[n:]
}

// runs are count times so many matching and then so many other Pods, after a lead of other Pods.
type runs struct{ lead, count, matching, others int }

// runsOf keeps to the ratio of the whole workload when the candidates have more other Pods than it, as in the middle of
// a rollout: the lead are those that are too many.
func runsOf(matching, others, allMatching, allOthers int) runs {
	if allOthers*matching >= others*allMatching {
		return evenly(matching, others)
	}
	r := evenly(allMatching, allOthers)
	r.count = min(matching/r.matching, others/r.others)
	r.lead = others - r.count*r.others
	return r
}

func evenly(matching, others int) runs {
	count := min(matching, others)
	share := func(n int) int { return int(math.Round(float64(n) / float64(count))) }
	return runs{count: count, matching: share(matching), others: share(others)}
}
