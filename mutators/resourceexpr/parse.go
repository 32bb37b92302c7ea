package resourceexpr

import (
	"fmt"
	"math/big"
	"strings"
)

const (
	// maxLength bounds an expression: the longest sensible one has a dozen terms.
	maxLength = 1024
	// maxDepth bounds its nesting, and so the recursion of parser and evaluation.
	maxDepth = 64
	// maxExponent bounds 1e30-like numbers, whose exact value would otherwise fill memory.
	maxExponent = 30
)

// Parse reads an expression: numbers (1, .5, 1e3, 50%), quantities with a unit m k M G T P Ki Mi Gi Ti Pi, the variables
// cpu and memory, + - * / with the usual precedence, unary minus, parentheses, max(a,b) and min(a,b).
func Parse(text string) (*Expr, error) {
	if len(text) > maxLength {
		return nil, fmt.Errorf("the expression has %d characters, more than %d", len(text), maxLength)
	}
	p := &parser{text: text}
	root, err := p.sum(0)
	if err != nil {
		return nil, err
	}
	if p.skipSpace(); p.at < len(p.text) {
		return nil, p.unexpected("an operator or the end")
	}
	return &Expr{root}, nil
}

type parser struct {
	text string
	at   int
}

func (p *parser) skipSpace() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

// peek is the next character that is not white space, 0 at the end.
func (p *parser) peek() byte {
	p.skipSpace()
	if p.at == len(p.text) {
		return 0
	}
	return p.text[p.at]
}

func (p *parser) unexpected(want string) error {
	if p.peek() == 0 {
		return fmt.Errorf("the expression ends where %s was expected", want)
	}
	return fmt.Errorf("unexpected %q at position %d, expected %s", p.text[p.at:min(p.at+8, len(p.text))], p.at+1, want)
}

func (p *parser) sum(depth int) (node, error)     { return p.chain(depth, "+-", p.product) }
func (p *parser) product(depth int) (node, error) { return p.chain(depth, "*/", p.factor) }

// chain reads operands joined by left-associative operators of one precedence.
func (p *parser) chain(depth int, operators string, operand func(int) (node, error)) (node, error) {
	left, err := operand(depth)
	if err != nil {
		return nil, err
	}
	for op := p.peek(); op != 0 && strings.IndexByte(operators, op) >= 0; op = p.peek() {
		p.at++
		right, err := operand(depth)
		if err != nil {
			return nil, err
		}
		left = binary{op, left, right}
	}
	return left, nil
}

func (p *parser) factor(depth int) (node, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("the expression is nested more than %d deep", maxDepth)
	}
	switch c := p.peek(); {
	case c == '-':
		p.at++
		of, err := p.factor(depth + 1)
		return negation{of}, err
	case c == '(':
		p.at++
		inner, err := p.sum(depth + 1)
		if err != nil {
			return nil, err
		}
		return inner, p.expect(')')
	case isDigit(c) || c == '.':
		return p.number()
	case isLetter(c):
		return p.name(depth)
	default:
		return nil, p.unexpected("a number, a quantity, a variable or a function")
	}
}

func (p *parser) expect(c byte) error {
	if p.peek() != c {
		return p.unexpected(fmt.Sprintf("%q", string(c)))
	}
	p.at++
	return nil
}

func (p *parser) name(depth int) (node, error) {
	start := p.at
	p.take(func(c byte) bool { return isLetter(c) || isDigit(c) || c == '_' })
	name := strings.ToLower(p.text[start:p.at])
	if p.peek() != '(' {
		if name != string(CPU) && name != string(Memory) {
			return nil, fmt.Errorf("unknown variable %q: use cpu or memory", name)
		}
		return variable(name), nil
	}
	if name != "max" && name != "min" {
		return nil, fmt.Errorf("unknown function %q: use max or min", name)
	}
	p.at++
	return p.arguments(name, depth)
}

// arguments reads the two arguments of a function, behind its opening parenthesis.
func (p *parser) arguments(name string, depth int) (node, error) {
	first, err := p.sum(depth + 1)
	if err != nil {
		return nil, err
	}
	if err := p.expect(','); err != nil {
		return nil, fmt.Errorf("%s takes two arguments: %w", name, err)
	}
	second, err := p.sum(depth + 1)
	if err != nil {
		return nil, err
	}
	if err := p.expect(')'); err != nil {
		return nil, fmt.Errorf("%s takes two arguments: %w", name, err)
	}
	return choice{name, [2]node{first, second}}, nil
}

func (p *parser) take(while func(byte) bool) string {
	start := p.at
	for p.at < len(p.text) && while(p.text[p.at]) {
		p.at++
	}
	return p.text[start:p.at]
}

var units = map[string]*big.Rat{
	"m": big.NewRat(1, 1000), "k": big.NewRat(1e3, 1), "M": big.NewRat(1e6, 1), "G": big.NewRat(1e9, 1),
	"T": big.NewRat(1e12, 1), "P": big.NewRat(1e15, 1),
	"Ki": big.NewRat(1<<10, 1), "Mi": big.NewRat(1<<20, 1), "Gi": big.NewRat(1<<30, 1), "Ti": big.NewRat(1<<40, 1),
	"Pi": big.NewRat(1<<50, 1),
}

// number reads 1, .5, 1e3, 50% or a quantity such as 50m.
func (p *parser) number() (node, error) {
	start := p.at
	digits := p.take(isDigit)
	if p.at < len(p.text) && p.text[p.at] == '.' {
		p.at++
		digits += p.take(isDigit)
	}
	if digits == "" {
		return nil, fmt.Errorf("%q at position %d is no number", p.text[start:p.at], start+1)
	}
	amount, _ := new(big.Rat).SetString(strings.TrimSuffix(p.text[start:p.at], "."))
	suffix := p.take(isLetter)
	if suffix == "e" || suffix == "E" {
		return p.exponent(amount)
	}
	if unit, ok := units[suffix]; ok {
		return literal{amount.Mul(amount, unit), true}, nil
	}
	if suffix != "" {
		return nil, fmt.Errorf("unknown unit %q in %q: use m, k, M, G, T, P, Ki, Mi, Gi, Ti or Pi", suffix, p.text[start:p.at])
	}
	if p.at < len(p.text) && p.text[p.at] == '%' {
		p.at++
		amount.Mul(amount, big.NewRat(1, 100))
	}
	return literal{amount, false}, nil
}

// exponent reads what follows the e of 1e3.
func (p *parser) exponent(amount *big.Rat) (node, error) {
	start := p.at
	if p.at < len(p.text) && (p.text[p.at] == '+' || p.text[p.at] == '-') {
		p.at++
	}
	digits := strings.TrimLeft(p.take(isDigit), "0")
	factor, ok := new(big.Rat).SetString("1e" + p.text[start:p.at])
	if len(digits) > 2 || !ok || (digits != "" && atoi(digits) > maxExponent) {
		return nil, fmt.Errorf("exponent %q at position %d must be a whole number from -%d to %d",
			p.text[start:p.at], start+1, maxExponent, maxExponent)
	}
	return literal{amount.Mul(amount, factor), false}, nil
}

func atoi(digits string) int {
	n := 0
	for _, d := range digits {
		n = 10*n + int(d-'0')
	}
	return n
}

func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
