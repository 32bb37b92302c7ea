package resourceexpr

import (
	"errors"
	"fmt"
	"math/big"
)

// node is a part of a parsed expression.
type node interface {
	eval(scope) (operand, error)
}

type literal operand

func (l literal) eval(scope) (operand, error) { return operand(l), nil }

// variable is lower case: names are case-insensitive.
type variable string

func (v variable) eval(s scope) (operand, error) {
	if string(v) != s.name {
		return operand{}, fmt.Errorf("unknown variable %q: only %q can be used here", string(v), s.name)
	}
	return s.value, nil
}

type negation struct{ of node }

func (n negation) eval(s scope) (operand, error) {
	o, err := n.of.eval(s)
	if err != nil {
		return operand{}, err
	}
	return operand{new(big.Rat).Neg(o.amount), o.isQuantity}, nil
}

type binary struct {
	op          byte
	left, right node
}

func (b binary) eval(s scope) (operand, error) {
	left, err := b.left.eval(s)
	if err != nil {
		return operand{}, err
	}
	right, err := b.right.eval(s)
	if err != nil {
		return operand{}, err
	}
	switch b.op {
	case '+':
		return operand{new(big.Rat).Add(left.amount, right.amount), left.isQuantity || right.isQuantity}, nil
	case '-':
		return operand{new(big.Rat).Sub(left.amount, right.amount), left.isQuantity || right.isQuantity}, nil
	case '*':
		return multiply(left, right)
	default:
		return divide(left, right)
	}
}

func multiply(left, right operand) (operand, error) {
	if left.isQuantity && right.isQuantity {
		return operand{}, errors.New("two quantities cannot be multiplied: one of the factors must be a plain number")
	}
	return operand{new(big.Rat).Mul(left.amount, right.amount), left.isQuantity || right.isQuantity}, nil
}

func divide(left, right operand) (operand, error) {
	if right.isQuantity {
		return operand{}, errors.New("a quantity cannot be a divisor: divide by a plain number")
	}
	if right.amount.Sign() == 0 {
		return operand{}, errors.New("division by zero")
	}
	return operand{new(big.Rat).Quo(left.amount, right.amount), left.isQuantity}, nil
}

// choice is max or min of two.
type choice struct {
	name string
	args [2]node
}

func (c choice) eval(s scope) (operand, error) {
	left, err := c.args[0].eval(s)
	if err != nil {
		return operand{}, err
	}
	right, err := c.args[1].eval(s)
	if err != nil {
		return operand{}, err
	}
	chosen := left
	if larger := right.amount.Cmp(left.amount) > 0; larger == (c.name == "max") {
		chosen = right
	}
	return operand{chosen.amount, left.isQuantity || right.isQuantity}, nil
}
