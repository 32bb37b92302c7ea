package artifact

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// WithoutToolDigests takes the digests of the program that made a bill of materials out of it, a CycloneDX document in JSON.
// That program is compiled wherever a release is made, and is not the same everywhere.
func WithoutToolDigests(materials []byte) ([]byte, error) {
	var document map[string]any
	decoder := json.NewDecoder(bytes.NewReader(materials))
	decoder.UseNumber()
	if err := decoder.Decode(&document); err != nil {
		return nil, fmt.Errorf("reading the bill of materials: %w", err)
	}
	metadata, _ := document["metadata"].(map[string]any)
	tools, ok := metadata["tools"].([]any)
	if !ok {
		return nil, fmt.Errorf("reading the bill of materials: metadata.tools is %T, want a list", metadata["tools"])
	}
	for _, t := range tools {
		if tool, ok := t.(map[string]any); ok {
			delete(tool, "hashes")
		}
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false) // names of packages have & in them
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(document); err != nil {
		return nil, fmt.Errorf("writing the bill of materials: %w", err)
	}
	return out.Bytes(), nil
}
