package objects

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/webhook/objects/yamljson"
)

// entry is an object in a file.
type entry struct {
	key key
	// raw is nil once the object was fed: the file has it, and sum tells whether it is still the same.
	raw jsontext.Value
	sum [sha256.Size]byte
	// where is `file:line`, with the index within a List.
	where string
}

// isObjectFile says whether a file of this name is read. Hidden ones are not: a mounted ConfigMap keeps its data in
// `..2024_01_01...` folders, and editors keep their swap files so.
func isObjectFile(name string) bool {
	if strings.HasPrefix(name, ".") {
		return false
	}
	switch filepath.Ext(name) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// parser reads files into entries of the kinds that somebody is told of, and notes the other kinds.
type parser struct {
	kinds   map[schema.GroupKind]Kind
	ignored map[schema.GroupKind]int
}

// file reads all objects of a file. An error names the file and the line.
func (p parser) file(name string, content []byte) ([]entry, error) {
	found, err := documents(name, content)
	if err != nil {
		return nil, err
	}
	var entries []entry
	for _, d := range found {
		kind, known := p.kinds[d.groupKind()]
		switch {
		case !known:
			p.ignored[d.groupKind()]++
		case d.metadata.Name == "":
			return nil, fmt.Errorf("reading %s: metadata.name is missing", d.Where)
		default:
			entries = append(entries, entry{
				key: key{kind.GroupKind, namespaceOf(kind, d.header), d.metadata.Name}, raw: d.JSON, sum: sha256.Sum256(d.JSON), where: d.Where,
			})
		}
	}
	return entries, nil
}

// namespaceOf is the namespace that an object is in: none for cluster-scoped kinds, whatever the file says.
func namespaceOf(kind Kind, h header) string {
	switch {
	case kind.ClusterScoped:
		return ""
	case h.metadata.Namespace == "":
		return "default"
	default:
		return h.metadata.Namespace
	}
}

// split separates the documents of a file. JSON stays byte for byte as it is, also in a YAML file.
func split(name string, content []byte) ([]yamljson.Document, error) {
	isJSON := filepath.Ext(name) == ".json"
	if text := bytes.TrimLeft(content, " \t\r\n"); isJSON || bytes.HasPrefix(text, []byte("{")) {
		documents, err := splitJSON(content)
		if err == nil || isJSON {
			return documents, err
		}
	}
	return yamljson.Convert(content)
}

// splitJSON separates JSON values that follow each other.
func splitJSON(content []byte) ([]yamljson.Document, error) {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(content), jsontext.AllowInvalidUTF8(true))
	var documents []yamljson.Document
	for {
		value, err := decoder.ReadValue()
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			return nil, &yamljson.Error{Line: lineAt(content, decoder.InputOffset(), err), Err: err}
		}
		end := int(decoder.InputOffset())
		start := end - len(value)
		documents = append(documents, yamljson.Document{Line: lineOf(content, start), JSON: content[start:end:end]})
	}
}

func lineAt(content []byte, offset int64, err error) int {
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		offset = syntax.ByteOffset
	}
	return lineOf(content, int(offset))
}

func lineOf(content []byte, offset int) int {
	return 1 + bytes.Count(content[:min(offset, len(content))], []byte("\n"))
}
