// Package yamljson turns YAML documents into JSON that means what `kubectl apply -f` would make of them, and exactly:
// numbers of any size and precision stay as they are written, while the usual way through float64 rounds integers
// beyond 2^53.
package yamljson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// maxOutput bounds what aliases may expand to: a document of a few hundred bytes can ask for gigabytes.
const maxOutput = 64 << 20

// Document is one document of a stream.
type Document struct {
	// Line is where it starts, from 1.
	Line int
	JSON jsontext.Value
}

// Error is a mistake and the line, from 1, that it is on; 0 if that is unknown.
type Error struct {
	Line int
	Err  error
}

// Error gives the message without the line.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Convert reads all documents of a stream; empty ones are left out. The error is an *Error.
func Convert(src []byte) ([]Document, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(src))
	var documents []Document
	for {
		var root yaml.Node
		err := decoder.Decode(&root)
		switch {
		case errors.Is(err, io.EOF):
			return documents, nil
		case err != nil:
			return nil, located(err)
		case len(root.Content) == 0 || isNull(root.Content[0]):
			continue
		}
		e := encoder{open: make(map[*yaml.Node]bool)}
		if err := e.value(root.Content[0]); err != nil {
			return nil, err
		}
		documents = append(documents, Document{Line: root.Content[0].Line, JSON: e.out})
	}
}

func isNull(node *yaml.Node) bool {
	return node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null"
}

// position is how the parser says where it stopped.
var position = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

func located(err error) *Error {
	found := position.FindStringSubmatch(err.Error())
	if found == nil {
		return &Error{Err: err}
	}
	line, _ := strconv.Atoi(found[1]) // no line is 0
	message := err.Error()[len(found[0]):]
	if line > 0 && strings.HasPrefix(message, "did not find expected") {
		line++ // the library counts these, its parser's, from 0, and its scanner's from 1
	}
	return &Error{Line: line, Err: errors.New(message)}
}

func wrong(node *yaml.Node, format string, args ...any) *Error {
	return &Error{Line: node.Line, Err: fmt.Errorf(format, args...)}
}
