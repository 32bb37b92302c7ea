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
	documents, err := split(name, content)
	if err != nil {
		var located *yamljson.Error
		if errors.As(err, &located) && located.Line > 0 {
			return nil, fmt.Errorf("reading %s:%d: %w", name, located.Line, err)
		}
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	var all []Document
	for _, document := range documents {
		where := fmt.Sprintf("%s:%d", name, document.Line)
		if all, err = takeApart(all, where, document.JSON); err != nil {
			return nil, fmt.Errorf("reading %w", err)
		}
	}
	return all, nil
}

func takeApart(all []Document, where string, raw jsontext.Value) ([]Document, error) {
	h, err := readHeader(raw)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", where, err)
	case h.apiVersion == "" || h.kind == "":
		return nil, fmt.Errorf("%s: apiVersion and kind are needed", where)
	case !isList(h):
		return append(all, Document{Where: where, JSON: raw}), nil
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
