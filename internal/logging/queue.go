package logging

import (
	"context"
	"io"
	"sync"
	"time"
)

const (
	// queued is how many bytes of lines wait at most: some 2,500 lines of the access log, what a busy replica writes in
	// several seconds. Twice as much is held, as one buffer is written while another is filled.
	queued = 1 << 20
	// farewell is how long the last lines may take to be written. They go to a pipe that somebody reads, or never.
	farewell = time.Second
)

// Queue takes lines for a writer that may be slow or stuck, as standard output is when whoever collects it is. Write never
// waits: lines for which there is no room are lost, and counted. The lines keep their order.
type Queue struct {
	to   io.Writer
	lost func()
	// ready has a token when there are lines.
	ready chan struct{}

	mu      sync.Mutex
	waiting []byte
}

// NewQueue makes a queue in front of a writer; lost is called for each line that is dropped. Lines are written while Run runs.
func NewQueue(to io.Writer, lost func()) *Queue {
	return &Queue{to: to, lost: lost, ready: make(chan struct{}, 1)}
}

// Write implements io.Writer for one line. It always succeeds.
func (q *Queue) Write(line []byte) (int, error) {
	q.mu.Lock()
	full := len(q.waiting)+len(line) > queued
	if !full {
		q.waiting = append(q.waiting, line...)
	}
	q.mu.Unlock()
	if full {
		q.lost()
		return len(line), nil
	}
	select {
	case q.ready <- struct{}{}:
	default: // the writer knows already
	}
	return len(line), nil
}

// Run writes lines until ctx ends, and then those that are left.
func (q *Queue) Run(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		q.write(ctx)
	}()
	<-ctx.Done()
	select {
	case <-done:
	case <-time.After(farewell):
	}
	return nil
}

func (q *Queue) write(ctx context.Context) {
	var spare []byte
	for ended := false; !ended; {
		select {
		case <-q.ready:
		case <-ctx.Done():
			ended = true
		}
		spare = q.flush(spare)
	}
}

// flush writes what waits, and returns its memory to be filled again.
func (q *Queue) flush(spare []byte) []byte {
	q.mu.Lock()
	lines := q.waiting
	q.waiting = spare[:0]
	q.mu.Unlock()
	if len(lines) > 0 {
		_, _ = q.to.Write(lines) // there is no other place to say that it failed
	}
	return lines
}
