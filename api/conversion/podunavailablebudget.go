package conversion

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/api/policy/v1beta1"
	"github.com/fairlead-io/fairlead/internal/jsontree"
)

// PodUnavailableBudget, protection.md §2: two fields are annotations in v1alpha1, which stay when an object goes up.

var budgetOperations = []string{"DELETE", "UPDATE", "EVICT", "RESIZE"}

func unavailableBudgetUp(w *work) {
	operations, total := readOperations(w), readTotal(w)
	if operations == nil && total == nil || w.err != nil {
		return
	}
	spec := w.ensure(w.top, "spec")
	if spec == nil {
		return
	}
	if operations != nil {
		spec.Set("protectOperations", quoteAll(operations))
	}
	if total != nil {
		spec.Set("protectTotalReplicas", total)
	}
}

// readOperations reads the comma list of the annotation; nil if it names none.
func readOperations(w *work) []string {
	text, _ := w.tag(annotations, v1beta1.PubProtectOperationsAnnotation)
	var operations []string
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimSpace(item)
		switch {
		case item == "":
		case slices.Contains(budgetOperations, item):
			operations = append(operations, item)
		default:
			w.fail(annotationPath(v1beta1.PubProtectOperationsAnnotation), "%q is no operation, use a comma-separated list of %s",
				item, list(budgetOperations))
		}
	}
	return operations
}

// readTotal reads the number of the annotation; nil if there is none.
func readTotal(w *work) jsontext.Value {
	text, there := w.tag(annotations, v1beta1.PubProtectTotalReplicasAnnotation)
	if !there {
		return nil
	}
	total, err := strconv.ParseInt(strings.TrimSpace(text), 10, 32)
	if err != nil {
		w.fail(annotationPath(v1beta1.PubProtectTotalReplicasAnnotation), "%q is no whole number of 32 bits", text)
		return nil
	}
	return strconv.AppendInt(nil, total, 10)
}

func unavailableBudgetDown(w *work) {
	spec := w.object(w.top, "spec")
	list := elements(w, spec, "protectOperations")
	operations := make([]string, 0, len(list))
	for _, operation := range list {
		operations = append(operations, operation.Text())
	}
	var total jsontext.Value
	if number := get(spec, "protectTotalReplicas"); w.expect(number, jsontext.KindNumber, "a number") {
		total = number.Bytes()
	}
	// An annotation that says the same keeps its spelling.
	said := &work{top: w.top}
	if !slices.Equal(readOperations(said), operations) || said.err != nil || len(operations) == 0 {
		setOrRemove(w, v1beta1.PubProtectOperationsAnnotation, strings.Join(operations, ","))
	}
	said = &work{top: w.top}
	if string(readTotal(said)) != string(total) || said.err != nil {
		setOrRemove(w, v1beta1.PubProtectTotalReplicasAnnotation, string(total))
	}
	remove(spec, "protectOperations", "protectTotalReplicas", "ignoredPodSelector")
}

func setOrRemove(w *work, annotation, text string) {
	if text == "" {
		w.removeTag(annotations, annotation)
		return
	}
	w.setTag(annotations, annotation, text)
}

// elements are those of a member that is a list.
func elements(w *work, n *jsontree.Node, name string) []*jsontree.Node {
	member := get(n, name)
	if !w.expect(member, jsontext.KindBeginArray, "a list") {
		return nil
	}
	return member.Elements()
}

func quoteAll(texts []string) jsontext.Value {
	out := jsontext.Value{'['}
	for i, text := range texts {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, jsontree.Quote(text)...)
	}
	return append(out, ']')
}
