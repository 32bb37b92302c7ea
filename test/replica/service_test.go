package replica

import (
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

// service is what a Service is to the API server: new connections go to a ready replica, and readiness is noticed a
// little late; connections that exist are left alone.
type service struct {
	net.Listener
	mu       sync.Mutex
	replicas []*running
	next     int
}

func newService(t *testing.T) *service {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &service{Listener: listener}
	t.Cleanup(func() { _ = listener.Close() })
	go s.accept()
	return s
}

func (s *service) add(r *running) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replicas = append(s.replicas, r)
}

func (s *service) accept() {
	for {
		conn, err := s.Accept()
		if err != nil {
			return
		}
		go s.forward(conn)
	}
}

func (s *service) forward(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	backend, err := net.Dial("tcp", s.pick())
	if err != nil {
		return
	}
	defer func() { _ = backend.Close() }()
	ended := make(chan struct{}, 2)
	for _, pipe := range [][2]net.Conn{{conn, backend}, {backend, conn}} {
		go func() {
			_, _ = io.Copy(pipe[0], pipe[1])
			ended <- struct{}{}
		}()
	}
	<-ended
}

// any says whether there is a replica to send requests to.
func (s *service) any() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.replicas, func(r *running) bool { return r.ready.Load() })
}

// pick is the address of a replica that was ready when last probed, in turn.
func (s *service) pick() string {
	for {
		s.mu.Lock()
		for range s.replicas {
			s.next++
			if r := s.replicas[s.next%len(s.replicas)]; r.ready.Load() {
				s.mu.Unlock()
				return r.webhooks
			}
		}
		s.mu.Unlock()
		time.Sleep(10 * time.Millisecond)
	}
}

// probe follows a replica's readiness as the kubelet does, only more often.
func (r *running) probe(ctx context.Context) {
	client := &http.Client{Timeout: time.Second}
	for ctx.Err() == nil {
		resp, err := client.Get("http://" + r.health + "/readyz")
		if err == nil {
			_ = resp.Body.Close()
		}
		r.ready.Store(err == nil && resp.StatusCode == http.StatusOK)
		time.Sleep(100 * time.Millisecond)
	}
}
