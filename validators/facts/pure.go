package facts

import (
	"context"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-io/fairlead/mutators/resourceexpr"
	"github.com/fairlead-io/fairlead/validators"
)

// pure are the builtins whose answer depends on their arguments alone. Those that judge text answer "" if it is right.
func pure() []validators.Builtin {
	return []validators.Builtin{
		judging("fairlead.int_or_percent_error", 1, func(args []*ast.Term) string { return intOrPercent(args[0].Value) }),
		judging("fairlead.regex_error", 1, func(args []*ast.Term) string { return regex(text(args[0])) }),
		judging("fairlead.resource_expression_error", 2, func(args []*ast.Term) string {
			return expression(text(args[0]), resourceexpr.Resource(text(args[1])))
		}),
		{Name: "fairlead.amount", Arity: 1, Call: func(_ context.Context, args []*ast.Term) (*ast.Term, error) {
			_, err := amountOf(args[0].Value, 0)
			return ast.InternedTerm(err == nil), nil
		}},
		{Name: "fairlead.wrong_amounts", Arity: 2, Call: wrongAmounts},
		{Name: "fairlead.same_but", Arity: 3, Call: sameBut},
		{Name: "fairlead.resolved_amount", Arity: 2, Call: resolvedAmount},
		{Name: "fairlead.qualified_name_errors", Arity: 1, Call: func(_ context.Context, args []*ast.Term) (*ast.Term, error) {
			return term(append([]string{}, validation.IsQualifiedName(text(args[0]))...))
		}},
		{Name: "fairlead.label_selector_errors", Arity: 2, Call: selectorErrors},
		{Name: "fairlead.label_selector_matches", Arity: 2, Call: selectorMatches},
		{Name: "fairlead.label_selector_misses", Arity: 2, Call: selectorMisses},
	}
}

func judging(name string, arity int, judge func(args []*ast.Term) string) validators.Builtin {
	return validators.Builtin{Name: name, Arity: arity, Call: func(_ context.Context, args []*ast.Term) (*ast.Term, error) {
		return ast.StringTerm(judge(args)), nil
	}}
}

// text is a string, or "" for anything else.
func text(t *ast.Term) string {
	s, _ := t.Value.(ast.String)
	return string(s)
}

// term makes a Go value one of Rego.
func term(value any) (*ast.Term, error) {
	converted, err := ast.InterfaceToValue(value)
	if err != nil {
		return nil, err
	}
	return ast.NewTerm(converted), nil
}

// percentage has no more digits than whoever computes with it can read.
var percentage = regexp.MustCompile(`^[0-9]{1,9}%$`)

func intOrPercent(value ast.Value) string {
	const wanted = `must be a number that is not negative, or a percentage such as "20%"`
	switch v := value.(type) {
	case ast.Number:
		if n, ok := v.Int64(); ok && n >= 0 {
			return ""
		}
	case ast.String:
		if percentage.MatchString(string(v)) {
			return ""
		}
	}
	return wanted
}

func regex(pattern string) string {
	if pattern == "" {
		return "must not be empty; .* matches every name"
	}
	if _, err := syntax.Parse(pattern, syntax.Perl); err != nil {
		return "must be a regular expression of RE2: " + strings.TrimPrefix(err.Error(), "error parsing regexp: ")
	}
	return ""
}

// expression evaluates with the variable set to 1, which is a quantity: what is negative there, or has no meaning with
// quantities, is refused.
func expression(source string, of resourceexpr.Resource) string {
	parsed, err := resourceexpr.Parse(source)
	if err != nil {
		return err.Error()
	}
	if _, err := parsed.Evaluate(of, resource.MustParse("1")); err != nil {
		return fmt.Sprintf("with %s = 1: %v", of, err)
	}
	return ""
}

// decode reads a Rego value as a Go type.
func decode[T any](t *ast.Term) (value T, err error) {
	return value, ast.As(t.Value, &value)
}

func selectorErrors(_ context.Context, args []*ast.Term) (*ast.Term, error) {
	selector, err := selectorOf(args[1])
	if err != nil {
		return nil, err
	}
	at := field.NewPath(text(args[0]))
	errs := metavalidation.ValidateLabelSelector(&selector, metavalidation.LabelSelectorValidationOptions{}, at)
	if len(errs) == 0 {
		return none, nil
	}
	return listed(errs)
}

// none is the answer that nearly every object gets.
var none = ast.ArrayTerm()

// problem is a mistake in the words of somebody else, as a deny rule passes it on.
func problem(at, kind, body string) map[string]any {
	return map[string]any{"field": at, "type": kind, "body": body}
}

// selectorMatches takes a selector and labels. Somebody's broken selector matches nothing.
func selectorMatches(_ context.Context, args []*ast.Term) (*ast.Term, error) {
	matches, _, err := selects(args[0], args[1])
	return ast.InternedTerm(matches), err
}

// selectorMisses says whether a selector that asks for something leaves labels out. A broken one has another mistake.
func selectorMisses(_ context.Context, args []*ast.Term) (*ast.Term, error) {
	matches, asks, err := selects(args[0], args[1])
	return ast.InternedTerm(asks && !matches), err
}

// selects says whether a selector matches labels, and whether it asks for anything that can be told.
func selects(selectorTerm, labelsTerm *ast.Term) (matches, asks bool, err error) {
	selector, err := selectorOf(selectorTerm)
	if err != nil {
		return false, false, nil //nolint:nilerr // broken
	}
	set, plain := stringsOf(labelsTerm.Value)
	if !plain {
		if set, err = decode[map[string]string](labelsTerm); err != nil {
			return false, false, err
		}
	}
	compiled, err := metav1.LabelSelectorAsSelector(&selector)
	if err != nil {
		return false, false, nil //nolint:nilerr // broken
	}
	return compiled.Matches(labels.Set(set)), !compiled.Empty(), nil
}

// selectorOf reads a label selector. One of labels alone, which is what most are, is read as it is: a detour over JSON costs
// more than all the judging.
func selectorOf(t *ast.Term) (metav1.LabelSelector, error) {
	if object, is := t.Value.(ast.Object); is && object.Len() == 1 {
		if wanted := object.Get(matchLabels); wanted != nil {
			if found, plain := stringsOf(wanted.Value); plain {
				return metav1.LabelSelector{MatchLabels: found}, nil
			}
		}
	}
	return decode[metav1.LabelSelector](t)
}

var matchLabels = ast.InternedTerm("matchLabels")

// stringsOf reads an object that has nothing but strings.
func stringsOf(value ast.Value) (found map[string]string, plain bool) {
	object, is := value.(ast.Object)
	if !is {
		return nil, false
	}
	found = make(map[string]string, object.Len())
	broken := object.Until(func(k, v *ast.Term) bool {
		key, keyed := k.Value.(ast.String)
		label, labelled := v.Value.(ast.String)
		found[string(key)] = string(label)
		return !keyed || !labelled
	})
	return found, !broken
}
