package validators

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/open-policy-agent/opa/v1/ast"
)

// Rule is what the metadata annotation of a deny rule says about it.
type Rule struct {
	// ID names the rule in metrics, logs and the docs.
	ID string
	// Kinds are the kinds of objects it judges.
	Kinds []string
	// Title and Description say what must hold, for users.
	Title, Description string
	// Code is the HTTP status of a refusal: 422, or 403 or 400 if the annotation of the rule or of its package says so.
	Code int
}

// describe reads the annotations of every deny rule. One that is missing, or an id that is taken, is a mistake of the set:
// the table in the docs must be whole, and a violation must lead to one row of it.
func describe(parsed map[string]*ast.Module) ([]Rule, error) {
	var rules []Rule
	for _, name := range slices.Sorted(maps.Keys(parsed)) {
		module := parsed[name]
		kinds, byDefault := kindsOf(module)
		annotated := make(map[int]*ast.Annotations)
		for _, a := range module.Annotations {
			if a.Scope == "rule" {
				annotated[a.EndLoc().Row+1] = a
			}
		}
		for _, r := range module.Rules {
			if r.Head.Ref().String() != "deny" {
				continue
			}
			rule, err := describeRule(annotated[r.Location.Row], kinds, byDefault)
			if err != nil {
				return nil, fmt.Errorf("reading the metadata of the rule at %s: %w", r.Location, err)
			}
			if slices.ContainsFunc(rules, func(other Rule) bool { return other.ID == rule.ID }) {
				return nil, fmt.Errorf("reading the metadata of the rule at %s: its id %s is taken", r.Location, rule.ID)
			}
			rules = append(rules, rule)
		}
	}
	slices.SortStableFunc(rules, func(a, b Rule) int { return cmp.Compare(fmt.Sprint(a.Kinds), fmt.Sprint(b.Kinds)) })
	return rules, nil
}

// kindsOf is what the annotation of a package says: the kinds, and the code of rules that say none, which is nil for 422.
func kindsOf(module *ast.Module) (kinds []string, code any) {
	for _, a := range module.Annotations {
		if a.Scope != "package" {
			continue
		}
		if listed, ok := a.Custom["kinds"].([]any); ok {
			for _, kind := range listed {
				kinds = append(kinds, fmt.Sprint(kind))
			}
		}
		code = a.Custom["code"]
	}
	return kinds, code
}

func describeRule(a *ast.Annotations, kinds []string, byDefault any) (Rule, error) {
	if a == nil {
		return Rule{}, errors.New("there is none: add # METADATA with title, description and custom.id right above it")
	}
	id, _ := a.Custom["id"].(string)
	if id == "" || a.Title == "" || a.Description == "" || len(kinds) == 0 {
		return Rule{}, errors.New("title, description, custom.id and the package's custom.kinds are needed")
	}
	rule := Rule{ID: id, Kinds: kinds, Title: a.Title, Description: a.Description, Code: http.StatusUnprocessableEntity}
	code, given := a.Custom["code"]
	if !given {
		code = byDefault
	}
	switch fmt.Sprint(code) {
	case fmt.Sprint(nil):
	case strconv.Itoa(http.StatusForbidden):
		rule.Code = http.StatusForbidden
	case strconv.Itoa(http.StatusBadRequest):
		rule.Code = http.StatusBadRequest
	default:
		return Rule{}, fmt.Errorf("custom.code is %v: leave it out for 422, or give 403 where something may not change, or 400", code)
	}
	return rule, nil
}
