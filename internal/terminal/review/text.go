package review

import (
	"encoding/json"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/terminal"
)

// shownValue is how much of an operation's value is shown on one line; the object below has all of it.
const shownValue = 100

// Print writes a result for people.
func Print(t *terminal.Text, r *Result, object bool) {
	t.Line("%s", t.In(terminal.Bold, title(r)))
	for _, verdict := range r.Webhooks {
		t.Line("  %s: %s", verdict.Webhook, words(t, verdict))
	}
	for _, note := range r.Notes {
		t.Line("  %s %s", t.In(terminal.Dim, "note:"), note)
	}
	for _, warning := range r.Warnings {
		t.Line("  %s %s", t.In(terminal.Warn, "warning:"), warning)
	}
	t.Line("  %s", conclusion(t, r))
	if len(r.Patch) > 0 {
		t.Line("patch:")
		for _, operation := range r.Patch {
			t.Line("  %s", operationText(operation))
		}
	}
	if object && r.Allowed && len(r.Patch) > 0 {
		printObject(t, r.Object)
	}
}

func title(r *Result) string {
	what := fmt.Sprintf("%s %s", r.Kind, r.Name)
	if r.Namespace != "" {
		what = fmt.Sprintf("%s %s/%s", r.Kind, r.Namespace, r.Name)
	}
	from := r.Source
	if r.TemplateOf != "" {
		from += ", the template of " + r.TemplateOf
	}
	return fmt.Sprintf("%s %s (%s)", strings.ToLower(r.Operation), what, from)
}

func words(t *terminal.Text, v Verdict) string {
	switch v.Decision {
	case Changed:
		return t.In(terminal.Good, "changes it") + provided(v)
	case Denied:
		return t.In(terminal.Bad, fmt.Sprintf("denies it (%d %s)", v.Code, v.Reason)) + provided(v) + ": " + v.Message
	case Failed:
		return t.In(terminal.Bad, fmt.Sprintf("cannot judge it (%d)", v.Code)) + ": " + v.Message +
			"; its failure policy is " + v.FailurePolicy
	default:
		return t.In(terminal.Good, "allows it")
	}
}

// provided says of a verdict that the API server may not ask for it.
func provided(v Verdict) string {
	if len(v.NotEvaluated) == 0 {
		return ""
	}
	return ", if its match conditions hold"
}

func conclusion(t *terminal.Text, r *Result) string {
	switch {
	case !r.Allowed:
		return t.In(terminal.Bad, "=> refused")
	case len(r.Webhooks) == 0:
		return t.In(terminal.Good, "=> allowed: no webhook of Fairlead is asked")
	case len(r.Patch) == 0:
		return t.In(terminal.Good, "=> allowed, unchanged")
	default:
		return t.In(terminal.Good, "=> allowed, changed ("+terminal.Counted(len(r.Patch), "operation")+")")
	}
}

func operationText(raw json.RawMessage) string {
	var operation struct {
		Op, Path, From string
		Value          json.RawMessage
	}
	if err := json.Unmarshal(raw, &operation); err != nil {
		return string(raw)
	}
	text := fmt.Sprintf("%-7s %s", operation.Op, operation.Path)
	if operation.Value != nil {
		text += "  " + shorten(string(operation.Value))
	}
	return text
}

func shorten(text string) string {
	if runes := []rune(text); len(runes) > shownValue {
		return string(runes[:shownValue]) + " ..."
	}
	return text
}

func printObject(t *terminal.Text, object json.RawMessage) {
	text, err := yaml.JSONToYAML(object)
	if err != nil {
		t.Line("object: %s", object)
		return
	}
	t.Line("object:")
	for line := range strings.Lines(string(text)) {
		t.Line("  %s", strings.TrimRight(line, "\n"))
	}
}
