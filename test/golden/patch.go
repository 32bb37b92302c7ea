package golden

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Op is one operation of an RFC 6902 document.
type Op struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value"`
}

// Patch decodes a document of operations; nil has none.
func Patch(t T, raw []byte) (ops []Op) {
	t.Helper()
	if raw == nil {
		return nil
	}
	if err := json.Unmarshal(raw, &ops); err != nil {
		t.Fatalf("decoding the patch %.300s: %v", raw, err)
	}
	return ops
}

// Apply makes the document that the operations make of document, which it leaves as it is. It knows what our patches
// use: add and replace, of targets as RFC 6902 requires them.
func Apply(document any, ops []Op) (any, error) {
	for i, op := range ops {
		value, err := decode(op.Value)
		if err != nil {
			return nil, fmt.Errorf("operation %d: decoding its value: %w", i, err)
		}
		tokens := strings.Split(op.Path, "/")
		if op.Op != "add" && op.Op != "replace" || len(tokens) < 2 || tokens[0] != "" {
			return nil, fmt.Errorf("operation %d: %s of %q is nothing that our patches do", i, op.Op, op.Path)
		}
		for j, token := range tokens {
			tokens[j] = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		}
		if document, err = apply(document, tokens[1:], op.Op == "replace", value); err != nil {
			return nil, fmt.Errorf("operation %d: %s of %q: %w", i, op.Op, op.Path, err)
		}
	}
	return document, nil
}

func apply(target any, tokens []string, replace bool, value any) (any, error) {
	token, last := tokens[0], len(tokens) == 1
	switch target := target.(type) {
	case map[string]any:
		old, there := target[token]
		if !there && (replace || !last) {
			return nil, fmt.Errorf("there is no member %q", token)
		}
		target = maps.Clone(target)
		if last {
			target[token] = value
			return target, nil
		}
		inner, err := apply(old, tokens[1:], replace, value)
		target[token] = inner
		return target, err
	case []any:
		return applyToArray(target, tokens, replace, value)
	default:
		return nil, fmt.Errorf("%q is in %T, which has no members", token, target)
	}
}

func applyToArray(target []any, tokens []string, replace bool, value any) (any, error) {
	token, last := tokens[0], len(tokens) == 1
	if token == "-" && last && !replace {
		return append(slices.Clone(target), value), nil
	}
	i, err := strconv.Atoi(token)
	if err != nil || i < 0 || i > len(target) || strconv.Itoa(i) != token {
		return nil, fmt.Errorf("%q is no index of %d elements", token, len(target))
	}
	target = slices.Clone(target)
	switch {
	case last && !replace:
		return slices.Insert(target, i, value), nil
	case i == len(target):
		return nil, fmt.Errorf("there is no element %d", i)
	case last:
		target[i] = value
		return target, nil
	}
	target[i], err = apply(target[i], tokens[1:], replace, value)
	return target, err
}
