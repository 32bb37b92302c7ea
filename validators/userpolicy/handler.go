package userpolicy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/fairlead-io/fairlead/webhook/admission"
)

// HandlerOptions are what a Handler needs; all are required.
type HandlerOptions struct {
	Installation
	Sets *Sets
	// Inventory is what a set sees as data.inventory; nil for nothing.
	Inventory func(*Set) Inventory
	// Awaited says why a set that is not there may yet come, as a replica that has just started cannot know; nil if it is
	// gone, and its requests pass.
	Awaited func(name string) error
	Metrics *Metrics
	// Decisions gets a line for each decision that is not plain consent.
	Decisions *slog.Logger
	Clock     clock.PassiveClock
}

// Handler answers requests by the sets in force.
type Handler struct {
	HandlerOptions
	turns *turns
}

// NewHandler makes a Handler.
func NewHandler(o HandlerOptions) *Handler { return &Handler{HandlerOptions: o, turns: newTurns()} }

// For is the handler of a set's requests. It looks the set up when they come. Its faults are plain: with failurePolicy Fail they refuse
// what somebody wants to do, who has to be told whose set it is that has no answer.
func (h *Handler) For(name string) admission.Handler {
	return admission.HandlerFunc(func(ctx context.Context, req *admission.Request) admission.Response {
		if h.Excluded(req) {
			return admission.Allow()
		}
		response := h.answer(ctx, name, req)
		response.Plain = true
		return response
	})
}

func (h *Handler) answer(ctx context.Context, name string, req *admission.Request) admission.Response {
	set := h.Sets.Get(name)
	if set == nil {
		return h.without(name)
	}
	return h.judge(ctx, set, req)
}

// without answers for a set that is not there: the configuration has its entry still, or already.
func (h *Handler) without(name string) admission.Response {
	if err := h.Awaited(name); err != nil {
		return admission.Faulted(http.StatusServiceUnavailable, err.Error())
	}
	return admission.Allow()
}

func (h *Handler) judge(ctx context.Context, set *Set, req *admission.Request) admission.Response {
	done, err := h.turns.take(ctx, set.Name())
	if errors.Is(err, ErrBusy) {
		return admission.Faulted(http.StatusTooManyRequests, err.Error())
	}
	if err != nil {
		return admission.Failed(fmt.Errorf("waiting for the turn of the policies of %s: %w", set.Name(), err))
	}
	defer done()
	start := h.Clock.Now()
	decision, err := set.Evaluate(ctx, Request{Request: req, Time: start}, h.Inventory(set))
	h.Metrics.decided(set.Name(), decision, err, h.Clock.Since(start))
	if err != nil {
		return admission.Failed(err)
	}
	if len(decision.Violations)+len(decision.Exempt) > 0 {
		writeDecision(h.Decisions, set, req, decision)
	}
	return respond(set, req, decision)
}

const (
	// mostTold is how many warnings, and how many refusals in words, a client is shown: more than a screen.
	mostTold = 20
	// mostCauses is how many refusals an answer has for programs.
	mostCauses = 100
)

// respond is the answer to the API server.
func respond(set *Set, req *admission.Request, decision Decision) admission.Response {
	warnings, denied := told(decision.Of(Warn), set.Name()+": "), decision.Of(Deny)
	if len(denied) == 0 {
		return admission.Allow(warnings...)
	}
	details := &metav1.StatusDetails{Group: req.Resource.Group, Kind: req.Resource.Resource, Name: req.Name, UID: types.UID(req.UID)}
	for _, v := range denied[:min(len(denied), mostCauses)] {
		v = v.short()
		details.Causes = append(details.Causes, metav1.StatusCause{Type: metav1.CauseType(v.Rule), Field: v.Field, Message: v.Message})
	}
	return admission.Response{Warnings: warnings, Status: &metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Details: details,
		Message: fmt.Sprintf("the policies of %s forbid this: %s", set.Name(), strings.Join(told(denied, ""), "; ")),
	}}
}

// told are violations in words, the first ones, and how many there are besides.
func told(violations []Violation, prefix string) []string {
	texts := make([]string, 0, min(len(violations), mostTold+1))
	for i, v := range violations {
		if i == mostTold {
			return append(texts, fmt.Sprintf("%sand %d more", prefix, len(violations)-mostTold))
		}
		texts = append(texts, prefix+v.short().String())
	}
	return texts
}

// Serving are the entries of the sets in force and their paths, for those who ask what this replica serves.
func (h *Handler) Serving() map[string]string {
	serving := make(map[string]string)
	for _, set := range h.Sets.All() {
		serving[EntryName(set.Name())] = PathOf(set.Name())
	}
	return serving
}
