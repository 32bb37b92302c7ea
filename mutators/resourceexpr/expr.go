// Package resourceexpr evaluates the expressions of a SidecarSet's resourcesPolicy, such as max(cpu*50%, 50m): what a
// sidecar gets, given what its Pod's containers have (sidecarset.md §4.9). Arithmetic is exact; only the result is rounded.
package resourceexpr

import (
	"errors"
	"fmt"
	"math/big"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Resource is what an expression is about: the variable that it may use, and the precision of its result.
type Resource string

// The resources that an expression can compute.
const (
	// CPU is in cores; results have milli precision.
	CPU Resource = "cpu"
	// Memory is in bytes; results are whole.
	Memory Resource = "memory"
)

// Expr is a parsed expression.
type Expr struct {
	root node
}

// Evaluate computes the expression with the resource's variable set to value, rounded up to the resource's precision.
// A negative result, a use of quantities that has no meaning (a product of two) and a division by zero are errors.
func (e *Expr) Evaluate(r Resource, value resource.Quantity) (resource.Quantity, error) {
	result, err := e.root.eval(scope{name: string(r), value: fromQuantity(value)})
	if err != nil {
		return resource.Quantity{}, err
	}
	if result.amount.Sign() < 0 {
		return resource.Quantity{}, fmt.Errorf("the result is negative: %s", result.amount.FloatString(3))
	}
	return result.quantity(r)
}

// operand is a number, or a quantity when it has a unit or comes from a variable. Both are exact.
type operand struct {
	amount     *big.Rat
	isQuantity bool
}

// scope is the one variable that an expression may use.
type scope struct {
	name  string
	value operand
}

func fromQuantity(q resource.Quantity) operand {
	dec := q.AsDec()
	digits := int64(dec.Scale())
	power := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(max(digits, -digits)), nil))
	if digits > 0 {
		power.Inv(power)
	}
	return operand{power.Mul(power, new(big.Rat).SetInt(dec.UnscaledBig())), true}
}

var errTooLarge = errors.New("the result is larger than a quantity can be")

func (o operand) quantity(r Resource) (resource.Quantity, error) {
	if r == CPU {
		milli := ceil(new(big.Rat).Mul(o.amount, big.NewRat(1000, 1)))
		if !milli.IsInt64() {
			return resource.Quantity{}, errTooLarge
		}
		return *resource.NewMilliQuantity(milli.Int64(), resource.DecimalSI), nil
	}
	bytes := ceil(o.amount)
	if !bytes.IsInt64() {
		return resource.Quantity{}, errTooLarge
	}
	return *resource.NewQuantity(bytes.Int64(), resource.BinarySI), nil
}

// ceil rounds up, as Kubernetes does with quantities that are too precise.
func ceil(r *big.Rat) *big.Int {
	quotient, remainder := new(big.Int).QuoRem(r.Num(), r.Denom(), new(big.Int))
	if remainder.Sign() > 0 {
		quotient.Add(quotient, big.NewInt(1))
	}
	return quotient
}
