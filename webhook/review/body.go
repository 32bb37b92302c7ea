package review

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
)

var (
	// ErrTooLarge is a body beyond the limit for one review.
	ErrTooLarge = errors.New("the body is too large")
	// ErrBusy is a body for which there is no memory left among the bodies that are not released yet.
	ErrBusy = errors.New("too many bodies, or too many large ones, at once")
)

// maxBodies bounds the buffers of firstRead bytes: 128 MiB. It is as many as there may be connections, so that with one
// request on each nobody who dribbles a body keeps another's out.
const maxBodies = 2048

// firstRead is the size of a reused buffer: a Pod's review is 5 to 20 KiB. What a sender declares counts only up to
// here, so that declaring much and sending nothing costs little. Bodies up to here are free of the budget, so that a
// few senders who hold large bodies back cannot keep ordinary Pods out; larger buffers are rare, grow with what
// arrives, and go back to the collector.
const firstRead = 64 << 10

// Bodies reads request bodies into reused buffers, within a limit for each and a budget for all large ones together.
// It is safe for concurrent use.
type Bodies struct {
	limit  int
	budget int64
	used   atomic.Int64
	// held is how many bodies are not released.
	held atomic.Int64
	pool sync.Pool
}

// NewBodies makes a reader of bodies up to limit bytes. The buffers of those larger than 64 KiB together never exceed
// budget bytes.
func NewBodies(limit int, budget int64) *Bodies { return &Bodies{limit: limit, budget: budget} }

// Limit is the largest body in bytes.
func (b *Bodies) Limit() int { return b.limit }

// Body is a request's body. It must be released once, when nothing refers to its bytes any more.
type Body struct {
	bodies *Bodies
	data   []byte
	held   int64
}

// Bytes is the body.
func (b *Body) Bytes() []byte { return b.data }

// Release gives the memory back.
func (b *Body) Release() {
	bodies := b.bodies
	bodies.used.Add(-b.held)
	bodies.held.Add(-1)
	b.held, b.bodies = 0, nil
	if cap(b.data) == firstRead {
		b.data = b.data[:0]
		bodies.pool.Put(b)
	}
}

// Read reads src to its end. declared is the Content-Length, or negative when there is none. The error is ErrTooLarge
// (judged by the declaration or by what came), ErrBusy, or that of src.
func (b *Bodies) Read(src io.Reader, declared int64) (*Body, error) {
	if declared > int64(b.limit) {
		return nil, ErrTooLarge
	}
	if b.held.Add(1) > maxBodies {
		b.held.Add(-1)
		return nil, ErrBusy
	}
	body := b.get()
	if err := body.fill(src, declared); err != nil {
		body.Release()
		return nil, err
	}
	return body, nil
}

func (b *Bodies) get() *Body {
	body, ok := b.pool.Get().(*Body)
	if !ok {
		body = &Body{data: make([]byte, 0, firstRead)}
	}
	body.bodies = b
	return body
}

func (b *Body) fill(src io.Reader, declared int64) error {
	largest := b.bodies.limit + 1 // the byte that shows that there is too much
	if declared >= 0 {
		largest = int(declared) + 1 // the byte more lets the last read find the end without growing
	}
	for {
		n, err := src.Read(b.data[len(b.data):cap(b.data)])
		b.data = b.data[:len(b.data)+n]
		switch {
		case len(b.data) > b.bodies.limit:
			return ErrTooLarge
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("reading the body: %w", err)
		case len(b.data) == cap(b.data):
			if err := b.grow(largest); err != nil {
				return err
			}
		}
	}
}

// grow doubles the buffer, but not beyond largest unless more has come already.
func (b *Body) grow(largest int) error {
	size := 2 * cap(b.data)
	if largest > cap(b.data) {
		size = min(size, largest)
	}
	more := int64(size) - b.held
	if b.bodies.used.Add(more) > b.bodies.budget {
		b.bodies.used.Add(-more)
		return ErrBusy
	}
	b.held += more
	grown := make([]byte, len(b.data), size)
	copy(grown, b.data)
	b.data = grown
	return nil
}
