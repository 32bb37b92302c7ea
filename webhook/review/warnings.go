package review

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxWarning is the number of characters to which the API server cuts a warning once there are many.
	maxWarning = 256
	// maxWarnings is the number of characters that the API server sends to the client for all warnings of a request,
	// ours and other webhooks'; a quarter of its 4096 leaves room for the others.
	maxWarnings = 1024
)

// presentable makes warnings fit for the HTTP headers that the API server puts them in: control characters, which
// make it drop a warning, become spaces; long ones are cut; past the limit the rest is counted. Order and wording of
// the first ones are kept.
func presentable(warnings []string) []string {
	out := make([]string, 0, len(warnings))
	total := 0
	for i, warning := range warnings {
		warning = cut(oneLine(warning))
		total += utf8.RuneCountInString(warning)
		if total > maxWarnings {
			return append(out, fmt.Sprintf("and %d more warnings", len(warnings)-i))
		}
		out = append(out, warning)
	}
	return out
}

func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r // invalid UTF-8 arrives as U+FFFD
	}, s)
}

func cut(s string) string {
	if utf8.RuneCountInString(s) <= maxWarning {
		return s
	}
	runes := []rune(s)
	return string(runes[:maxWarning-1]) + "…"
}
