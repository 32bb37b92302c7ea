package userpolicy

import (
	"context"
	"fmt"
	"time"

	"github.com/open-policy-agent/opa/v1/rego"

	"github.com/fairlead-io/fairlead/webhook/admission"
)

// Request is what a set judges.
type Request struct {
	*admission.Request
	// Time is now, for rules that ask for it and for exemptions that end.
	Time time.Time
}

// Evaluate asks the rules that concern a request. It ends with ctx; an error means that there is no decision. Without an
// inventory, nil, rules that depend on it are not asked.
func (s *Set) Evaluate(ctx context.Context, req Request, inventory Inventory) (decision Decision, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			decision, err = Decision{}, fmt.Errorf("asking the set %s: panic: %v", s.Name(), cause)
		}
	}()
	exempt := s.source.Settings.exemptionsFor(req.Request, req.Time)
	if exempt.whole() {
		return Decision{}, nil
	}
	whole := inventory != nil && inventory.Missing() == nil
	asked, err := s.queries.of(ctx, wanted{target: targetOf(req.Request), inventory: whole})
	if err != nil || asked == nil {
		return Decision{}, err
	}
	input, err := inputOf(req.Request)
	if err != nil {
		return Decision{}, admission.Refuse(400, "reading the request: %v", err)
	}
	results, err := asked.query.Eval(ctx, rego.EvalParsedInput(input), rego.EvalTransaction(&reading{inventory}), rego.EvalTime(req.Time))
	if ctx.Err() != nil {
		return Decision{}, fmt.Errorf("asking the set %s: %w", s.Name(), ctx.Err())
	}
	if err != nil {
		return Decision{}, fmt.Errorf("asking the set %s: %w", s.Name(), err)
	}
	if len(results) != 1 || len(results[0].Expressions) != 1 {
		return Decision{}, fmt.Errorf("asking the set %s: the rules gave no answer", s.Name())
	}
	return s.read(asked.rules, results[0].Expressions[0].Value, exempt)
}

// read takes the answer apart: for each rule a list of what it says.
func (s *Set) read(rules []*Rule, answer any, exempt exemptions) (Decision, error) {
	lists, _ := answer.([]any)
	if len(lists) != len(rules) {
		return Decision{}, fmt.Errorf("asking the set %s: %d rules gave %d answers", s.Name(), len(rules), len(lists))
	}
	var decision Decision
	for i, rule := range rules {
		said, _ := lists[i].([]any)
		for _, item := range said {
			v, err := rule.violation(item)
			if err != nil {
				return Decision{}, fmt.Errorf("asking the set %s: %w", s.Name(), err)
			}
			v.Action = rule.Action.AtMost(s.source.Settings.Enforcement)
			// Not v.Rule: that may come from the request, whose sender would choose which exemption he gets.
			if exempt.rule(rule.ID) {
				decision.Exempt = append(decision.Exempt, v)
				continue
			}
			decision.Violations = append(decision.Violations, v)
		}
	}
	decision.Violations, decision.Exempt = ordered(decision.Violations), ordered(decision.Exempt)
	return decision, nil
}

// violation reads what a rule says: a message, or an object with one.
func (r *Rule) violation(item any) (Violation, error) {
	v := Violation{Rule: r.ID}
	switch said := item.(type) {
	case string:
		v.Message = said
	case map[string]any:
		v.Message, _ = said["message"].(string)
		v.Field, _ = said["field"].(string)
		if id, _ := said["rule"].(string); id != "" {
			v.Rule = id
		}
	}
	if v.Message == "" {
		return v, fmt.Errorf("the rule at %s says something without a message: it must be a text, or an object with message, and perhaps field and rule", r.Location)
	}
	return v, nil
}
