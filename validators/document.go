package validators

import "github.com/open-policy-agent/opa/v1/ast"

// Document reads JSON as a value of Rego.
func Document(raw []byte) (ast.Value, error) { return document(raw) }
