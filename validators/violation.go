package validators

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Violation is one mistake of an object.
type Violation struct {
	// Rule is the id of the rule that found it.
	Rule string
	// Field is its path as the API server spells it.
	Field string
	Type  field.ErrorType
	// Body is the message without the field, as the API server words it: `Invalid value: "x": must ...`.
	Body string
	// Code is the HTTP status that this mistake is refused with.
	Code int
}

// errorTypes are the words for kinds of mistakes that rules use, and those of the API server.
var errorTypes = map[string]field.ErrorType{
	"duplicate":   field.ErrorTypeDuplicate,
	"forbidden":   field.ErrorTypeForbidden,
	"invalid":     field.ErrorTypeInvalid,
	"notfound":    field.ErrorTypeNotFound,
	"required":    field.ErrorTypeRequired,
	"toolong":     field.ErrorTypeTooLong,
	"unsupported": field.ErrorTypeNotSupported,
}

// read takes the rules' answer apart.
func (s *ruleset) read(answer any) (Verdict, error) {
	document, ok := answer.(map[string]any)
	if !ok {
		return Verdict{}, fmt.Errorf("reading a verdict: found %T", answer)
	}
	var verdict Verdict
	denied, _ := document["deny"].([]any)
	for _, item := range denied {
		violation, err := s.violation(item)
		if err != nil {
			return Verdict{}, err
		}
		verdict.Violations = append(verdict.Violations, violation)
	}
	warned, _ := document["warn"].([]any)
	for _, item := range warned {
		verdict.Warnings = append(verdict.Warnings, fmt.Sprint(item))
	}
	slices.SortFunc(verdict.Violations, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.Field, b.Field), cmp.Compare(a.Body, b.Body), cmp.Compare(a.Rule, b.Rule))
	})
	slices.Sort(verdict.Warnings)
	return verdict, nil
}

// violation reads what a deny rule made: rule, field, type, and the API server's own body, or a message and perhaps the
// value that is wrong.
func (s *ruleset) violation(item any) (Violation, error) {
	members, _ := item.(map[string]any)
	text := func(name string) string {
		value, _ := members[name].(string)
		return value
	}
	rule, known := s.byID[text("rule")]
	if !known || text("field") == "" {
		return Violation{}, fmt.Errorf("reading a verdict: %v has no rule of the table or no field", item)
	}
	v := Violation{Rule: rule.ID, Field: text("field"), Code: rule.Code, Body: text("body"), Type: field.ErrorType(text("type"))}
	if v.Body != "" {
		return v, nil
	}
	kind, known := errorTypes[text("type")]
	if !known {
		return Violation{}, fmt.Errorf("reading a verdict: rule %s has type %q", rule.ID, text("type"))
	}
	v.Type = kind
	v.Body = (&field.Error{Type: kind, Field: v.Field, BadValue: badValue(members), Detail: text("message")}).ErrorBody()
	return v, nil
}

// longestValue is how many bytes of a text a message repeats: who wrote it knows the rest, and an answer must not be as
// long as what was sent.
const longestValue = 256

// badValue is the wrong value, if the rule gives one.
func badValue(members map[string]any) any {
	value, given := members["value"]
	if !given {
		return field.OmitValueType{}
	}
	if text, ok := value.(string); ok {
		return shortened(text)
	}
	switch value.(type) {
	case map[string]any, []any:
		if text, err := json.Marshal(value); err == nil && len(text) > longestValue {
			return shortened(string(text))
		}
	}
	return value
}

func shortened(text string) string {
	if len(text) <= longestValue {
		return text
	}
	return strings.ToValidUTF8(text[:longestValue], "") + "..."
}

// MostMistakes is how many mistakes of an object an answer tells of: nobody reads more at once, and an object of 1.5 MB can have half
// a million.
const MostMistakes = 100

// status is the refusal of an object for all of its mistakes, in the form and words of the API server's own.
func status(kind schema.GroupKind, name string, violations []Violation) *metav1.Status {
	code := codeOf(violations)
	reason, verb := metav1.StatusReasonInvalid, "invalid"
	switch code {
	case http.StatusForbidden:
		reason, verb = metav1.StatusReasonForbidden, "forbidden"
	case http.StatusBadRequest:
		reason = metav1.StatusReasonBadRequest
	}
	details := &metav1.StatusDetails{Group: kind.Group, Kind: kind.Kind, Name: name}
	var texts []string
	for _, v := range violations[:min(len(violations), MostMistakes)] {
		details.Causes = append(details.Causes, metav1.StatusCause{Type: metav1.CauseType(v.Type), Message: v.Body, Field: v.Field})
		if text := v.Field + ": " + v.Body; !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	if more := len(violations) - MostMistakes; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more mistakes", more))
	}
	all := strings.Join(texts, ", ")
	if len(texts) > 1 {
		all = "[" + all + "]"
	}
	return &metav1.Status{
		Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Details: details,
		Message: fmt.Sprintf("%s %q is %s: %s", kind.String(), name, verb, all),
	}
}

// codeOf is the code of all, which one mistake that may be corrected keeps from being 403.
func codeOf(violations []Violation) int {
	code := http.StatusForbidden
	for _, v := range violations {
		if v.Code != http.StatusForbidden && code != http.StatusUnprocessableEntity {
			code = v.Code
		}
	}
	return code
}
