package disruption

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/test/balancer"
)

const (
	// withdrawal is how long a Service goes on sending new connections to a replica that ended or is told to: the kubelet
	// looks for ended containers once a second, and endpoints take a while to reach a node.
	withdrawal = 1500 * time.Millisecond
	// addition is how long it takes until a replica that is ready gets connections.
	addition = 300 * time.Millisecond
	look     = 50 * time.Millisecond
)

// service has new connections go to an endpoint, in turn, and refused when there is none; endpoints lag behind the truth.
type service struct {
	address  string
	mu       sync.Mutex
	replicas map[*replica]*endpoint
	order    []*replica
	next     int
	// empty are the times during which there was no endpoint; the last one has no end while it lasts.
	empty []span
}

// endpoint is whether connections go to a replica, and since when that is not what should be.
type endpoint struct {
	in      bool
	wrongAt time.Time
}

// span is a time that has not ended if its end is zero.
type span struct{ from, to time.Time }

func (s span) overlaps(from, to time.Time) bool {
	return !to.Before(s.from) && (s.to.IsZero() || !from.After(s.to))
}

func newService(t *testing.T) *service {
	t.Helper()
	s := &service{replicas: map[*replica]*endpoint{}, empty: []span{{from: time.Now()}}}
	s.address = balancer.Start(t, s.pick).String()
	go s.follow(t.Context())
	return s
}

func (s *service) add(r *replica) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replicas[r] = &endpoint{}
	s.order = append(s.order, r)
}

// follow brings the endpoints in line, late.
func (s *service) follow(ctx context.Context) {
	for ctx.Err() == nil {
		s.step(time.Now())
		time.Sleep(look)
	}
}

func (s *service) step(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.count()
	for r, e := range s.replicas {
		lag := withdrawal
		if !e.in {
			lag = addition
		}
		switch {
		case r.serving() == e.in:
			e.wrongAt = time.Time{}
		case e.wrongAt.IsZero():
			e.wrongAt = now
		case now.Sub(e.wrongAt) >= lag:
			e.in, e.wrongAt = !e.in, time.Time{}
		}
	}
	after := s.count()
	if before > 0 && after == 0 {
		s.empty = append(s.empty, span{from: now})
	}
	if before == 0 && after > 0 {
		s.empty[len(s.empty)-1].to = now
	}
}

func (s *service) count() (n int) {
	for _, e := range s.replicas {
		if e.in {
			n++
		}
	}
	return n
}

// has says whether connections go to a replica.
func (s *service) has(r *replica) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.replicas[r].in
}

// emptyAt says whether there was no endpoint at some time of a span.
func (s *service) emptyAt(from, to time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.empty {
		if e.overlaps(from, to) {
			return true
		}
	}
	return false
}

// pick is the address of the next endpoint, "" if there is none.
func (s *service) pick() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range s.order {
		s.next++
		if r := s.order[s.next%len(s.order)]; s.replicas[r].in {
			return r.address
		}
	}
	return ""
}

// firstEndpointAfter is when the Service last got its first endpoint after having none, if that was after a time.
func (s *service) firstEndpointAfter(at time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := s.empty[len(s.empty)-1]; last.to.After(at) {
		return last.to
	}
	return at
}
