package validators

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/open-policy-agent/opa/v1/ast"
)

// document reads JSON as a value of Rego. Going through Go's maps, as OPA does by itself, costs three times as much memory,
// and reading the object was the dearest part of judging it. Of members with one name the last counts, as in every decoder
// of Go.
func document(raw []byte) (ast.Value, error) {
	decoder := jsontext.NewDecoder(bytes.NewReader(raw), lenient)
	term, err := next(decoder)
	if err != nil {
		return nil, err
	}
	if _, err := decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("after the value: more than one value, or %w", err)
	}
	return term.Value, nil
}

func next(d *jsontext.Decoder) (*ast.Term, error) {
	token, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case jsontext.KindBeginObject:
		return members(d)
	case jsontext.KindBeginArray:
		return elements(d)
	case jsontext.KindString:
		return ast.InternedTerm(token.String()), nil
	case jsontext.KindNumber:
		return ast.NumberTerm(json.Number(token.String())), nil
	case jsontext.KindNull:
		return ast.NullTerm(), nil
	default:
		return ast.InternedTerm(token.Bool()), nil
	}
}

// few is up to how many members are compared with each other for their names; of more a table is kept.
const few = 16

func members(d *jsontext.Decoder) (*ast.Term, error) {
	pairs := make([][2]*ast.Term, 0, 4) // most objects of Kubernetes have no more
	var many ast.Object
	for d.PeekKind() != jsontext.KindEndObject {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		key := ast.InternedTerm(name.String()) // before the token is gone
		value, err := next(d)
		if err != nil {
			return nil, err
		}
		switch same := index(pairs, key); {
		case many != nil:
			many.Insert(key, value)
		case same >= 0:
			pairs[same][1] = value
		case len(pairs) < few:
			pairs = append(pairs, [2]*ast.Term{key, value})
		default:
			many = ast.NewObject(pairs...)
			many.Insert(key, value)
		}
	}
	if many == nil {
		many = ast.NewObject(pairs...)
	}
	_, err := d.ReadToken()
	return ast.NewTerm(many), err
}

// index is where a name is among few.
func index(pairs [][2]*ast.Term, key *ast.Term) int {
	return slices.IndexFunc(pairs, func(pair [2]*ast.Term) bool { return pair[0].Value == key.Value })
}

func elements(d *jsontext.Decoder) (*ast.Term, error) {
	var terms []*ast.Term
	for d.PeekKind() != jsontext.KindEndArray {
		element, err := next(d)
		if err != nil {
			return nil, err
		}
		terms = append(terms, element)
	}
	_, err := d.ReadToken()
	return ast.ArrayTerm(terms...), err
}
