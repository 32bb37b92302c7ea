package userpolicy

import (
	"cmp"
	"slices"
)

// Action is what a rule does to a request that breaks it, and the most that a set may do.
type Action string

// What rules can do.
const (
	// Deny refuses the request.
	Deny Action = "deny"
	// Warn lets it pass, and the client is shown a warning.
	Warn Action = "warn"
	// DryRun lets it pass, and the log and the metrics say that it would have been refused.
	DryRun Action = "dryrun"
)

var actions = []Action{Deny, Warn, DryRun}

// rank is higher for what is harder, and 0 for no action.
func (a Action) rank() int {
	if i := slices.Index(actions, a); i >= 0 {
		return len(actions) - i
	}
	return 0
}

// AtMost is the action, but no harder than a cap; "" caps nothing.
func (a Action) AtMost(most Action) Action {
	if most != "" && most.rank() < a.rank() {
		return most
	}
	return a
}

// Violation is one breach of a rule.
type Violation struct {
	// Action is what becomes of the request for it, enforcement of the set included.
	Action Action
	// Rule is the id of the rule.
	Rule string
	// Field is the path that the rule gave, or "".
	Field   string
	Message string
}

// String is what people read: the rule's id, the field and the message.
func (v Violation) String() string {
	if v.Field == "" {
		return v.Rule + ": " + v.Message
	}
	return v.Rule + ": " + v.Field + ": " + v.Message
}

// Decision is what a set says of a request.
type Decision struct {
	// Violations are in order of action, rule, field and message, each once.
	Violations []Violation
	// Exempt are those that an exemption took away.
	Exempt []Violation
}

// What clients are told is bounded: a rule may say something about each of a thousand containers, in words that come from the
// request. A name of a rule, or a path, is longer by mistake alone; a message of 2 KiB fills a screen.
const (
	longestName    = 256
	longestField   = 512
	longestMessage = 2048
)

// short is the violation as clients are told it. What is masked is masked before.
func (v Violation) short() Violation {
	v.Rule, v.Field, v.Message = Shortened(v.Rule, longestName), Shortened(v.Field, longestField), Shortened(v.Message, longestMessage)
	return v
}

// Shortened is a text of at most so many bytes, and three dots if it was longer.
func Shortened(text string, longest int) string {
	if len(text) <= longest {
		return text
	}
	cut := longest
	for cut > 0 && text[cut]&0xC0 == 0x80 { // not within a character
		cut--
	}
	return text[:cut] + "..."
}

// Of are the violations with an action.
func (d Decision) Of(action Action) []Violation {
	return slices.DeleteFunc(slices.Clone(d.Violations), func(v Violation) bool { return v.Action != action })
}

// Allowed says whether the request may pass.
func (d Decision) Allowed() bool { return len(d.Of(Deny)) == 0 }

func ordered(violations []Violation) []Violation {
	slices.SortFunc(violations, func(a, b Violation) int {
		return cmp.Or(b.Action.rank()-a.Action.rank(), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Field, b.Field), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(violations)
}
