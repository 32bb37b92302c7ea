package yamljson

import (
	"encoding/json"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// number is what JSON takes as a number.
var number = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)

// oldBooleans are booleans in YAML 1.1, which kubectl reads; to the parser, which reads 1.2, they are strings.
var oldBooleans = map[string]bool{
	"y": true, "Y": true, "yes": true, "Yes": true, "YES": true, "on": true, "On": true, "ON": true,
	"n": false, "N": false, "no": false, "No": false, "NO": false, "off": false, "Off": false, "OFF": false,
}

// scalar is the JSON of a scalar.
func scalar(node *yaml.Node) ([]byte, error) {
	const notPlain = yaml.TaggedStyle | yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	switch tag := node.ShortTag(); tag {
	case "!!str":
		if value, old := oldBooleans[node.Value]; old && node.Style&notPlain == 0 {
			return strconv.AppendBool(nil, value), nil
		}
		return quote(nil, node.Value), nil
	case "!!timestamp", "!!merge": // a date is a string to Kubernetes, and `<<` merges only as a key
		return quote(nil, node.Value), nil
	case "!!null":
		return []byte("null"), nil
	case "!!bool":
		return boolean(node)
	case "!!int":
		return integer(node)
	case "!!float":
		return float(node)
	default:
		return nil, wrong(node, "the tag %s has no JSON form", tag)
	}
}

func boolean(node *yaml.Node) ([]byte, error) {
	if value, old := oldBooleans[node.Value]; old { // only with an explicit !!bool
		return strconv.AppendBool(nil, value), nil
	}
	value, err := strconv.ParseBool(strings.ToLower(node.Value))
	if err != nil {
		return nil, wrong(node, "%q is no boolean", node.Value)
	}
	return strconv.AppendBool(nil, value), nil
}

// integer takes the notations of YAML 1.1: octal 0777, 0x1f, 0b1, 1_000, +5.
func integer(node *yaml.Node) ([]byte, error) {
	text := strings.ReplaceAll(node.Value, "_", "")
	if number.MatchString(text) {
		return []byte(text), nil
	}
	value, ok := new(big.Int).SetString(strings.TrimPrefix(text, "+"), 0)
	if !ok {
		return nil, wrong(node, "%q is no integer", node.Value)
	}
	return value.Append(nil, 10), nil
}

// float keeps what is JSON already as it is, and reads the rest as kubectl does.
func float(node *yaml.Node) ([]byte, error) {
	text := strings.ReplaceAll(node.Value, "_", "")
	if number.MatchString(text) {
		return []byte(text), nil
	}
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, wrong(node, "%q is no number that JSON has", node.Value)
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return nil, wrong(node, "%q is no number that JSON has", node.Value)
	}
	return encoded, nil
}
