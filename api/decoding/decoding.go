package decoding

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/internal/jsontree"
)

// Into reads raw, which is at a path such as "spec", or "" for a whole object, into target, a pointer. Options are the
// decoder's, such as whether members may repeat. Whatever does not fit is an error of one line that begins with the path
// of the value.
func Into(target any, at string, raw jsontext.Value, options ...json.Options) error {
	err := json.Unmarshal(raw, target, json.JoinOptions(options...), quantities)
	if err == nil {
		return nil
	}
	var semantic *json.SemanticError
	if errors.As(err, &semantic) {
		return located(below(at, semantic.JSONPointer), errors.New(explain(semantic)))
	}
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) {
		return located(below(at, syntactic.JSONPointer), syntactic.Err)
	}
	return located(at, err)
}

func located(at string, err error) error {
	if at == "" {
		return err
	}
	return fmt.Errorf("%s: %w", at, err)
}

// below spells a pointer as Kubernetes spells the path of a field.
func below(at string, pointer jsontext.Pointer) string {
	for token := range pointer.Tokens() {
		if _, err := strconv.ParseUint(token, 10, 64); err == nil {
			at += "[" + token + "]"
		} else {
			at = jsontree.Field(at, token)
		}
	}
	return at
}
