package policyaudit

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/validators/userpolicy"
)

const (
	// mostExamples is how many violations a summary names: enough to see what is wrong.
	mostExamples = 20
	// longestMessage bounds what a rule says, and mostMissing the reasons why something was not looked at. With both a summary stays
	// far below what annotations may have.
	longestMessage = 256
	mostMissing    = 20
	// mostCutOff is for how many objects a set may take longer than perObject. Then the audit goes on without it: the other sets
	// would wait for days, and the process would do nothing else.
	mostCutOff = 3
)

// tally is what an audit found of a set so far.
type tally struct {
	scanned  int
	actions  map[userpolicy.Action]int
	examples []Example
	// failed is how many objects there was no decision for, and failure the first reason.
	failed  int
	failure string
	// cutOff is how many of them took too long.
	cutOff int
	// missing says what was not looked at, and unasked which rules were not asked.
	missing, unasked []string
	// namespaces are the labels of all, for a set that selects some.
	namespaces map[string]labels.Set
}

// Example is an object that breaks a rule.
type Example struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Rule      string `json:"rule"`
	// Action is what would become of its creation: deny, warn or dryrun.
	Action  string `json:"action"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

// add counts the decision about an object.
func (t *tally) add(kind string, m meta, decision userpolicy.Decision, err error) {
	t.scanned++
	if err != nil {
		t.fail(err)
		return
	}
	if t.actions == nil {
		t.actions = make(map[userpolicy.Action]int)
	}
	for _, v := range decision.Violations {
		t.actions[v.Action]++
		if t.wantsExamples() {
			t.examples = append(t.examples, Example{
				Kind: kind, Namespace: m.Namespace, Name: m.Name, Rule: v.Rule, Action: string(v.Action), Field: cut(v.Field), Message: cut(v.Message),
			})
		}
	}
}

func (t *tally) wantsExamples() bool { return len(t.examples) < mostExamples }

func (t *tally) fail(err error) {
	if t.failed++; t.failure == "" {
		t.failure = cut(err.Error())
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		return
	}
	if t.cutOff++; t.cutOff == mostCutOff {
		t.missing = append(t.missing, fmt.Sprintf("what was left when the rules had taken more than %s for each of %d objects", perObject, mostCutOff))
	}
}

// givenUp says whether the set is not asked any more in this audit.
func (t *tally) givenUp() bool { return t.cutOff >= mostCutOff }

// left notes a resource that was not looked at, or not to its end.
func (t *tally) left(resource schema.GroupVersionResource, err error) {
	why := cut(err.Error())
	if apierrors.IsForbidden(err) {
		why = "may not be listed: see policies.audit.resources of the chart"
	}
	text := fmt.Sprintf("%s: %s", resource.GroupResource(), why)
	if len(t.missing) < mostMissing && !slices.Contains(t.missing, text) {
		t.missing = append(t.missing, text)
	}
}

func cut(text string) string { return userpolicy.Shortened(text, longestMessage) }
