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
func document(raw []byte) (ast.Value, error) { return read(raw, true) }

// object is a document without the members that are null, which are as good as none to every decoder of Go, so that rules need not
// think of them: the API server leaves them in templates. A patch keeps them, since there they remove, and in a map of texts or
// quantities, of which a decoder makes an empty text or 0, they are that.
func object(raw []byte) (ast.Value, error) { return read(raw, false) }

func read(raw []byte, nulls bool) (ast.Value, error) {
	// The decoder reads from a bytes.Buffer in place, and copies what any other reader gives.
	r := &reader{decoder: jsontext.NewDecoder(bytes.NewBuffer(raw), lenient), nulls: nulls}
	term, err := r.next()
	if err != nil {
		return nil, err
	}
	if _, err := r.decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("after the value: more than one value, or %w", err)
	}
	return term.Value, nil
}

// reader reads one document. What is read of objects and lists that have not ended yet is kept on two stacks, since only at
// their end it is known how large they are.
type reader struct {
	decoder *jsontext.Decoder
	nulls   bool      // whether members that are null are kept
	within  ast.Value // the name of the object that is read, nil for none
	pairs   [][2]*ast.Term
	terms   []*ast.Term
}

func (r *reader) next() (*ast.Term, error) {
	token, err := r.decoder.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case jsontext.KindBeginObject:
		return r.members()
	case jsontext.KindBeginArray:
		return r.elements()
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

func (r *reader) members() (*ast.Term, error) {
	start, within := len(r.pairs), r.within
	var many ast.Object
	for r.decoder.PeekKind() != jsontext.KindEndObject {
		name, err := r.decoder.ReadToken()
		if err != nil {
			return nil, err
		}
		key := ast.InternedTerm(name.String()) // before the token is gone
		value, err := r.member(key)
		if err != nil {
			return nil, err
		}
		if _, null := value.Value.(ast.Null); null && !r.nulls {
			value = zeros[within]
		}
		if value == nil {
			continue
		}
		pairs := r.pairs[start:]
		switch same := index(pairs, key); {
		case many != nil:
			many.Insert(key, value)
		case same >= 0:
			pairs[same][1] = value
		case len(pairs) < few:
			r.pairs = append(r.pairs, [2]*ast.Term{key, value})
		default:
			many = ast.NewObject(pairs...)
			many.Insert(key, value)
		}
	}
	if many == nil {
		many = ast.NewObject(r.pairs[start:]...) // which copies them
	}
	r.pairs = r.pairs[:start]
	_, err := r.decoder.ReadToken()
	return ast.NewTerm(many), err
}

// member is the value of a member, whose nulls count if it is a patch.
func (r *reader) member(name *ast.Term) (*ast.Term, error) {
	nulls, within := r.nulls, r.within
	defer func() { r.nulls, r.within = nulls, within }()
	r.nulls, r.within = nulls || name.Value == patchMember, name.Value
	return r.next()
}

var patchMember = ast.Value(ast.String("patch"))

// zeros are what a null is in maps, by the names that these have in Pod templates and selectors. Were it none there, rules would
// judge other labels than Pods get.
var zeros = func() map[ast.Value]*ast.Term {
	zeros := make(map[ast.Value]*ast.Term)
	for _, name := range []ast.String{"annotations", "labels", "matchLabels", "nodeSelector", "options", "userAnnotations", "volumeAttributes"} {
		zeros[name] = ast.InternedTerm("")
	}
	for _, name := range []ast.String{"limits", "overhead", "requests"} {
		zeros[name] = ast.InternedTerm(0)
	}
	return zeros
}()

// index is where a name is among few.
func index(pairs [][2]*ast.Term, key *ast.Term) int {
	return slices.IndexFunc(pairs, func(pair [2]*ast.Term) bool { return pair[0].Value == key.Value })
}

func (r *reader) elements() (*ast.Term, error) {
	start := len(r.terms)
	r.within = nil
	for r.decoder.PeekKind() != jsontext.KindEndArray {
		element, err := r.next()
		if err != nil {
			return nil, err
		}
		r.terms = append(r.terms, element)
	}
	list := ast.ArrayTerm(slices.Clone(r.terms[start:])...)
	r.terms = r.terms[:start]
	_, err := r.decoder.ReadToken()
	return list, err
}
