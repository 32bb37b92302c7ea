package userpolicy

import (
	"encoding/base64"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/fairlead-io/fairlead/webhook/admission"
)

// masked stands in logs for what is secret.
const masked = "***"

// shortest is how long a secret value must be to be masked wherever it is; shorter ones, as 1 or yes, only as whole words, or
// they would cut holes into what the message says.
const shortest = 4

// mask takes the secrets of a request out of messages: rules' authors may have put them there. What a Secret holds is not
// shown in any form, and the values of environment variables, wherever the object has containers, neither.
type mask struct {
	// whole says that no message is shown.
	whole  bool
	values []string
}

func maskOf(req *admission.Request) mask {
	if req.Resource.Group == "" && req.Resource.Resource == "secrets" {
		return mask{whole: true}
	}
	var m mask
	for _, raw := range [][]byte{req.Object, req.OldObject} {
		var object any
		if raw == nil {
			continue
		}
		if json.Unmarshal(raw, &object) != nil {
			return mask{whole: true}
		}
		m.collect(object)
	}
	return m
}

func (m *mask) collect(value any) {
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			m.collect(element)
		}
	case map[string]any:
		if variables, ok := value["env"].([]any); ok {
			m.variables(variables)
		}
		if value["kind"] == "Secret" { // in a template, of a ResourceDistribution for one
			for _, name := range []string{"data", "stringData"} {
				m.all(value[name])
			}
		}
		for _, member := range value {
			m.collect(member)
		}
	}
}

func (m *mask) variables(list []any) {
	for _, element := range list {
		if variable, ok := element.(map[string]any); ok {
			m.add(variable["value"])
		}
	}
}

// all adds the values of a map, as they are and decoded.
func (m *mask) all(values any) {
	named, _ := values.(map[string]any)
	for _, value := range named {
		m.add(value)
		text, _ := value.(string)
		if decoded, err := base64.StdEncoding.DecodeString(text); err == nil && utf8.Valid(decoded) {
			m.add(string(decoded))
		}
	}
}

func (m *mask) add(value any) {
	if text, ok := value.(string); ok && text != "" {
		m.values = append(m.values, text)
	}
}

// apply is a message without secrets.
func (m mask) apply(message string) string {
	if m.whole {
		return masked
	}
	for _, value := range m.values {
		if len(value) >= shortest {
			message = strings.ReplaceAll(message, value, masked)
		} else {
			message = replaceWord(message, value)
		}
	}
	return message
}

// replaceWord masks a value where it is a word.
func replaceWord(message, value string) string {
	var out strings.Builder
	for {
		i := strings.Index(message, value)
		if i < 0 {
			return out.String() + message
		}
		end := i + len(value)
		before, _ := utf8.DecodeLastRuneInString(message[:i])
		after, _ := utf8.DecodeRuneInString(message[end:])
		out.WriteString(message[:i])
		if i > 0 && wordly(before) || end < len(message) && wordly(after) {
			out.WriteString(value)
		} else {
			out.WriteString(masked)
		}
		message = message[end:]
	}
}

func wordly(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
