package native

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// problem is a mistake that an update may make.
type problem struct {
	// rule is the id of the service's rule that says the same.
	rule string
	// texts is CEL for a list of the mistakes' texts, empty if there is none.
	texts string
}

// quoted is a text as CEL writes it.
func quoted(text string) string { return strconv.Quote(text) }

// when is one mistake, where a condition is true.
func when(rule, condition, text string) problem {
	return problem{rule, fmt.Sprintf("(%s ? [%s] : [])", condition, text)}
}

// path is CEL for a field that may be absent: the path spec.selector of object is object.?spec.?selector.
func path(of, field string) string { return of + ".?" + strings.ReplaceAll(field, ".", ".?") }

// metadata is CEL for a member of the metadata that may be absent. Up to Kubernetes 1.30 an object of a CustomResourceDefinition
// has, as far as the types of expressions go, no more than its name there.
func metadata(of, member string) string { return "dyn(" + of + ".metadata).?" + member }

// differs is true where a field of the two objects differs. Absent is as byDefault, if that is given: an update that leaves out
// what the service fills in changes nothing.
func differs(field, byDefault string) string {
	now, before := path("object", field), path("oldObject", field)
	if byDefault != "" {
		now, before = now+".orValue("+byDefault+")", before+".orValue("+byDefault+")"
	}
	return now + " != " + before
}

// given is true where an update gives a field another value, for fields that the service may fill in from elsewhere.
func given(field string) string {
	return path("object", field) + ".hasValue() && " + differs(field, "")
}

// fixed are the mistakes of changing fields.
func fixed(rule, detail, byDefault string, fields ...string) (all []problem) {
	for _, field := range fields {
		all = append(all, when(rule, differs(field, byDefault), quoted(field+": Forbidden: "+detail)))
	}
	return all
}

// onlyMayChange is what the service says of other members of a spec than these.
func onlyMayChange(mutable ...string) string {
	return "cannot be changed: only " + strings.Join(slices.Sorted(slices.Values(mutable)), ", ") + " may change"
}
