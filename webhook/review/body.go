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
	// ErrBusy is a body for which there is no memory left among the bodies being read.
	ErrBusy = errors.New("too many large bodies at once")
)

const (
	// firstRead is where a buffer starts: a Pod's review is 5 to 20 KiB. What a sender declares counts only up to
	// here, so that declaring much and sending nothing costs us little.
	firstRead = 64 << 10
	// pooled is the largest buffer kept for later requests; bigger ones are rare, and go back to the collector.
	pooled = 256 << 10
)

// Bodies reads request bodies into reused buffers, within a limit for each and a budget for all together. It is safe
// for concurrent use.
type Bodies struct {
	limit  int
	budget int64
	used   atomic.Int64
	pool   sync.Pool
}

// NewBodies makes a reader of bodies up to limit bytes, whose buffers together never exceed budget bytes.
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
	b.held, b.bodies = 0, nil
	if cap(b.data) <= pooled {
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
		body = &Body{}
	}
	body.bodies = b
	return body
}

func (b *Body) fill(src io.Reader, declared int64) error {
	first := int64(firstRead)
	if declared >= 0 {
		first = min(first, declared+1) // one byte more, so that the last read finds the end without growing
	}
	if err := b.grow(int(first)); err != nil {
		return err
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
			if err := b.grow(min(2*cap(b.data), b.bodies.limit+1)); err != nil {
				return err
			}
		}
	}
}

// grow makes room for size bytes and accounts for them.
func (b *Body) grow(size int) error {
	size = max(size, cap(b.data))
	more := int64(size) - b.held
	if b.bodies.used.Add(more) > b.bodies.budget {
		b.bodies.used.Add(-more)
		return ErrBusy
	}
	b.held += more
	if size > cap(b.data) {
		grown := make([]byte, len(b.data), size)
		copy(grown, b.data)
		b.data = grown
	}
	return nil
}
