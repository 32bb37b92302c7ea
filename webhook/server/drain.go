package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// closeWhenDraining asks clients to close their connections once the server drains. The API server's client never
// repeats a POST that a closing connection swallowed, so a connection must end with an answer, not before a request.
func (s *Server) closeWhenDraining(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.draining.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// Draining is a readiness check that fails from the moment the server is told to stop.
func (s *Server) Draining() error {
	if s.draining.Load() {
		return errors.New("shutting down")
	}
	return nil
}

// Serve serves on a listener until ctx ends, then drains: readiness fails at once, requests are served for `delay`
// more, which has to exceed the time until all API servers have stopped sending; then the listener closes, connections
// that idle are kept for as long again, and the requests that run have `grace` to finish.
func (s *Server) Serve(ctx context.Context, listener net.Listener, delay, grace time.Duration) error {
	server := s.HTTP()
	failed := make(chan error, 1)
	go func() { failed <- server.ServeTLS(listener, "", "") }()
	select {
	case err := <-failed:
		return fmt.Errorf("serving webhooks on %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	s.draining.Store(true)
	s.log.Info("Draining", "delay", delay, "grace", grace)
	select {
	case err := <-failed:
		return fmt.Errorf("serving webhooks on %s: %w", listener.Addr(), err)
	case <-time.After(delay):
	}
	_ = listener.Close() // it only listened
	// Else Shutdown closes the listener once more, which is an error.
	if err := <-failed; !errors.Is(err, net.ErrClosed) {
		s.log.Error(err, "The listener failed before it was closed")
	}
	s.linger(delay)
	return stop(ctx, server, grace)
}

// linger serves on while connections of HTTP/1.1 idle, but not longer than the limit. What a client sends into one that we
// are closing is lost to it, and the longer one has been idle the less likely that is; when it is used, the answer
// closes it. HTTP/2 has a farewell that loses nothing.
func (s *Server) linger(limit time.Duration) {
	const look = 20 * time.Millisecond
	for end := time.Now().Add(limit); s.conns.idling() > 0 && time.Now().Before(end); {
		time.Sleep(look)
	}
}

// stop shuts a server down. Whoever is not finished after the grace is cut off, with an error that says so.
func stop(ctx context.Context, server *http.Server, grace time.Duration) error {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := server.Shutdown(limited); err != nil {
		return errors.Join(fmt.Errorf("finishing the last requests: %w", err), server.Close())
	}
	return nil
}
