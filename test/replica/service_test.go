package replica

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/test/balancer"
)

// service has new connections go to a ready replica, whose readiness is noticed a little late.
type service struct {
	address  string
	mu       sync.Mutex
	replicas []*running
	next     int
}

func newService(t *testing.T) *service {
	t.Helper()
	s := &service{}
	s.address = balancer.Start(t, s.pick).String()
	return s
}

func (s *service) add(r *running) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replicas = append(s.replicas, r)
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
