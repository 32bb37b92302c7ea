package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead-io/fairlead/webhook/admission"
	"github.com/fairlead-io/fairlead/webhook/review"
)

// endpoint answers the reviews of one route. Whatever arrives gets an AdmissionReview as its answer.
func (s *Server) endpoint(route Route) http.Handler {
	patches := s.metrics.patchOf(route.Webhooks[0])
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &call{server: s, route: &route, patches: patches, start: time.Now(), review: &review.Review{}}
		v := c.process(w, r)
		s.conns.waiting(connectionOf(r))
		c.answer(w, v)
		if c.body != nil {
			c.body.Release() // not before the answer is written: a patch may be a part of the body
		}
	})
}

// call is one request on its way through an endpoint.
type call struct {
	server *Server
	route  *Route
	// patches is the metric of the route's patches.
	patches func() prometheus.Observer
	start   time.Time
	body    *review.Body
	review  *review.Review
}

// process reads, decodes and judges a review. Its named result is what a panic turns into.
func (c *call) process(w http.ResponseWriter, r *http.Request) (v verdict) {
	defer func() {
		if cause := recover(); cause != nil {
			v = *c.panicked(cause)
		}
	}()
	body, refused := c.server.read(w, r)
	if refused != nil {
		return *refused
	}
	c.body = body
	var err error
	if c.review, err = review.Decode(body.Bytes()); err != nil {
		return *fault(malformed, http.StatusBadRequest, "%v", err)
	}
	return c.judge(w, r)
}

// verdict is an answer and how it came about, for the metrics.
type verdict struct {
	outcome  outcome
	response admission.Response
}

func fault(o outcome, code int, format string, args ...any) *verdict {
	return &verdict{o, admission.Faulted(code, fmt.Sprintf(format, args...))}
}

// read takes the body of a request that is a POST of JSON; otherwise the verdict says why not.
func (s *Server) read(w http.ResponseWriter, r *http.Request) (*review.Body, *verdict) {
	if refused := unacceptable(w, r); refused != nil {
		return nil, refused
	}
	control := http.NewResponseController(w)
	// A connection that cannot set deadlines (a test's recorder) has none to set.
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout))
	done := s.conns.waiting(connectionOf(r))
	defer done()
	body, err := s.bodies.Read(r.Body, r.ContentLength)
	if errors.Is(err, review.ErrBusy) {
		done()
		s.conns.relieve()
	}
	if err != nil {
		return nil, s.unread(w, r, err)
	}
	_ = control.SetReadDeadline(time.Time{})
	if len(body.Bytes()) > reclaimFrom {
		s.reclaimer.noteLarge()
	}
	return body, nil
}

// unacceptable is the verdict on a request that can be no review, whatever its body.
func unacceptable(w http.ResponseWriter, r *http.Request) *verdict {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return fault(malformed, http.StatusMethodNotAllowed, "method %s is not served here, send an AdmissionReview with POST", r.Method)
	}
	if !isJSON(r.Header.Get("Content-Type")) {
		return fault(malformed, http.StatusUnsupportedMediaType, "content type %q is not understood, send application/json", r.Header.Get("Content-Type"))
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return fault(malformed, http.StatusUnsupportedMediaType, "content encoding %q is not understood, send plain JSON", encoding)
	}
	return nil
}

// unread is the verdict on a body that could not be read. The rest of it is still on the wire, so the connection
// cannot carry another request.
func (s *Server) unread(w http.ResponseWriter, r *http.Request, err error) *verdict {
	w.Header().Set("Connection", "close")
	switch {
	case errors.Is(err, review.ErrTooLarge):
		discard(r, s.bodies.Limit())
		return fault(malformed, http.StatusRequestEntityTooLarge, "the review is larger than %d MiB", s.bodies.Limit()>>20)
	case errors.Is(err, review.ErrBusy):
		s.metrics.shed.WithLabelValues(shedMemory).Inc()
		return fault(shed, http.StatusTooManyRequests, "%v, try again", err)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fault(malformed, http.StatusRequestTimeout, "the body did not arrive within %s", bodyTimeout)
	default:
		return fault(malformed, http.StatusBadRequest, "%v", err)
	}
}

// judge runs the route's handler within the limits.
func (c *call) judge(w http.ResponseWriter, r *http.Request) verdict {
	s := c.server
	if err := s.gate.closed(); err != nil {
		s.metrics.shed.WithLabelValues(shedCold).Inc()
		// The next attempt had better go to another replica, which takes another connection.
		w.Header().Set("Connection", "close")
		return *fault(shed, http.StatusServiceUnavailable, "this replica is not ready: %v", err)
	}
	if !s.slots.take() {
		s.metrics.shed.WithLabelValues(shedConcurrency).Inc()
		return *fault(shed, http.StatusTooManyRequests, "too many reviews at once, try again")
	}
	defer s.slots.release()
	s.metrics.inFlight.Inc()
	defer s.metrics.inFlight.Dec()
	ctx, cancel := context.WithDeadline(r.Context(), c.start.Add(timeLeft(r.URL.RawQuery)))
	defer cancel()
	response := c.route.handler(r).Handle(ctx, c.review.Request)
	return verdict{classify(ctx, response), response}
}

// handler is who answers a request.
func (r *Route) handler(request *http.Request) admission.Handler {
	if r.Choose == nil {
		return r.Handler
	}
	return r.Choose(strings.TrimPrefix(request.URL.Path, strings.TrimSuffix(r.Path, "*")))
}

func (c *call) panicked(cause any) *verdict {
	webhook := c.route.Webhooks[0]
	c.server.metrics.panics.WithLabelValues(webhook).Inc()
	c.server.log.Error(fmt.Errorf("panic: %v", cause), "Handling a review panicked",
		"webhook", webhook, "uid", c.review.UID(), "stack", string(debug.Stack()))
	return fault(panicked, http.StatusInternalServerError, "the webhook panicked, its log has the details")
}

// answers are reused buffers for encoded answers.
var answers = sync.Pool{New: func() any { return new([]byte) }}

// answer writes the review, or the plain status, that answers a call, counts it and logs it.
func (c *call) answer(w http.ResponseWriter, v verdict) {
	code := http.StatusOK
	if v.response.Fault != 0 {
		code = v.response.Fault
	}
	if v.outcome == shed || code == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1") // the API server's client waits and tries again within its timeout
	}
	buffer := answers.Get().(*[]byte)
	if v.response.Fault != 0 && v.response.Plain {
		*buffer = review.AppendPlain((*buffer)[:0], v.response.Status)
	} else {
		*buffer = review.Append((*buffer)[:0], c.review.APIVersion, c.review.UID(), v.response)
	}
	writeJSON(w, code, *buffer)
	if cap(*buffer) <= maxPooledAnswer {
		answers.Put(buffer)
	}
	took := time.Since(c.start)
	c.server.metrics.observe(c, v.outcome, took)
	if v.outcome == mutated {
		c.patches().Observe(float64(len(v.response.Patch)))
	}
	c.log(v, took)
}

// maxPooledAnswer keeps the buffers of ordinary patches; a SidecarSet with large templates may need more once.
const maxPooledAnswer = 64 << 10

// isJSON says whether a content type is JSON, whatever its parameters.
func isJSON(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	return strings.EqualFold(strings.TrimSpace(media), "application/json")
}
