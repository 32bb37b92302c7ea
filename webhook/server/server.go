// Package server serves admission handlers over HTTPS: limits, deadlines, overload, drain, health and metrics. Which
// handlers there are is the table's matter; what a request means is theirs.
package server

import (
	"crypto/tls"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-chi/chi/v5"
	"k8s.io/klog/v2"

	"github.com/fairlead-io/fairlead/webhook/admission"
	"github.com/fairlead-io/fairlead/webhook/review"
)

const (
	// MaxBody is the largest review in bytes. The API server sends objects up to its own limit of 3 MiB, and an UPDATE
	// carries two of them.
	MaxBody = 10 << 20
	// bodyBudget is what bodies larger than 64 KiB may hold together: a dozen of the largest, a quarter of a usual
	// memory limit of 512 MiB.
	bodyBudget = 128 << 20
	// DefaultMaxInFlight is what one API server with default limits (400 reading, 200 mutating) can have outstanding.
	DefaultMaxInFlight = 600

	// bodyTimeout is the time for the whole body: 10 MiB at 8 Mbit/s.
	bodyTimeout = 10 * time.Second
	// writeTimeout is the time from the header's end to the answer's: more than the longest webhook timeout, 30 s. It ends
	// TLS handshakes too.
	writeTimeout = 40 * time.Second
	// idleTimeout is above the 90 s after which the API server's client closes a connection itself, so that it never
	// sends a request into a connection that we are closing. It counts as well until the first request: that client dials
	// one connection for each request that finds none free, and keeps those it had no use for. Who dribbles a header
	// meanwhile is dealt with by the bound of connections.
	idleTimeout = 120 * time.Second
	// maxHeader is ample for the API server's headers; the library's default is 1 MiB a connection.
	maxHeader = 64 << 10
	// maxStreams bounds what one HTTP/2 connection may ask at once. No API server asks webhooks over HTTP/2; others that do
	// open another connection.
	maxStreams = 16
)

// Route is one URL path and the handler behind it.
type Route struct {
	// Path is whole, or ends with /* for all paths below it, of which Choose then takes the rest.
	Path string
	// Webhooks are the names of the table's entries that send their requests here, at least one.
	Webhooks []string
	Handler  admission.Handler
	// Choose finds the handler of a request by the rest of its path, in place of Handler.
	Choose func(rest string) admission.Handler
	// Serving are the webhooks that are served below the path now, and their paths, in place of Webhooks. Those are then for
	// the metrics alone, whose labels must not come and go with what users write.
	Serving func() map[string]string
	// Retired says that these webhooks are not served any more: requests come only until the API servers know.
	Retired bool
}

// Options are what a Server needs. Routes, Metrics, AccessLog and Log are required.
type Options struct {
	Routes []Route
	// Mount are handlers that are not admission, such as /convert, by path. They set their own limits.
	Mount map[string]http.Handler
	// Ready says why requests cannot be judged yet; nil when they can, which is then final. A nil func is always ready.
	Ready func() error
	// GetCertificate gives the serving certificate of a handshake.
	GetCertificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// MaxInFlight is how many requests may be judged at once; 0 means DefaultMaxInFlight.
	MaxInFlight int
	Metrics     *Metrics
	// AccessLog gets a line for each changed or refused request.
	AccessLog *slog.Logger
	// Rules names the revision of the rules in force, for the lines of refused requests; nil if there are none.
	Rules func() string
	Log   klog.Logger
}

// Server answers AdmissionReviews.
type Server struct {
	routes    []Route
	handler   http.Handler
	cert      func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	draining  atomic.Bool
	gate      gate
	bodies    *review.Bodies
	slots     slots
	reclaimer *reclaimer
	conns     *connections
	metrics   *Metrics
	access    *slog.Logger
	rules     func() string
	log       klog.Logger
}

// New makes a server. It fails when two routes share a path, or a route is not complete.
func New(o Options) (*Server, error) {
	if o.MaxInFlight <= 0 {
		o.MaxInFlight = DefaultMaxInFlight
	}
	s := &Server{
		routes:    o.Routes,
		cert:      o.GetCertificate,
		gate:      gate{check: o.Ready},
		bodies:    review.NewBodies(MaxBody, bodyBudget),
		slots:     newSlots(o.MaxInFlight),
		reclaimer: newReclaimer(),
		conns:     newConnections(maxConnections, o.Metrics.evicted.Inc),
		metrics:   o.Metrics,
		access:    o.AccessLog,
		rules:     o.Rules,
		log:       o.Log,
	}
	router, err := s.router(o.Mount)
	if err != nil {
		return nil, err
	}
	s.handler = s.closeWhenDraining(router)
	return s, nil
}

// Handler is the whole service without TLS, for tests.
func (s *Server) Handler() http.Handler { return s.handler }

func (s *Server) router(mount map[string]http.Handler) (http.Handler, error) {
	router := chi.NewRouter()
	router.NotFound(s.bounded(http.HandlerFunc(s.notFound)).ServeHTTP)
	router.MethodNotAllowed(s.bounded(http.HandlerFunc(s.methodNotAllowed)).ServeHTTP)
	healthz := func(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, "ok\n") }
	router.Get("/healthz", s.bounded(http.HandlerFunc(healthz)).ServeHTTP)
	router.Get("/webhooks", s.bounded(http.HandlerFunc(s.listWebhooks)).ServeHTTP)
	taken := map[string]bool{"/healthz": true, "/webhooks": true}
	for path, handler := range mount {
		taken[path] = true
		router.Handle(path, s.bounded(handler))
	}
	for _, route := range s.routes {
		switch {
		case !strings.HasPrefix(route.Path, "/"), len(route.Webhooks) == 0, route.Handler == nil && route.Choose == nil:
			return nil, fmt.Errorf("adding route %q: it needs a path, the name of a webhook and a handler", route.Path)
		case taken[route.Path]:
			return nil, fmt.Errorf("adding route %q: the path is taken", route.Path)
		}
		taken[route.Path] = true
		router.Handle(route.Path, s.endpoint(route))
	}
	return router, nil
}

// HTTP is the net/http server for the webhook port, with TLS 1.2 or newer, HTTP/1.1 and HTTP/2.
func (s *Server) HTTP() *http.Server {
	return &http.Server{
		Handler: s.handler,
		TLSConfig: &tls.Config{
			MinVersion:     tls.VersionTLS12,
			NextProtos:     []string{"h2", "http/1.1"},
			GetCertificate: s.certificate,
		},
		ReadHeaderTimeout: idleTimeout,
		// For what no endpoint of ours reads; reviews have bodyTimeout. It counts from when we began to wait for the header.
		ReadTimeout:    idleTimeout + bodyTimeout,
		WriteTimeout:   writeTimeout,
		IdleTimeout:    idleTimeout,
		MaxHeaderBytes: maxHeader,
		HTTP2:          &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		ConnState:      s.conns.observe,
		ConnContext:    withConnection,
		ErrorLog:       log.New(logWriter{s.log}, "", 0),
	}
}

// logWriter takes net/http's own messages. Most are handshakes that a port scan or a TCP probe breaks off, so that
// they are shown only with -v=2.
type logWriter struct{ log klog.Logger }

func (w logWriter) Write(line []byte) (int, error) {
	w.log.V(2).Info("HTTP server", "message", strings.TrimSpace(string(line)))
	return len(line), nil
}
