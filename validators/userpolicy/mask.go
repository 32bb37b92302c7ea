package userpolicy

import (
	"cmp"
	"encoding/base64"
	stdjson "encoding/json"
	"slices"
	"strconv"
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

// mostMasking bounds the work for one decision, in bytes of messages times values that are looked for: some ten milliseconds.
// Who sends a request chooses both, a megabyte of each if he likes, and while one is masked the API server gives up and lets the
// request pass, if the failure policy is Ignore.
const mostMasking = 64 << 20

// Masked is a decision as it may be read by others than who sent the request: without what Secrets hold, and without the
// values of environment variables, of HTTP headers and of arguments.
func (d Decision) Masked(set *Set, req *admission.Request) Decision {
	if len(d.Violations)+len(d.Exempt) == 0 {
		return d
	}
	secret := maskOf(req)
	all := func(list []Violation) []Violation {
		list = slices.Clone(list)
		for i := range list {
			list[i].Field, list[i].Message = secret.apply(list[i].Field), secret.apply(list[i].Message)
			if !set.has(list[i].Rule) { // a rule may have made its name of what it saw
				list[i].Rule = secret.apply(list[i].Rule)
			}
		}
		return list
	}
	return Decision{Violations: all(d.Violations), Exempt: all(d.Exempt)}
}

// mask takes the secrets of a request out of messages: rules' authors may have put them there. What a Secret holds is not
// shown in any form, and what containers are given, wherever the object has some, neither: the values of environment variables, of
// headers of probes, and of arguments.
type mask struct {
	// whole says that no message is shown.
	whole  bool
	values []string
	// spent is how much of mostMasking is.
	spent int
}

func maskOf(req *admission.Request) *mask {
	if req.Resource.Group == "" && req.Resource.Resource == "secrets" {
		return &mask{whole: true}
	}
	m := &mask{}
	for _, raw := range [][]byte{req.Object, req.OldObject} {
		var object any
		if raw == nil {
			continue
		}
		if json.Unmarshal(raw, &object) != nil {
			return &mask{whole: true}
		}
		m.collect(object)
	}
	// The longest first: one that is a part of another would leave the rest of that.
	slices.SortFunc(m.values, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	m.values = slices.Compact(m.values)
	return m
}

func (m *mask) collect(value any) {
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			m.collect(element)
		}
	case map[string]any:
		for _, name := range []string{"env", "httpHeaders"} {
			m.named(value[name])
		}
		for _, name := range []string{"command", "args"} {
			m.arguments(value[name])
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

// named adds the values of a list of names and values, as Pods have it, or of an object of both, as other kinds do.
func (m *mask) named(values any) {
	switch values := values.(type) {
	case []any:
		for _, element := range values {
			if one, ok := element.(map[string]any); ok {
				m.add(one["value"])
			}
		}
	case map[string]any:
		for _, value := range values {
			m.add(value)
		}
	}
}

// arguments adds what a command line gives its options: in --name=value and NAME=value the value, and what follows an option without
// one. The other words, as of subcommands, may be read.
func (m *mask) arguments(list any) {
	words, _ := list.([]any)
	expected := false
	for _, element := range words {
		word, _ := element.(string)
		_, value, given := strings.Cut(word, "=")
		option := strings.HasPrefix(word, "-")
		if expected && !option {
			m.argument(word)
		}
		if given {
			m.argument(value)
		}
		expected = option && !given
	}
}

// argument adds a word unless it is short: those are numbers and switches.
func (m *mask) argument(word string) {
	if len(word) >= shortest {
		m.add(word)
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

// add adds a value, and its lines: a rule may look at one of them, or print them apart.
func (m *mask) add(value any) {
	text, ok := value.(string)
	if !ok || text == "" {
		return
	}
	m.addText(text)
	if !strings.ContainsAny(text, "\r\n") {
		return
	}
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\r' || r == '\n' }) {
		if line = strings.TrimSpace(line); len(line) >= shortest { // shorter ones are braces
			m.addText(line)
		}
	}
}

// addText adds a text as it is, and as it is within a list or an object that a rule puts into its message whole: with %v, or as
// JSON.
func (m *mask) addText(text string) {
	m.values = append(m.values, text, inner(strconv.Quote(text)))
	if escaped, err := stdjson.Marshal(text); err == nil { // no text fails
		m.values = append(m.values, inner(string(escaped)))
	}
}

// inner is a quoted text without its quotes.
func inner(quoted string) string { return quoted[1 : len(quoted)-1] }

// apply is a message without secrets; nothing of it when looking for them would take too long.
func (m *mask) apply(message string) string {
	if m.whole {
		return masked
	}
	if m.spent += len(message) * len(m.values); m.spent > mostMasking {
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
