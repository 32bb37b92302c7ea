package server

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/fairlead-io/fairlead/webhook/admission"
)

// wire is a connection that knows only whether it was closed.
type wire struct {
	net.Conn
	closed bool
}

func (w *wire) Close() error { w.closed = true; return nil }

func TestTheConnectionThatIdledLongestGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		evicted := 0
		c := newConnections(3, func() { evicted++ })
		open := func() *wire {
			w := &wire{}
			c.observe(w, http.StateNew)
			return w
		}
		served := func(w *wire) {
			c.observe(w, http.StateActive)
			c.observe(w, http.StateIdle)
		}
		first, second, silent := open(), open(), open()
		served(second)
		served(first)
		time.Sleep(newcomer)
		fourth := open()
		if !silent.closed || first.closed || second.closed {
			t.Error("the one that says nothing did not go first")
		}
		fifth := open()
		if !second.closed || first.closed || fourth.closed {
			t.Error("the one that idled longest did not go before one that has just come")
		}
		c.observe(fourth, http.StateActive)
		c.observe(first, http.StateActive)
		sixth := open()
		if !fifth.closed || first.closed || fourth.closed {
			t.Error("with nothing else idle the one that came before did not go")
		}
		c.observe(sixth, http.StateActive)
		if seventh := open(); !seventh.closed || first.closed || fourth.closed || sixth.closed {
			t.Error("with all at work it is not the new one that goes")
		}
		if evicted != 4 {
			t.Errorf("%d evictions counted, want 4", evicted)
		}
		for _, w := range []*wire{first, second, silent, fourth, fifth, sixth} {
			c.observe(w, http.StateClosed)
		}
		if len(c.open) != 0 || c.idle.Len() != 0 || c.suspect.Len() != 0 {
			t.Errorf("%d connections are still known", len(c.open))
		}
	})
}

func TestARequestThatDoesNotEndGoesBeforeWhatIdles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newConnections(3, func() {})
		all := [5]*wire{{}, {}, {}, {}, {}}
		for _, w := range all[:3] {
			c.observe(w, http.StateNew)
			c.observe(w, http.StateActive)
		}
		c.observe(all[0], http.StateIdle)
		c.waiting(all[1])
		done := c.waiting(all[2])
		c.relieve()
		if all[1].closed {
			t.Error("a request that has just begun was broken off")
		}
		time.Sleep(newcomer)
		done() // this one is being answered
		c.observe(all[3], http.StateNew)
		if !all[1].closed || all[0].closed || all[2].closed {
			t.Error("the one whose request does not end did not go first")
		}
		c.observe(all[3], http.StateActive)
		c.waiting(all[3])
		time.Sleep(newcomer)
		c.relieve()
		if !all[3].closed || all[0].closed || all[2].closed {
			t.Error("for want of memory the one whose request does not end did not go")
		}
		c.observe(all[4], http.StateNew)
		if all[0].closed || all[2].closed || all[4].closed || len(c.open) != 3 {
			t.Errorf("%d connections are known, want 3", len(c.open))
		}
	})
}

// Whatever comes and goes in whatever order, there are never more than the limit, and none at work is closed.
func TestConnectionsStayBounded(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const limit = 4
		c := newConnections(limit, func() {})
		var all []*wire
		working := map[*wire]bool{}
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			if len(all) == 0 || rapid.Bool().Draw(rt, "new") {
				w := &wire{}
				all = append(all, w)
				c.observe(w, http.StateNew)
			} else {
				w := rapid.SampledFrom(all).Draw(rt, "which")
				state := rapid.SampledFrom([]http.ConnState{http.StateActive, http.StateIdle, http.StateClosed}).Draw(rt, "state")
				if w.closed {
					state = http.StateClosed
				}
				w.closed = w.closed || state == http.StateClosed
				working[w] = state == http.StateActive
				c.observe(w, state)
			}
			if len(c.open) > limit || c.idle.Len()+c.suspect.Len() > len(c.open) {
				rt.Fatalf("%d connections, %d of them waiting", len(c.open), c.idle.Len()+c.suspect.Len())
			}
			for w, works := range working {
				if works && w.closed {
					rt.Fatal("a connection with a request on it was closed")
				}
			}
		}
	})
}

// A thousand connections that say nothing more do not keep an API server's requests out, nor does its own connection go.
func TestManyIdleConnections(t *testing.T) {
	r := newRig(t, allow)
	r.conns.limit = 100
	addr, client, _ := r.start(t, 0, time.Second)
	post := func() error {
		resp, err := client.Post("https://"+addr+"/mutate-pod", "application/json", strings.NewReader(reviewOf("u")))
		if err != nil {
			return err
		}
		if !parse(t, resp).Allowed {
			return errors.New(resp.Status)
		}
		return nil
	}
	if err := post(); err != nil {
		t.Fatal(err)
	}
	for _, protocols := range [][]string{nil, {"h2"}} {
		for range 300 {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close() })
			if protocols == nil {
				continue // not even a handshake
			}
			encrypted := tls.Client(conn, &tls.Config{InsecureSkipVerify: true, NextProtos: protocols})
			if err := encrypted.HandshakeContext(t.Context()); err != nil {
				t.Fatalf("the handshake of a connection within the limit: %v", err)
			}
			send(t, encrypted, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")
		}
		if err := post(); err != nil {
			t.Errorf("beside 300 idle connections: %v", err)
		}
	}
	if got := r.metric(t, "fairlead_webhook_connections_evicted_total"); got < 500 {
		t.Errorf("%v connections went, want all but 100 of 600", got)
	}
}

