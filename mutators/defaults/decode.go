package defaults

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// decodeSidecarSetSpec reads a spec whole, not only what its hash needs: container items and volumes pass the CRD's
// schema whatever they hold, and one stored object that the types cannot hold would stop every cache of SidecarSets.
func decodeSidecarSetSpec(raw jsontext.Value) (spec v1beta1.SidecarSetSpec, err error) {
	if err := json.Unmarshal(raw, &spec, decoding); err != nil {
		return spec, located("spec", err)
	}
	return spec, nil
}

var decoding = json.WithUnmarshalers(json.UnmarshalFunc(decodeQuantity))

// located says in which field, below root, a decoder failed.
func located(root string, err error) error {
	var semantic *json.SemanticError
	if errors.As(err, &semantic) {
		at := fieldPath(root, semantic.JSONPointer)
		switch {
		case semantic.Err != nil:
			return fmt.Errorf("%s: %w", at, semantic.Err)
		default:
			return fmt.Errorf("%s: %s does not fit type %s", at, semantic.JSONKind, semantic.GoType)
		}
	}
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) {
		return fmt.Errorf("%s: %w", fieldPath(root, syntactic.JSONPointer), syntactic.Err)
	}
	return fmt.Errorf("%s: %w", root, err)
}

// fieldPath spells a pointer as Kubernetes spells the path of a field.
func fieldPath(root string, pointer jsontext.Pointer) string {
	var path strings.Builder
	path.WriteString(root)
	for token := range pointer.Tokens() {
		if _, err := strconv.Atoi(token); err == nil {
			path.WriteString("[" + token + "]")
		} else {
			path.WriteString("." + token)
		}
	}
	return path.String()
}
