package facts

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
	corev1 "k8s.io/api/core/v1"
)

// podSpecDifferences takes two Pod specs and answers the paths of what differs in meaning, with how: {"path", "op"}, op being
// add, remove or replace.
func podSpecDifferences(_ context.Context, args []*ast.Term) (*ast.Term, error) {
	before, err := ast.JSON(args[0].Value)
	if err != nil {
		return nil, err
	}
	after, err := ast.JSON(args[1].Value)
	if err != nil {
		return nil, err
	}
	same := alike(before, after)
	found := []map[string]any{}
	compare("", before, after, func(path, op string, value any) {
		if !same(path, op, value) {
			found = append(found, map[string]any{"path": path, "op": op})
		}
	})
	return term(found)
}

// alike tells whether a difference is one in writing only: to clients of Go types, which write specs their way, resources of {} are
// as good as none, and a cpu of 1000m is 1. A securityContext of {} or an automountServiceAccountToken of false is not as good as
// none, and what the type does not hold is never alike.
func alike(before, after any) func(path, op string, value any) bool {
	old, oldErr := typed(before)
	now, nowErr := typed(after)
	if oldErr != nil || nowErr != nil {
		return func(string, string, any) bool { return false }
	}
	different := make(map[string]bool)
	compare("", old, now, func(path, _ string, _ any) { different[path] = true })
	known := pathsOf(old)
	maps.Copy(known, pathsOf(now))
	return func(path, op string, value any) bool {
		return !different[path] && (op == "replace" && known[path] || op != "replace" && silent(value))
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

// pathsOf are those of a value and all below it.
func pathsOf(value any) map[string]bool {
	all := make(map[string]bool)
	var walk func(path string, value any)
	walk = func(path string, value any) {
		all[path] = true
		switch v := value.(type) {
		case map[string]any:
			for key, member := range v {
				walk(join(path, key), member)
			}
		case []any:
			for i, element := range v {
				walk(fmt.Sprintf("%s[%d]", path, i), element)
			}
		}
	}
	walk("", value)
	return all
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

// compare tells of every path at which two values differ, and of what is there, or was if it is no more. Lists are compared by
// position, and one of another length differs as a whole: what is added or removed shifts the rest.
func compare(path string, before, after any, differs func(path, op string, value any)) {
	switch old := before.(type) {
	case map[string]any:
		now, same := after.(map[string]any)
		if !same {
			break
		}
		for _, key := range slices.Sorted(maps.Keys(old)) {
			if value, kept := now[key]; kept {
				compare(join(path, key), old[key], value, differs)
			} else {
				differs(join(path, key), "remove", old[key])
			}
		}
		for _, key := range slices.Sorted(maps.Keys(now)) {
			if _, known := old[key]; !known {
				differs(join(path, key), "add", now[key])
			}
		}
		return
	case []any:
		now, same := after.([]any)
		if !same || len(now) != len(old) {
			break
		}
		for i := range old {
			compare(fmt.Sprintf("%s[%d]", path, i), old[i], now[i], differs)
		}
		return
	}
	if fmt.Sprint(before) != fmt.Sprint(after) {
		differs(path, "replace", after)
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
