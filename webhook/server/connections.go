package server

import (
	"container/list"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// maxConnections bounds the memory of connections, some 30 KiB each: 64 MiB. It is what three API servers have that each
// wait for as many answers as they may (DefaultMaxInFlight), with room for some that idle.
const maxConnections = 2048

// newcomer is how long a connection may take to its first request, and a request to its end, before it counts as one that
// keeps us waiting. A handshake takes milliseconds, and so does a Pod; without this each new connection would push out the
// one before it in a rush.
const newcomer = time.Second

// connections keep the number of open connections bounded. When one too many comes, one is closed for it: the first of
// those that say nothing, those whose request does not end or whose answer is not taken, and those that idle. An API
// server's connections are among the last, and closing one of them could swallow the request that it is just sending. If
// all have a request that is being answered, the new one is closed.
type connections struct {
	limit int
	// evicted is told of each connection that had to go.
	evicted func()

	mu   sync.Mutex
	open map[net.Conn]*connection
	// suspect are those without a request, or without one just now over HTTP/2, which no API server speaks; slow are those
	// whose request has not ended yet, or whose answer is on its way; idle are those of HTTP/1.1 between two requests. Each
	// is in the order in which they began to wait.
	suspect, slow, idle list.List
}

// connection is where one of them waits, and since when; place is nil while a request is on it.
type connection struct {
	// unused says that there was no request on it yet.
	unused bool

	place *list.Element
	queue *list.List
	since time.Time
}

func newConnections(limit int, evicted func()) *connections {
	return &connections{limit: limit, evicted: evicted, open: make(map[net.Conn]*connection)}
}

// observe is the http.Server's ConnState.
func (c *connections) observe(conn net.Conn, state http.ConnState) {
	if victim := c.move(conn, state); victim != nil {
		c.evicted()
		_ = bare(victim).Close() // nobody waits for an answer on it
	}
}

// bare is the connection without TLS, whose farewell would be waited for if the other side reads nothing.
func bare(conn net.Conn) net.Conn {
	if encrypted, ok := conn.(*tls.Conn); ok {
		return encrypted.NetConn()
	}
	return conn
}

func speaksHTTP2(conn net.Conn) bool {
	encrypted, ok := conn.(*tls.Conn)
	return ok && encrypted.ConnectionState().NegotiatedProtocol == "h2"
}

// move notes a connection's new state, and returns the connection that must go for it, if one must.
func (c *connections) move(conn net.Conn, state http.ConnState) net.Conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	if state == http.StateNew {
		return c.add(conn)
	}
	known, ok := c.open[conn]
	if !ok {
		return nil // it was closed for another and is just noticing
	}
	known.leave()
	known.unused = false
	switch state {
	case http.StateIdle:
		queue := &c.idle
		if speaksHTTP2(conn) {
			queue = &c.suspect
		}
		known.wait(queue, conn)
	case http.StateClosed, http.StateHijacked:
		delete(c.open, conn)
	default: // a request is on it
	}
	return nil
}

func (c *connections) add(conn net.Conn) (victim net.Conn) {
	if len(c.open) >= c.limit {
		if victim = c.longestWaiting(); victim == nil {
			return conn
		}
		c.open[victim].leave()
		delete(c.open, victim)
	}
	added := &connection{unused: true}
	added.wait(&c.suspect, conn)
	c.open[conn] = added
	return victim
}

// idling is how many connections may get a request at any time that has no farewell to come before it: those of HTTP/1.1
// between two requests, and those without a first one, which the API server's client keeps when it had no use for them.
func (c *connections) idling() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	idling := c.idle.Len()
	for e := c.suspect.Front(); e != nil; e = e.Next() {
		if c.open[e.Value.(net.Conn)].unused {
			idling++
		}
	}
	return idling
}

func (c *connections) longestWaiting() net.Conn {
	if conn := c.keepsUsWaiting(); conn != nil {
		return conn
	}
	for _, queue := range []*list.List{&c.idle, &c.suspect} {
		if first := queue.Front(); first != nil {
			return first.Value.(net.Conn)
		}
	}
	return nil
}

func (c *connections) keepsUsWaiting() net.Conn {
	for _, queue := range []*list.List{&c.suspect, &c.slow} {
		if first := queue.Front(); first != nil {
			if conn := first.Value.(net.Conn); time.Since(c.open[conn].since) >= newcomer {
				return conn
			}
		}
	}
	return nil
}

// waiting notes that we wait for the other side of a connection: for more of a request's body until the func that it
// returns is called, or for it to take the answer, which the connection's next state ends.
func (c *connections) waiting(conn net.Conn) (done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.open[conn]
	if !ok || known.place != nil { // a test's recorder, or we wait already, maybe for another stream of HTTP/2
		return func() {}
	}
	known.wait(&c.slow, conn)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if known.queue == &c.slow {
			known.leave()
		}
	}
}

// relieve closes a connection that keeps us waiting, for want of memory for what others send.
func (c *connections) relieve() {
	c.mu.Lock()
	victim := c.keepsUsWaiting()
	if victim != nil {
		c.open[victim].leave()
		delete(c.open, victim)
	}
	c.mu.Unlock()
	if victim != nil {
		c.evicted()
		_ = bare(victim).Close()
	}
}

// bounded has a handler's reading and writing count as waiting, as endpoints have of themselves. Without it whoever holds
// back a body that nobody wants, or takes no answer, would hold a connection that none is closed for.
func (s *Server) bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn := connectionOf(r)
		r.Body = &awaited{r.Body, s.conns.waiting(conn)}
		next.ServeHTTP(&sent{w, func() { s.conns.waiting(conn) }}, r)
	})
}

// awaited is a body of which it is told when it has ended.
type awaited struct {
	io.ReadCloser
	ended func()
}

// Read implements io.Reader.
func (a *awaited) Read(p []byte) (n int, err error) {
	if n, err = a.ReadCloser.Read(p); err != nil {
		a.ended()
	}
	return n, err
}

// sent is an answer of which it is told when it begins.
type sent struct {
	http.ResponseWriter
	begins func()
}

// Write implements io.Writer.
func (s *sent) Write(p []byte) (int, error) {
	s.begins()
	return s.ResponseWriter.Write(p)
}

// Unwrap is what http.ResponseController sets deadlines on.
func (s *sent) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// connectionKey is where a request's context has its connection.
type connectionKey struct{}

func withConnection(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, conn)
}

// connectionOf is nil for a request without a network.
func connectionOf(r *http.Request) net.Conn {
	conn, _ := r.Context().Value(connectionKey{}).(net.Conn)
	return conn
}

func (c *connection) wait(queue *list.List, conn net.Conn) {
	c.queue, c.place, c.since = queue, queue.PushBack(conn), time.Now()
}

func (c *connection) leave() {
	if c.place != nil {
		c.queue.Remove(c.place)
		c.place, c.queue = nil, nil
	}
}
