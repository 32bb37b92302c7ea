package userpolicy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/big"
	"regexp"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/topdown/builtins"
	"go.yaml.in/yaml/v3"
)

// An evaluation ends at its deadline between the calls of builtins, not within one. What these do in one call is bounded here:
// rules hand them what a request says, and who sends it could hold up or end the process that answers for a whole cluster, or
// could have the API server give up, and let the request pass, before there is an answer.

const (
	// mostUnfolded bounds, in bytes, what YAML may become with its aliases: a text of a hundred KiB can become gigabytes.
	mostUnfolded = 8 << 20
	// mostShifted bounds bits.lsh, which else takes memory by the number that it is given.
	mostShifted = 1 << 16
	// longestAmount is far more than a quantity has.
	longestAmount = 256
)

// longExponent is one by which an amount has thousands of digits, with which OPA reckons for seconds.
var longExponent = regexp.MustCompile(`[eE][+-]?\d{4}`)

func init() {
	bound(ast.YAMLUnmarshal, func(operands []*ast.Term) error {
		text, err := builtins.StringOperand(operands[0].Value, 1)
		if err != nil {
			return err
		}
		// What is wrong with it beside its size says the builtin.
		if err := unfolds([]byte(text)); errors.Is(err, errUnfolded) {
			return builtins.NewOperandErr(1, "%v", err)
		}
		return nil
	})
	bound(ast.BitsShiftLeft, func(operands []*ast.Term) error {
		by, err := builtins.BigIntOperand(operands[1].Value, 2)
		if err == nil && by.Cmp(big.NewInt(mostShifted)) > 0 {
			err = builtins.NewOperandErr(2, "must be at most %d", mostShifted)
		}
		return err
	})
	for _, builtin := range []*ast.Builtin{ast.UnitsParse, ast.UnitsParseBytes} {
		bound(builtin, func(operands []*ast.Term) error {
			text, err := builtins.StringOperand(operands[0].Value, 1)
			if err == nil && (len(text) > longestAmount || longExponent.MatchString(string(text))) {
				err = builtins.NewOperandErr(1, "must be an amount of a few digits")
			}
			return err
		})
	}
}

// bound puts a check before a builtin. As with OPA's own errors about operands, a call that fails it is undefined.
func bound(builtin *ast.Builtin, check func(operands []*ast.Term) error) {
	call := topdown.GetBuiltin(builtin.Name)
	topdown.RegisterBuiltinFunc(builtin.Name, func(in topdown.BuiltinContext, operands []*ast.Term, iter func(*ast.Term) error) error {
		if err := check(operands); err != nil {
			return err
		}
		return call(in, operands, iter)
	})
}

var errUnfolded = fmt.Errorf("with its aliases it is larger than %d MiB", mostUnfolded>>20)

// unfolds says whether a YAML document may be read: it must be the only one, and not become too large.
func unfolds(text []byte) error {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil
	} else if err != nil {
		return err
	}
	if size := make(unfolding).size(&document); size > mostUnfolded {
		return errUnfolded
	}
	if err := decoder.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return errors.New("there is more than one document: only one is read")
	}
	return nil
}

// unfolding has the sizes of what aliases stand for, or more than is allowed while one is measured that contains itself.
type unfolding map[*yaml.Node]int

// size is how many bytes a node is without its aliases, or more than mostUnfolded.
func (u unfolding) size(node *yaml.Node) int {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if size, known := u[node]; known {
		return size
	}
	if node.Anchor != "" {
		u[node] = mostUnfolded + 1
	}
	size := len(node.Value) + 1
	for _, part := range node.Content {
		if size += u.size(part); size > mostUnfolded {
			size = mostUnfolded + 1
			break
		}
	}
	if node.Anchor != "" {
		u[node] = size
	}
	return size
}
