// Package jsonwalk reads the few members that a caller wants out of a JSON document in one pass. Values come back as
// slices of the document, so that nothing is copied and whatever the caller does not know stays exactly as it was sent.
package jsonwalk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"unsafe"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// options: the API server never sends duplicate names, and looking for them costs a map per object; invalid UTF-8 is
// not ours to refuse, since we hand the bytes on untouched.
var options = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// Walker is a position in a JSON document. It is not safe for concurrent use.
type Walker struct {
	src []byte
	buf bytes.Buffer
	dec jsontext.Decoder
}

// Walk reads exactly one value from src with fn, and reports anything but white space behind it.
func Walk(src []byte, fn func(*Walker) error) error {
	w := walkers.Get().(*Walker)
	defer w.release()
	w.src, w.buf = src, *bytes.NewBuffer(src)
	w.dec.Reset(&w.buf, options)
	if err := fn(w); err != nil {
		return err
	}
	if _, err := w.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading past the document: unexpected data at byte %d", w.dec.InputOffset())
	}
	return nil
}

// walkers spare the decoder's state, most of what a walk would allocate.
var walkers = sync.Pool{New: func() any { return new(Walker) }}

func (w *Walker) release() {
	w.src, w.buf = nil, bytes.Buffer{}
	w.dec.Reset(&w.buf, options)
	walkers.Put(w)
}

// Kind is the kind of the next value: '{', '[', '"', '0', 't', 'f', 'n', or 0 at a syntax error.
func (w *Walker) Kind() jsontext.Kind { return w.dec.PeekKind() }

// Object calls fn for each member of an object, with the walker at the member's value, which fn reads; a value that fn
// leaves alone is skipped. null counts as an empty object. name aliases the document: clone it to keep it longer.
func (w *Walker) Object(fn func(name string) error) error {
	if null, err := w.open(jsontext.KindBeginObject); null || err != nil {
		return err
	}
	for w.dec.PeekKind() != jsontext.KindEndObject {
		name, err := w.name()
		if err != nil {
			return err
		}
		if err := w.consume(func() error { return fn(name) }); err != nil {
			return err
		}
	}
	_, err := w.dec.ReadToken()
	return err
}

// name reads a member's name. It aliases the document, which nobody may change while a walk's results are in use, because
// most names are only compared and a copy of each would be the larger part of a walk's cost.
func (w *Walker) name() (string, error) {
	quoted, err := w.dec.ReadValue()
	if err != nil {
		return "", err
	}
	if bytes.IndexByte(quoted, '\\') >= 0 {
		unquoted, err := jsontext.AppendUnquote(nil, quoted)
		return string(unquoted), err
	}
	if len(quoted) == len(`""`) {
		return "", nil
	}
	end := int(w.dec.InputOffset()) - 1
	start := end - len(quoted) + len(`""`)
	return unsafe.String(&w.src[start], end-start), nil
}

// Array calls fn for each element of an array, with the walker at the element, which fn reads or leaves to be
// skipped. null counts as an empty array.
func (w *Walker) Array(fn func() error) error {
	if null, err := w.open(jsontext.KindBeginArray); null || err != nil {
		return err
	}
	for w.dec.PeekKind() != jsontext.KindEndArray {
		if err := w.consume(fn); err != nil {
			return err
		}
	}
	_, err := w.dec.ReadToken()
	return err
}

// open reads the opening delimiter of kind, or null.
func (w *Walker) open(kind jsontext.Kind) (null bool, err error) {
	got := w.dec.PeekKind()
	token, err := w.dec.ReadToken()
	switch {
	case err != nil:
		return false, err
	case token.Kind() == jsontext.KindNull:
		return true, nil
	case got != kind:
		return false, w.mismatch(kind.String(), got)
	}
	return false, nil
}

// consume runs fn at a value and skips the value if fn did not read it.
func (w *Walker) consume(fn func() error) error {
	before := w.dec.InputOffset()
	if err := fn(); err != nil {
		return err
	}
	if w.dec.InputOffset() != before {
		return nil
	}
	return w.dec.SkipValue()
}

// Value reads the next value whole, as a slice of the document; null becomes nil.
func (w *Walker) Value() (jsontext.Value, error) {
	value, err := w.dec.ReadValue()
	if err != nil {
		return nil, err
	}
	if value.Kind() == jsontext.KindNull {
		return nil, nil
	}
	end := int(w.dec.InputOffset())
	return w.src[end-len(value) : end : end], nil
}

// Skip passes over the next value.
func (w *Walker) Skip() error { return w.dec.SkipValue() }

// String reads a string; null becomes "".
func (w *Walker) String() (string, error) {
	kind := w.dec.PeekKind()
	token, err := w.dec.ReadToken()
	switch {
	case err != nil:
		return "", err
	case kind == jsontext.KindNull:
		return "", nil
	case kind != jsontext.KindString:
		return "", w.mismatch("a string", kind)
	}
	return token.String(), nil
}

// Bool reads a boolean; null becomes false.
func (w *Walker) Bool() (bool, error) {
	kind := w.dec.PeekKind()
	token, err := w.dec.ReadToken()
	switch {
	case err != nil:
		return false, err
	case kind == jsontext.KindNull, kind == jsontext.KindFalse:
		return false, nil
	case kind != jsontext.KindTrue:
		return false, w.mismatch("a boolean", kind)
	}
	return token.Bool(), nil
}

// Strings reads an object whose values are strings, such as labels; null becomes nil.
func (w *Walker) Strings() (map[string]string, error) {
	if w.dec.PeekKind() == jsontext.KindNull {
		return nil, w.dec.SkipValue()
	}
	m := make(map[string]string)
	err := w.Object(func(name string) (err error) {
		m[strings.Clone(name)], err = w.String()
		return err
	})
	return m, err
}

// Offset marks the next value for Since.
func (w *Walker) Offset() int { return int(w.dec.InputOffset()) }

// Since is the value that was read after Offset gave start, as a slice of the document.
func (w *Walker) Since(start int) jsontext.Value {
	end := int(w.dec.InputOffset())
	value := jsontext.Value(w.src[start:end:end])
	return value[valueStart(value):]
}

// valueStart skips the white space, comma or colon that stands between two values.
func valueStart(b []byte) int {
	for i, c := range b {
		switch c {
		case ' ', '\t', '\r', '\n', ',', ':':
		default:
			return i
		}
	}
	return len(b)
}

// Pointer is where the walker is, as an RFC 6901 pointer, for error messages.
func (w *Walker) Pointer() string { return string(w.dec.StackPointer()) }

func (w *Walker) mismatch(want string, got jsontext.Kind) error {
	return fmt.Errorf("reading %s: expected %s, found %s", w.Pointer(), want, got)
}
