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
	operations, total := said(w)
	for _, item := range operations.unknown {
		w.note(annotationPath(v1beta1.PubProtectOperationsAnnotation), "%q is no operation, of which there are %s", item, list(budgetOperations))
	}
	if total.unknown != "" {
		w.note(annotationPath(v1beta1.PubProtectTotalReplicasAnnotation), "%q is no whole number of 32 bits", total.unknown)
	}
	if operations.known == nil && total.known == nil || w.err != nil {
		return
	}
	spec := w.ensure(w.top, "spec")
	if spec == nil {
		return
	}
	if operations.known != nil {
		spec.Set("protectOperations", quoteAll(operations.known))
	}
	if total.known != nil {
		spec.Set("protectTotalReplicas", total.known)
	}
}

// saidOperations and saidTotal are what the annotations say. What nobody understands in them, because it was stored while nobody
// judged it, must not keep the object from being read, and with it every list that it is in: it stays in the annotation, and a
// write is judged by its rules.
type (
	saidOperations struct{ known, unknown []string }
	saidTotal      struct {
		known   jsontext.Value
		unknown string
	}
)

func said(w *work) (operations saidOperations, total saidTotal) {
	text, _ := w.tag(annotations, v1beta1.PubProtectOperationsAnnotation)
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimSpace(item)
		switch {
		case item == "":
		case slices.Contains(budgetOperations, item):
			operations.known = append(operations.known, item)
		default:
			operations.unknown = append(operations.unknown, item)
		}
	}
	text, _ = w.tag(annotations, v1beta1.PubProtectTotalReplicasAnnotation)
	if n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 32); err == nil {
		total.known = strconv.AppendInt(nil, n, 10)
	} else {
		total.unknown = text
	}
	return operations, total
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
	// An annotation that says the same keeps its spelling, and one that says nothing which anybody understands stays as it is.
	inOperations, inTotal := said(&work{top: w.top})
	if stays := len(operations) > 0 || len(inOperations.unknown) > 0; !stays || !slices.Equal(inOperations.known, operations) {
		setOrRemove(w, v1beta1.PubProtectOperationsAnnotation, strings.Join(operations, ","))
	}
	if string(inTotal.known) != string(total) {
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
