package conversion

import "github.com/fairlead-io/fairlead/internal/jsontree"

// WorkloadSpread, multi-domain.md §B1: two fields of a subset have other names, and v1beta1's conditions are
// metav1.Conditions, which require a reason, a message and a time.

const (
	unknownReason = "Unknown"
	// noTime is the time of a condition that has none: the field is required, and null is no value of it.
	noTime = "1970-01-01T00:00:00Z"
)

var requiredOfConditions = []struct{ name, value string }{
	{"reason", unknownReason}, {"message", ""}, {"lastTransitionTime", noTime},
}

func workloadSpreadUp(w *work) {
	for _, subset := range w.objects(w.object(w.top, "spec"), "subsets") {
		rename(subset, "requiredNodeSelectorTerm", "requiredNodeSelector")
		rename(subset, "preferredNodeSelectorTerms", "preferredNodeSelector")
	}
	for _, condition := range workloadSpreadConditions(w) {
		for _, required := range requiredOfConditions {
			if w.text(condition, required.name) == "" {
				set(condition, required.name, required.value)
			}
		}
	}
}

func workloadSpreadDown(w *work) {
	for _, subset := range w.objects(w.object(w.top, "spec"), "subsets") {
		rename(subset, "requiredNodeSelector", "requiredNodeSelectorTerm")
		rename(subset, "preferredNodeSelector", "preferredNodeSelectorTerms")
	}
	for _, condition := range workloadSpreadConditions(w) {
		remove(condition, "observedGeneration")
		pruneCondition(w, condition)
	}
}

// pruneCondition takes away what only stands there because v1beta1 requires it.
func pruneCondition(w *work, condition *jsontree.Node) {
	if w.text(condition, "message") == "" {
		remove(condition, "message")
	}
	if at := w.text(condition, "lastTransitionTime"); at == "" || at == noTime {
		remove(condition, "lastTransitionTime")
	}
}

func workloadSpreadCanonical(w *work) {
	for _, condition := range workloadSpreadConditions(w) {
		pruneCondition(w, condition)
		if w.text(condition, "reason") == "" {
			set(condition, "reason", unknownReason)
		}
	}
}

// workloadSpreadConditions are those of all subsets, overall and by version of the workload.
func workloadSpreadConditions(w *work) []*jsontree.Node {
	status := w.object(w.top, "status")
	subsets := w.objects(status, "subsetStatuses")
	if versioned := w.object(status, "versionedSubsetStatuses"); versioned != nil {
		for _, m := range versioned.Members() {
			subsets = append(subsets, w.objects(versioned, m.Name)...)
		}
	}
	conditions := make([]*jsontree.Node, 0, len(subsets))
	for _, subset := range subsets {
		conditions = append(conditions, w.objects(subset, "conditions")...)
	}
	return conditions
}
