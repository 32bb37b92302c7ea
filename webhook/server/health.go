package server

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Check is a named condition of readiness. OK returns why it does not hold, or nil; it must not block.
type Check struct {
	Name string
	OK   func() error
}

// Health serves /healthz, which is 200 while the process can answer at all, and /readyz, which is 200 when all checks
// hold and else 503 with those that do not.
func Health(checks ...Check) http.Handler {
	router := chi.NewRouter()
	router.Get("/healthz", func(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, "ok\n") })
	router.Get("/readyz", readyz(checks))
	return router
}

func readyz(checks []Check) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var report strings.Builder
		code := http.StatusOK
		for _, check := range checks {
			if err := check.OK(); err != nil {
				code = http.StatusServiceUnavailable
				fmt.Fprintf(&report, "[-] %s: %v\n", check.Name, err)
				continue
			}
			fmt.Fprintf(&report, "[+] %s\n", check.Name)
		}
		if code == http.StatusOK && !r.URL.Query().Has("verbose") {
			writeText(w, code, "ok\n")
			return
		}
		writeText(w, code, report.String())
	}
}

// AllOf makes one check of many, such as for Options.Ready.
func AllOf(checks ...Check) func() error {
	return func() error {
		for _, check := range checks {
			if err := check.OK(); err != nil {
				return fmt.Errorf("%s: %w", check.Name, err)
			}
		}
		return nil
	}
}

// Exposition serves a registry's metrics at /metrics.
func Exposition(registry prometheus.Gatherer) http.Handler {
	router := chi.NewRouter()
	router.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	return router
}

// headerTimeout ends connections that dribble their header to what nothing waits for.
const headerTimeout = 5 * time.Second

// ServePlain serves probes or metrics without TLS until ctx ends.
func ServePlain(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       bodyTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serving on %s: %w", listener.Addr(), err)
	case <-ctx.Done():
		return stop(ctx, server, time.Second) // nothing that is worth waiting for longer
	}
}
