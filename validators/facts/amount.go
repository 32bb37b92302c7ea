package facts

import (
	"context"
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

var errNoAmount = errors.New("neither a whole number nor a percentage")

// fraction is a percentage with or without a fraction.
var fraction = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?%$`)

// amountOf is a number of things, or a percentage of a total rounded up. Neither is negative.
func amountOf(value ast.Value, total float64) (float64, error) {
	switch v := value.(type) {
	case ast.Number:
		n, ok := v.Float64()
		if ok && n >= 0 && n == math.Trunc(n) {
			return n, nil
		}
	case ast.String:
		if fraction.MatchString(string(v)) {
			percent, err := strconv.ParseFloat(strings.TrimSuffix(string(v), "%"), 64)
			return math.Ceil(percent * total / 100), err
		}
	}
	return 0, errNoAmount
}

// wrongAmounts takes an object and names, and answers those of its members with these names that are neither null nor amounts.
func wrongAmounts(_ context.Context, args []*ast.Term) (*ast.Term, error) {
	object, isObject := args[0].Value.(ast.Object)
	names, isArray := args[1].Value.(*ast.Array)
	if !isObject || !isArray {
		return none, nil
	}
	wrong := none
	names.Foreach(func(name *ast.Term) {
		member := object.Get(name)
		if member == nil || ast.ValueName(member.Value) == "null" {
			return
		}
		if _, err := amountOf(member.Value, 0); err != nil {
			wrong = ast.NewTerm(wrong.Value.(*ast.Array).Append(name))
		}
	})
	return wrong, nil
}

// resolvedAmount takes an amount and the total that a percentage refers to. A number is answered as it is, whatever it is;
// what is no amount has no answer, and another rule says so.
func resolvedAmount(_ context.Context, args []*ast.Term) (*ast.Term, error) {
	if _, is := args[0].Value.(ast.Number); is {
		return args[0], nil
	}
	number, is := args[1].Value.(ast.Number)
	if !is {
		return nil, nil
	}
	total, _ := number.Float64()
	amount, err := amountOf(args[0].Value, total)
	if err != nil {
		return nil, nil //nolint:nilerr // see above
	}
	return ast.FloatNumberTerm(amount), nil
}
