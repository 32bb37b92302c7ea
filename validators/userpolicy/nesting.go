package userpolicy

import (
	"errors"
	"fmt"
	"path"
	"strings"
)

// deepest is how deep a file may nest. OPA's parser takes memory by the square of the depth, gigabytes for a ConfigMap full of
// parentheses.
const deepest = 256

// CheckText says whether a file can be read with memory in proportion to its size: of Rego it looks at the nesting, of YAML at
// what aliases make of it. Other files pass.
func CheckText(name, text string) error {
	var err error
	switch path.Ext(name) {
	case ".rego":
		if row := tooDeep(text); row > 0 {
			err = fmt.Errorf(":%d: it nests deeper than %d", row, deepest)
		}
	case ".yaml", ".yml":
		// What is wrong beside its size says who reads it.
		if errors.Is(unfolds([]byte(text)), errUnfolded) {
			err = fmt.Errorf(": %w", errUnfolded)
		}
	}
	if err != nil {
		return fmt.Errorf("%s%w", name, err)
	}
	return nil
}

// tooDeep is the row, from 1, in which Rego nests too deep; 0 for none. Texts and comments have brackets that count for nothing.
func tooDeep(text string) int {
	row, depth := 1, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\n':
			row++
		case '(', '[', '{':
			if depth++; depth > deepest {
				return row
			}
		case ')', ']', '}':
			depth--
		case '#':
			if end := strings.IndexByte(text[i:], '\n'); end > 0 {
				i += end - 1
			}
		case '"', '`':
			end := closing(text[i:])
			row += strings.Count(text[i:i+end], "\n")
			i += end
		}
	}
	return 0
}

// closing is where a text ends that begins at 0: at its other quote, or at the end of the file.
func closing(text string) int {
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == text[0]:
			return i
		case text[i] == '\\' && text[0] == '"':
			i++
		case text[i] == '\n' && text[0] == '"': // it is not closed: OPA says so
			return i - 1
		}
	}
	return len(text) - 1
}
