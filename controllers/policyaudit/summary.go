package policyaudit

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/validators/userpolicy"
)

// Annotation is where the summary of a set is, as JSON, on its ConfigMap.
const Annotation = "fairlead.io/policy-audit"

// Summary is what the annotation says.
type Summary struct {
	// Time is that of the first audit that found this; the metric has the time of the last one.
	Time time.Time `json:"time"`
	// Revision is that of the rules; "" for none.
	Revision string `json:"revision"`
	// Scanned is how many objects the set was asked about, and Violations what it said of them, in all and by action.
	Scanned    int            `json:"scanned"`
	Violations int            `json:"violations"`
	ByAction   map[string]int `json:"byAction,omitempty"`
	// First are the first violations.
	First []Example `json:"first,omitempty"`
	// Failed is how many objects there was no decision for, and Failure the first reason.
	Failed  int    `json:"failed,omitempty"`
	Failure string `json:"failure,omitempty"`
	// NotScanned says what was not looked at, and why; NotAsked which rules were not asked for that.
	NotScanned []string `json:"notScanned,omitempty"`
	NotAsked   []string `json:"notAsked,omitempty"`
}

// summary is that of a set; nil for one of which nothing is in force.
func (t *tally) summary(set *userpolicy.Set) Summary {
	s := Summary{
		Scanned: t.scanned, First: t.examples, Failed: t.failed, Failure: t.failure,
		NotScanned: t.missing, NotAsked: t.unasked,
	}
	if set != nil {
		s.Revision = set.Revision()
	}
	for action, n := range t.actions {
		if s.ByAction == nil {
			s.ByAction = make(map[string]int)
		}
		s.ByAction[string(action)] = n
		s.Violations += n
	}
	return s
}

// next is the annotation that follows one; the same, time included, where an audit found the same.
func next(before string, found Summary, now time.Time) (string, error) {
	var old Summary
	if json.Unmarshal([]byte(before), &old) == nil { // else it is nobody's, and replaced
		found.Time = old.Time
		same, err := json.Marshal(found)
		if err != nil || string(same) == before {
			return before, err
		}
	}
	found.Time = now.UTC().Truncate(time.Second)
	text, err := json.Marshal(found)
	return string(text), err
}

// write writes the summary of a set, if there is news. That of a bundle without a ConfigMap is in the log and the metrics alone.
func (a *Auditor) write(ctx context.Context, s *subject) error {
	if s.object == nil {
		a.Log.Info("Audited a bundle that has no ConfigMap to write a summary onto", "set", s.name, "found", s.tally.summary(s.set))
		return nil
	}
	var value any // nil takes the annotation away
	if s.wants() {
		text, err := next(s.annotation, s.tally.summary(s.set), a.Clock.Now())
		if err != nil {
			return fmt.Errorf("encoding a summary: %w", err)
		}
		if text == s.annotation {
			return nil
		}
		value = text
	} else if s.annotation == "" {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": s.object.UID, "annotations": map[string]any{Annotation: value}}})
	if err != nil {
		return fmt.Errorf("encoding a patch: %w", err)
	}
	err = a.Client.Patch(types.MergePatchType).AbsPath("/api/v1/namespaces", a.Namespace, "configmaps", s.object.Name).
		Param("fieldManager", fieldManager).Body(patch).Do(ctx).Error()
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // it is another one by now, of which the next look tells
	}
	return err
}

// fieldManager is who we are in managedFields.
const fieldManager = "fairlead-policy-audit"
