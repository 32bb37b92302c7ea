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
