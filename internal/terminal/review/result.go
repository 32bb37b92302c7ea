package review

import (
	"encoding/json"

	"github.com/fairlead-io/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/internal/terminal/coverage"
	"github.com/fairlead-io/fairlead/webhook/table"
)

// Decision is what one webhook answers.
type Decision string

// The decisions.
const (
	Allowed Decision = "Allowed"
	Changed Decision = "Changed"
	Denied  Decision = "Denied"
	// Failed is no verdict: what the webhook depends on could not be read. The failure policy decides then.
	Failed Decision = "Failed"
)

// Verdict is the answer of one webhook.
type Verdict struct {
	Webhook  string   `json:"webhook"`
	Decision Decision `json:"decision"`
	// Code, Reason and Message are those of a denial or a failure.
	Code          int32    `json:"code,omitempty"`
	Reason        string   `json:"reason,omitempty"`
	Message       string   `json:"message,omitempty"`
	FailurePolicy string   `json:"failurePolicy,omitempty"`
	Warnings      []string `json:"warnings,omitempty"`
	// NotEvaluated are match conditions by which the API server may leave the webhook out.
	NotEvaluated []string `json:"notEvaluatedMatchConditions,omitempty"`
}

// Result is what admission makes of one object.
type Result struct {
	Source string `json:"source,omitempty"`
	// TemplateOf is the workload of whose template the Pod was made, "" for an object that was in a file itself.
	TemplateOf string `json:"templateOf,omitempty"`
	Operation  string `json:"operation"`
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	Allowed    bool   `json:"allowed"`
	// Webhooks are those that are asked, in their order.
	Webhooks []Verdict `json:"webhooks,omitempty"`
	Warnings []string  `json:"warnings,omitempty"`
	// Patch has all operations of RFC 6902, of all webhooks together.
	Patch []json.RawMessage `json:"patch,omitempty"`
	// Object is what would be stored, as far as admission decides that; none when it would be deleted.
	Object json.RawMessage `json:"object,omitempty"`
	// Notes are what the person should know about this answer.
	Notes []string `json:"notes,omitempty"`
}

// notCalled notes a webhook of this very resource that a selector leaves out.
func (result *Result) notCalled(entry table.Entry, call coverage.Webhook, request coverage.Request) {
	unselective := table.Config{}.Render([]table.Entry{{
		Name: entry.Name, Mutating: entry.Mutating, Rules: entry.Rules, Scope: entry.Scope, MatchPolicy: entry.MatchPolicy,
	}}, entry.Mutating, table.Target{})
	if coverage.Of(&unselective.Webhooks[0], request).Called {
		result.Notes = append(result.Notes, entry.Name+" is not asked: "+call.Why)
	}
}

// ExitCode is what a command ends with after these results.
func ExitCode(results []*Result) int {
	code := terminal.ExitOK
	for _, result := range results {
		for _, verdict := range result.Webhooks {
			switch verdict.Decision {
			case Denied:
				return terminal.ExitFound
			case Failed:
				code = terminal.ExitUnreachable
			default:
			}
		}
	}
	return code
}
