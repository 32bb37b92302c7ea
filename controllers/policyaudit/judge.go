package policyaudit

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead-io/fairlead/validators/userpolicy"
)

// meta is what counts of an object's metadata.
type meta struct {
	Name              string            `json:"name"`
	Namespace         string            `json:"namespace"`
	Labels            map[string]string `json:"labels"`
	DeletionTimestamp string            `json:"deletionTimestamp"`
}

// head is what tells what an object is. In lists of the API server's own kinds the first two are left out.
type head struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   meta   `json:"metadata"`
}

// judgeAll asks the sets of a target about all of its objects. A list that fails is said of each of them.
func (a *Auditor) judgeAll(ctx context.Context, t *target) {
	err := a.lists.each(ctx, query{path: t.path()}, func(raw jsontext.Value) error { return a.judgeOne(ctx, t, raw) })
	if err == nil || ctx.Err() != nil {
		return
	}
	for _, s := range t.subjects {
		s.tally.left(t.GroupVersionResource, err)
	}
	if !apierrors.IsForbidden(err) { // which is a matter of the chart's values, and is in the summary
		a.Log.Error(err, "Cannot list what users' policies match", "resource", t.String())
	}
}

// perObject is how long a set may take for one object: longer than the API server would wait for most webhooks.
const perObject = 10 * time.Second

func (a *Auditor) judgeOne(ctx context.Context, t *target, raw jsontext.Value) error {
	var h head
	if err := json.Unmarshal(raw, &h, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return fmt.Errorf("reading an object: %w", err)
	}
	if h.Metadata.DeletionTimestamp != "" {
		return nil // it is on its way out
	}
	req := t.request(h.Metadata, t.whole(h, raw))
	if a.installation.Excluded(req) {
		return nil
	}
	for _, s := range t.subjects {
		if s.tally.givenUp() || !s.selects(t, h.Metadata) {
			continue
		}
		within, cancel := context.WithTimeout(ctx, perObject)
		decision, err := s.set.Evaluate(within, userpolicy.Request{Request: req, Time: a.Clock.Now()}, s.inventory)
		cancel()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if s.tally.wantsExamples() {
			decision = decision.Masked(s.set, req) // whoever may read the ConfigMap may not read all that is judged
		}
		s.tally.add(t.kind, h.Metadata, decision, err)
	}
	return nil
}

// whole is an object with its apiVersion and kind, which rules look at.
func (t *target) whole(h head, raw jsontext.Value) jsontext.Value {
	if h.Kind != "" && h.APIVersion != "" || len(raw) < 2 {
		return raw
	}
	full := fmt.Appendf(nil, `{"apiVersion":%q,"kind":%q`, t.GroupVersion().String(), t.kind)
	if rest := raw[1:]; len(h.Metadata.Name) > 0 { // there is a member at least
		full = append(append(full, ','), rest...)
		return full
	}
	return append(full, '}')
}

// selects says whether the API server would ask a set about an object. Selectors of namespaces leave objects alone that are in
// none; of a Namespace they look at its own labels.
func (s *subject) selects(t *target, m meta) bool {
	if !s.objects.Matches(labels.Set(m.Labels)) {
		return false
	}
	switch {
	case s.namespaces.Empty():
		return true
	case t.isNamespaces():
		return s.namespaces.Matches(labels.Set(m.Labels))
	case !t.namespaced:
		return true
	}
	found, known := s.tally.namespaces[m.Namespace]
	return known && s.namespaces.Matches(found)
}
