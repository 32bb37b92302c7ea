package conversion

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/klog/v2"

	"github.com/fairlead-io/fairlead/api/conversion"
	"github.com/fairlead-io/fairlead/webhook/review"
)

// Path is where the API server sends ConversionReviews (webhook-server.md §3.4).
const Path = "/convert"

const (
	// maxBody is the largest review in bytes: the API server fills its watch caches with pages of 10,000 objects, and
	// sends the whole page at once.
	maxBody = 128 << 20
	// bodyBudget is what bodies larger than 64 KiB may hold together: one of the largest and then some. A review of
	// 121 MiB takes 240 MiB beside it until the collector comes round, so that more would not fit into a usual memory
	// limit of 512 MiB. After a restart the API server fills the caches of a dozen kinds at once; who comes too many is
	// asked to come again.
	bodyBudget = 160 << 20
	// bodyTimeout is the time for the whole body: 128 MiB at 36 Mbit/s.
	bodyTimeout = 30 * time.Second
	// maxMessages is how many objects that cannot be converted an answer names.
	maxMessages = 5
)

// Options are what a Handler needs; all are required.
type Options struct {
	Metrics *Metrics
	Log     klog.Logger
}

// Handler answers ConversionReviews, of apiextensions.k8s.io/v1 and v1beta1. It needs nothing from the cluster.
type Handler struct {
	metrics *Metrics
	log     klog.Logger
	bodies  *review.Bodies
	convert func(object jsontext.Value, apiVersion string) (conversion.Converted, error)
}

// New makes a handler.
func New(o Options) *Handler {
	return &Handler{metrics: o.Metrics, log: o.Log, bodies: review.NewBodies(maxBody, bodyBudget), convert: conversion.Convert}
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	outcome := h.serve(w, r)
	h.metrics.observe(outcome, time.Since(start))
}

func (h *Handler) serve(w http.ResponseWriter, r *http.Request) outcome {
	body, status, err := h.read(w, r)
	if err != nil {
		newAnswer(w, &request{}).fail(status, err.Error())
		if status == http.StatusTooManyRequests {
			return outcomeShed
		}
		return outcomeMalformed
	}
	defer body.Release()
	review, err := decode(body.Bytes())
	if err != nil {
		newAnswer(w, review).fail(http.StatusBadRequest, err.Error())
		return outcomeMalformed
	}
	return h.answer(newAnswer(w, review), review)
}

// read takes the body of a request that is a POST of JSON, or says with which HTTP status to refuse it.
func (h *Handler) read(w http.ResponseWriter, r *http.Request) (*review.Body, int, error) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		return nil, http.StatusMethodNotAllowed, fmt.Errorf("method %s is not served here, send a %s with POST", r.Method, kindName)
	case err != nil || media != "application/json":
		return nil, http.StatusUnsupportedMediaType, fmt.Errorf("content type %q is not understood, send application/json", r.Header.Get("Content-Type"))
	case r.Header.Get("Content-Encoding") != "" && r.Header.Get("Content-Encoding") != "identity":
		return nil, http.StatusUnsupportedMediaType, fmt.Errorf("content encoding %q is not understood, send plain JSON", r.Header.Get("Content-Encoding"))
	}
	control := http.NewResponseController(w)
	// A connection that cannot set deadlines (a test's recorder) has none to set.
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout))
	_ = control.SetWriteDeadline(time.Now().Add(bodyTimeout + writeTimeout))
	body, err := h.bodies.Read(r.Body, r.ContentLength)
	if err == nil {
		_ = control.SetReadDeadline(time.Time{})
		return body, 0, nil
	}
	// The rest of the body is still on the wire, so the connection cannot carry another request.
	w.Header().Set("Connection", "close")
	switch {
	case errors.Is(err, review.ErrTooLarge):
		return nil, http.StatusRequestEntityTooLarge, fmt.Errorf("the review is larger than %d MiB", h.bodies.Limit()>>20)
	case errors.Is(err, review.ErrBusy):
		w.Header().Set("Retry-After", "1") // the API server's client waits and tries again
		return nil, http.StatusTooManyRequests, fmt.Errorf("%w, try again", err)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, http.StatusRequestTimeout, fmt.Errorf("the body did not arrive within %s", bodyTimeout)
	default:
		return nil, http.StatusBadRequest, err
	}
}

// answer converts the objects in their order. All of them are tried, so that one look at a failure shows what there is.
func (h *Handler) answer(a *answer, review *request) outcome {
	var failures []string
	failed := 0
	for i, object := range review.objects {
		converted, err := h.one(object, review.desired)
		if err == nil {
			h.note(review, converted.Notes)
			a.add(converted.Object)
			continue
		}
		if failed++; failed <= maxMessages {
			failures = append(failures, fmt.Sprintf("request.objects[%d]: %v", i, err))
		}
	}
	h.metrics.count(len(review.objects)-failed, failed)
	if failed == 0 {
		a.succeed()
		return outcomeConverted
	}
	if failed > maxMessages {
		failures = append(failures, fmt.Sprintf("and %d more", failed-maxMessages))
	}
	message := strings.Join(failures, "; ")
	h.log.Error(nil, "Cannot convert objects", "uid", review.uid, "to", review.desired, "failed", failed, "of", len(review.objects), "message", message)
	a.fail(http.StatusOK, message)
	return outcomeFailed
}

// one converts one object. A panic is a failure of this object, and of no other request's.
func (h *Handler) one(object jsontext.Value, apiVersion string) (converted conversion.Converted, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			h.metrics.panics.Inc()
			h.log.Error(fmt.Errorf("panic: %v", cause), "Converting an object panicked", "to", apiVersion, "stack", string(debug.Stack()))
			err = errors.New("converting the object panicked, the log of the webhook has the details")
		}
	}()
	if object == nil {
		return converted, errors.New("found null, expected an object")
	}
	return h.convert(object, apiVersion)
}

func (h *Handler) note(review *request, notes []string) {
	for _, note := range notes {
		h.log.Info("Conversion gave something up", "uid", review.uid, "to", review.desired, "what", note)
	}
}