// Nobody holds the connections that there may be by sending a part of something, to whatever path, or by taking no answer.
func TestHeldConnections(t *testing.T) {
	const head = " HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
	large := func(_ context.Context, r *admission.Request) admission.Response {
		if r.UID == "small" {
			return admission.Allow()
		}
		return admission.Failed(admission.Refuse(http.StatusForbidden, "%s", strings.Repeat("no ", 4<<20)))
	}
	mounted := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = w.Write(make([]byte, 12<<20))
	})
	request := func(path, body string) string {
		return "POST " + path + head + "Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
	}
	for name, begins := range map[string]string{
		"a body held back":                           "POST /mutate-pod" + head + "Content-Length: 100\r\n\r\n{",
		"a body that is too large":                   "POST /mutate-pod" + head + "Content-Length: 99999999\r\n\r\n{",
		"a body of another type":                     "POST /mutate-pod HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{",
		"a body for a path that is not served":       "POST /nothing" + head + "Content-Length: 100\r\n\r\n{",
		"a body for a path that wants none":          "GET /webhooks" + head + "Content-Length: 100\r\n\r\n{",
		"a body with a method that is not served":    "PUT /healthz" + head + "Content-Length: 100\r\n\r\n{",
		"a body for another handler":                 "POST /convert" + head + "Content-Length: 100\r\n\r\n{",
		"an answer that is not taken":                request("/mutate-pod", reviewOf("large")),
		"another handler's answer that is not taken": request("/convert", "{}"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, large, func(o *Options) { o.Mount = map[string]http.Handler{"/convert": mounted} })
			r.conns.limit = 8
			addr, client, _ := r.start(t, 0, time.Second)
			for range r.conns.limit {
				send(t, dial(t, addr), begins)
			}
			time.Sleep(newcomer + 500*time.Millisecond)
			resp, err := client.Post("https://"+addr+"/mutate-pod", "application/json", strings.NewReader(reviewOf("small")))
			if err != nil {
				t.Fatalf("beside %d of them: %v", r.conns.limit, err)
			}
			if !parse(t, resp).Allowed {
				t.Error(resp.Status)
			}
		})
	}
}

func TestStreamsOfAConnectionAreBounded(t *testing.T) {
	if got := newRig(t, allow).HTTP().HTTP2.MaxConcurrentStreams; got != maxStreams {
		t.Fatalf("%d streams", got)
	}
	addr, _, _ := newRig(t, allow).start(t, 0, time.Second)
	conn, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	send(t, conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")
	_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	header := make([]byte, 9)
	if _, err := io.ReadFull(conn, header); err != nil || header[3] != 4 {
		t.Fatalf("the first frame is no SETTINGS: %v %v", header, err)
	}
	settings := make([]byte, int(header[0])<<16|int(header[1])<<8|int(header[2]))
	if _, err := io.ReadFull(conn, settings); err != nil {
		t.Fatal(err)
	}
	for ; len(settings) >= 6; settings = settings[6:] {
		if settings[1] == 3 { // SETTINGS_MAX_CONCURRENT_STREAMS (RFC 9113 §6.5.2)
			if got := int(settings[4])<<8 | int(settings[5]); got != 16 {
				t.Errorf("the server announces %d streams, want 16", got)
			}
			return
		}
	}
	t.Error("the server announces no bound for streams")
}

// The first requests to a starting replica wait for its certificate instead of failing.
func TestHandshakesWaitForTheFirstCertificate(t *testing.T) {
	missing := errors.New("there is no CA yet")
	var there atomic.Bool
	r := newRig(t, allow, func(o *Options) {
		served := o.GetCertificate
		o.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			if !there.Load() {
				return nil, missing
			}
			return served(hello)
		}
	})
	addr, client, _ := r.start(t, 0, time.Second)
	start := time.Now()
	if conn, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true}); err == nil || time.Since(start) > certificateWait+time.Second {
		t.Errorf("without any certificate a handshake ends after %s with %v and %v", time.Since(start), conn, err)
	}
	time.AfterFunc(300*time.Millisecond, func() { there.Store(true) })
	resp, err := client.Post("https://"+addr+"/mutate-pod", "application/json", strings.NewReader(reviewOf("u")))
	if err != nil {
		t.Fatal(err)
	}
	if !parse(t, resp).Allowed {
		t.Error(resp.Status)
	}
}
