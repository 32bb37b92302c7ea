package server

import (
	"container/list"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"time"
)

// maxConnections bounds the memory of connections, some 30 KiB each: 64 MiB. It is what three API servers have that each
// wait for as many answers as they may (DefaultMaxInFlight), with room for some that idle.
const maxConnections = 2048

// newcomer is how long a connection may take to its first request before it counts as one that says nothing. A handshake
// takes milliseconds; without this each new connection would push out the one before it in a rush.
const newcomer = time.Second

// connections keep the number of open connections bounded. When one too many comes, the one that has been idle longest is
// closed for it, first among those that carry no request for long or speak HTTP/2: an API server's carry requests and
// speak HTTP/1.1, and closing one of them could swallow the request that it is just sending. If none is idle, the new one
// is closed.
type connections struct {
	limit int
	// evicted is told of each connection that had to go.
	evicted func()

	mu   sync.Mutex
	open map[net.Conn]*connection
	// suspect are those that no API server has, idle those of HTTP/1.1 that wait for their next request; both are in the
	// order in which they began to wait.
	suspect, idle list.List
}

// connection is where one of them waits, and since when; place is nil while a request is on it.
type connection struct {
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
	added := &connection{}
	added.wait(&c.suspect, conn)
	c.open[conn] = added
	return victim
}

func (c *connections) longestWaiting() net.Conn {
	silent, idle := c.suspect.Front(), c.idle.Front()
	switch {
	case silent == nil && idle == nil:
		return nil
	case idle == nil || silent != nil && time.Since(c.open[silent.Value.(net.Conn)].since) >= newcomer:
		return silent.Value.(net.Conn)
	default:
		return idle.Value.(net.Conn)
	}
}

func (c *connection) wait(queue *list.List, conn net.Conn) {
	c.queue, c.place, c.since = queue, queue.PushBack(conn), time.Now()
}

func (c *connection) leave() {
	if c.place != nil {
		c.queue.Remove(c.place)
		c.place = nil
	}
}
