package inplace

import (
	"fmt"
	"maps"
	"slices"
)

// firstDifference is the path of a difference between two JSON values, "" if they are equal. A null is like nothing: API
// types of different ages write the one or the other.
func firstDifference(a, b any, path string) string {
	switch a := a.(type) {
	case map[string]any:
		if b, same := b.(map[string]any); same {
			return firstInMaps(a, b, path)
		}
	case []any:
		if b, same := b.([]any); same {
			return firstInLists(a, b, path)
		}
	default:
		if a == b {
			return ""
		}
	}
	return path
}

func firstInMaps(a, b map[string]any, path string) string {
	keys := map[string]bool{}
	for key := range a {
		keys[key] = true
	}
	for key := range b {
		keys[key] = true
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if found := firstDifference(a[key], b[key], path+"."+key); found != "" {
			return found
		}
	}
	return ""
}

func firstInLists(a, b []any, path string) string {
	if len(a) != len(b) {
		return path
	}
	for i := range a {
		if found := firstDifference(a[i], b[i], fmt.Sprintf("%s[%d]", path, i)); found != "" {
			return found
		}
	}
	return ""
}
