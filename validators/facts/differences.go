package facts

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/validators"
)

// podSpecDifferences takes two Pod specs and a regular expression, and answers the paths of what differs in meaning, with how: {"path",
// "op"}, op being add, remove or replace. A replacement at a path that matches does not count. Of many differences the first are told.
func podSpecDifferences(_ context.Context, args []*ast.Term) (*ast.Term, error) {
	before, err := ast.JSON(args[0].Value)
	if err != nil {
		return nil, err
	}
	after, err := ast.JSON(args[1].Value)
	if err != nil {
		return nil, err
	}
	free, err := regexp.Compile(text(args[2]))
	if err != nil {
		return nil, err
	}
	var found []difference
	compare(nil, before, after, func(d difference) {
		if d.op != "replace" || !free.MatchString(d.path()) {
			found = append(found, d)
		}
	})
	if len(found) == 0 {
		return none, nil
	}
	same := alike(before, after)
	told := []map[string]any{}
	for _, d := range found {
		if len(told) < validators.MostMistakes && !same(d) {
			told = append(told, map[string]any{"path": d.path(), "op": d.op})
		}
	}
	return term(told)
}

// difference is a place at which two values differ.
type difference struct {
	// steps lead there: names of members and positions in lists.
	steps []any
	op    string
	// value is what is there, or was if it is no more.
	value any
}

func (d difference) path() string {
	var path strings.Builder
	for _, step := range d.steps {
		switch s := step.(type) {
		case int:
			fmt.Fprintf(&path, "[%d]", s)
		case string:
			if path.Len() > 0 {
				path.WriteByte('.')
			}
			path.WriteString(s)
		}
	}
	return path.String()
}

// in says whether a value has anything at that place.
func (d difference) in(value any) bool {
	for _, step := range d.steps {
		switch s := step.(type) {
		case int:
			list, _ := value.([]any)
			if s >= len(list) {
				return false
			}
			value = list[s]
		case string:
			object, _ := value.(map[string]any)
			member, there := object[s]
			if !there {
				return false
			}
			value = member
		}
	}
	return true
}

// alike tells whether a difference is one in writing only: to clients of Go types, which write specs their way, resources of {} are
// as good as none, and a cpu of 1000m is 1. A securityContext of {} or an automountServiceAccountToken of false is not as good as
// none, and what the type does not hold is never alike.
func alike(before, after any) func(difference) bool {
	old, oldErr := typed(before)
	now, nowErr := typed(after)
	if oldErr != nil || nowErr != nil {
		return func(difference) bool { return false }
	}
	different := make(map[string]bool)
	compare(nil, old, now, func(d difference) { different[d.path()] = true })
	return func(d difference) bool {
		return !different[d.path()] && (d.op == "replace" && (d.in(old) || d.in(now)) || d.op != "replace" && silent(d.value))
	}
}

// silent is a value that a client of Go types may leave out, or write where nobody has set anything.
func silent(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case json.Number:
		return v == "0"
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	default:
		return false
	}
}

// typed is a Pod spec as a client of Go types writes it.
func typed(spec any) (written any, err error) {
	raw, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	var decoded corev1.PodSpec
	if err := json.Unmarshal(raw, &decoded); err != nil {
		return nil, err
	}
	if raw, err = json.Marshal(decoded); err != nil {
		return nil, err
	}
	return written, json.Unmarshal(raw, &written)
}

// compare tells of every place at which two values differ. Lists are compared by position, and one of another length differs as a
// whole: what is added or removed shifts the rest.
func compare(at []any, before, after any, differs func(difference)) {
	tell := func(op string, value any, further ...any) {
		differs(difference{steps: slices.Concat(at, further), op: op, value: value})
	}
	switch old := before.(type) {
	case map[string]any:
		now, same := after.(map[string]any)
		if !same {
			break
		}
		for _, key := range slices.Sorted(maps.Keys(old)) {
			if value, kept := now[key]; kept {
				compare(append(at, key), old[key], value, differs)
			} else {
				tell("remove", old[key], key)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(now)) {
			if _, known := old[key]; !known {
				tell("add", now[key], key)
			}
		}
		return
	case []any:
		now, same := after.([]any)
		if !same || len(now) != len(old) {
			break
		}
		for i := range old {
			compare(append(at, i), old[i], now[i], differs)
		}
		return
	}
	if fmt.Sprint(before) != fmt.Sprint(after) {
		tell("replace", after)
	}
}
