package objects

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/webhook/objects/yamljson"
)

// Document is an object in a file.
type Document struct {
	// Where is `file:line`, with the index within a List.
	Where string
	JSON  jsontext.Value
}

// Documents reads all objects of a file's content, YAML or JSON, Lists taken apart. Each must have an apiVersion and a
// kind. An error names the file and the line.
func Documents(name string, content []byte) ([]Document, error) {
	found, err := documents(name, content)
	if err != nil {
		return nil, err
	}
	all := make([]Document, 0, len(found))
	for _, d := range found {
		all = append(all, d.Document)
	}
	return all, nil
}

// document is a Document whose header was read.
type document struct {
	Document
	header
}

func documents(name string, content []byte) ([]document, error) {
	parts, err := split(name, content)
	if err != nil {
		var located *yamljson.Error
		if errors.As(err, &located) && located.Line > 0 {
			return nil, fmt.Errorf("reading %s:%d: %w", name, located.Line, err)
		}
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	var all []document
	for _, part := range parts {
		where := fmt.Sprintf("%s:%d", name, part.Line)
		if all, err = takeApart(all, where, part.JSON); err != nil {
			return nil, fmt.Errorf("reading %w", err)
		}
	}
	return all, nil
}

// takeApart adds an object, or each item of a List.
func takeApart(all []document, where string, raw jsontext.Value) ([]document, error) {
	h, err := readHeader(raw)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", where, err)
	case h.apiVersion == "" || h.kind == "":
		return nil, fmt.Errorf("%s: apiVersion and kind are needed", where)
	case !isList(h):
		return append(all, document{Document{Where: where, JSON: raw}, h}), nil
	}
	items, err := elements(h.items)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	for i, item := range items {
		if all, err = takeApart(all, fmt.Sprintf("%s items[%d]", where, i), item); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func isList(h header) bool { return strings.HasSuffix(h.kind, "List") && h.items != nil }
