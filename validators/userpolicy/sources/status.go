package sources

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/validators/userpolicy"
)

// StatusAnnotation is where the status of a set is, as JSON, on its ConfigMap.
const StatusAnnotation = "fairlead.io/policy-status"

// The states of a set.
const (
	// Active says that the newest version is in force.
	Active = "Active"
	// Invalid says that it is not; what was in force before still is.
	Invalid = "Invalid"
)

// longestMessage bounds what a status takes of a ConfigMap; OPA gives up after ten mistakes by itself.
const longestMessage = 4096

// Status is what the annotation says.
type Status struct {
	State string `json:"state"`
	// Observed is the hash of the newest version that was seen.
	Observed string `json:"observed"`
	// Revision is that of the rules in force, as the log has it; "" for none.
	Revision string `json:"revision,omitempty"`
	Rules    int    `json:"rules"`
	// Message says what is wrong, with file:line; Warnings what is surely not meant.
	Message  string   `json:"message,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// NotLive are rules that are not asked because the set does not see what it wants to.
	NotLive []string `json:"notLive,omitempty"`
	// NotKept says why what is in force is not kept for a restart; "" if it is.
	NotKept string `json:"notKept,omitempty"`
	// Entries are the webhooks of the set.
	Entries []string `json:"entries,omitempty"`
	// Changed is when the status became what it is.
	Changed time.Time `json:"changed"`
}

// statusOf is the status of a source, but for its time.
func statusOf(state State, missing error) Status {
	status := Status{State: Active, Observed: state.Found}
	if state.Failure != nil || state.Set == nil {
		status.State = Invalid
	}
	switch err := errors.Join(state.Failure, state.Trouble); {
	case err != nil:
		status.Message = err.Error()
	case state.Set == nil:
		status.Message = "nothing of it was read yet: is it in policies.bundles of the chart?"
	}
	if state.Set != nil {
		status.Revision, status.Rules = state.Set.Revision(), len(state.Set.Rules())
		status.Entries = []string{userpolicy.EntryName(state.Set.Name())}
		status.Warnings = state.Set.Warnings()
		if missing != nil {
			status.Message = strings.TrimSpace(status.Message + "\n" + missing.Error())
			status.NotLive = state.Set.InventoryRules()
		}
	}
	status.Message = userpolicy.Shortened(status.Message, longestMessage)
	return status
}

// next is the annotation that follows one. What is the same is left alone: a write is an event for ourselves, and would be
// answered by another one.
func next(before string, status Status, now time.Time) (string, error) {
	var old Status
	if json.Unmarshal([]byte(before), &old) == nil { // else it is nobody's, and replaced
		status.Changed = old.Changed
		if status.Revision == "" { // what is registered of a set that cannot be used stays registered
			status.Entries = old.Entries
		}
	}
	if same, err := encode(status); err != nil || same == before {
		return same, err
	}
	status.Changed = now.UTC().Truncate(time.Second)
	return encode(status)
}

func encode(status Status) (string, error) {
	text, err := json.Marshal(status)
	if err != nil {
		return "", fmt.Errorf("encoding a status: %w", err)
	}
	return string(text), nil
}
