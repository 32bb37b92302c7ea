package server

import (
	"io"
	"net/http"
	"sync/atomic"
)

// slots bound how many requests are judged at once. They never make a request wait: a queue in front of a slow
// dependency would only turn answers into timeouts, while a 429 lets the API server try again.
type slots struct{ free *atomic.Int64 }

func newSlots(n int) slots {
	free := &atomic.Int64{}
	free.Store(int64(n))
	return slots{free}
}

func (s slots) take() bool {
	if s.free.Add(-1) >= 0 {
		return true
	}
	s.free.Add(1)
	return false
}

func (s slots) release() { s.free.Add(1) }

// gate keeps requests away from a cold replica, which would answer "allowed, unchanged" for want of policies. Once
// open it stays open: a watch that breaks later leaves caches that are stale, but not empty.
type gate struct {
	check func() error
	open  atomic.Bool
}

func (g *gate) closed() error {
	if g.check == nil || g.open.Load() {
		return nil
	}
	if err := g.check(); err != nil {
		return err
	}
	g.open.Store(true)
	return nil
}

// maxDiscard is how much of a refused body is read and thrown away. Many clients read an answer only after they have
// sent everything, and would see a reset connection instead of the 413.
const maxDiscard = 32 << 20

// discard reads what is left of a body, within maxDiscard and the connection's read deadline. A client that declared
// too much and waits for our go-ahead needs no reading: the answer tells it not to send.
func discard(r *http.Request, limit int) {
	if r.ContentLength > int64(limit) && r.Header.Get("Expect") != "" {
		return
	}
	_, _ = io.CopyN(io.Discard, r.Body, maxDiscard)
}
