package server

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-io/fairlead/webhook/admission"
)

func TestBothProtocols(t *testing.T) {
	addr, client, _ := newRig(t, allow).start(t, 0, time.Second)
	for _, protocol := range []int{1, 2} {
		transport := client.Transport.(*http.Transport).Clone()
		transport.ForceAttemptHTTP2 = protocol == 2
		defer transport.CloseIdleConnections()
		resp, err := (&http.Client{Transport: transport}).Post("https://"+addr+"/mutate-pod", "application/json", strings.NewReader(reviewOf("u-1")))
		if err != nil {
			t.Fatal(err)
		}
		if answer := parse(t, resp); resp.ProtoMajor != protocol || !answer.Allowed {
			t.Errorf("HTTP/%d: %+v", resp.ProtoMajor, answer)
		}
	}
}

func TestOldTLSIsRefused(t *testing.T) {
	addr, _, _ := newRig(t, allow).start(t, 0, time.Second)
	conn, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10})
	if err == nil {
		t.Errorf("TLS 1.1 is accepted (%v)", conn.Close())
	}
}

func TestBodiesThatAreTooLarge(t *testing.T) {
	addr, client, _ := newRig(t, func(context.Context, *admission.Request) admission.Response {
		t.Error("the handler was asked")
		return admission.Allow()
	}).start(t, 0, time.Second)
	huge := bytes.Repeat([]byte(" "), 12<<20)
	for name, body := range map[string]io.Reader{
		"declared": bytes.NewReader(huge),
		"chunked":  struct{ io.Reader }{bytes.NewReader(huge)},
	} {
		t.Run(name, func(t *testing.T) {
			resp, err := client.Post("https://"+addr+"/mutate-pod", "application/json", body)
			if err != nil {
				t.Fatal(err)
			}
			answer := parse(t, resp)
			if resp.StatusCode != http.StatusRequestEntityTooLarge || answer.Allowed || answer.Result.Code != 413 || !strings.Contains(answer.Result.Message, "10 MiB") {
				t.Errorf("HTTP %d, %+v", resp.StatusCode, answer.Result)
			}
			if !resp.Close {
				t.Error("the connection is kept")
			}
		})
	}
}

func TestALargeBodyWithinTheLimit(t *testing.T) {
	addr, client, _ := newRig(t, func(_ context.Context, req *admission.Request) admission.Response {
		if len(req.Object) != MaxBody-1000 {
			t.Errorf("the object has %d bytes", len(req.Object))
		}
		return admission.Allow()
	}).start(t, 0, time.Second)
	object := `{"a":"` + strings.Repeat("x", MaxBody-1000-len(`{"a":""}`)) + `"}`
	body := `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","object":` + object + `}}`
	for _, reader := range []io.Reader{strings.NewReader(body), struct{ io.Reader }{strings.NewReader(body)}} {
		resp, err := client.Post("https://"+addr+"/mutate-pod", "application/json", reader)
		if err != nil {
			t.Fatal(err)
		}
		if answer := parse(t, resp); resp.StatusCode != http.StatusOK || !answer.Allowed {
			t.Errorf("HTTP %d, %+v", resp.StatusCode, answer.Result)
		}
	}
}

func send(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
}

// dial opens a TLS connection for tests that write HTTP by hand.
func dial(t *testing.T, addr string) *tls.Conn {
	t.Helper()
	conn, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func TestSlowSenders(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for the timeouts of real connections")
	}
	addr, client, _ := newRig(t, allow).start(t, 0, time.Second)
	t.Run("group", func(t *testing.T) {
		t.Run("a body that never comes", func(t *testing.T) {
			t.Parallel()
			conn := dial(t, addr)
			send(t, conn, "POST /mutate-pod HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
			_ = conn.SetReadDeadline(time.Now().Add(bodyTimeout + 5*time.Second))
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			if answer := parse(t, resp); resp.StatusCode != http.StatusRequestTimeout || answer.Allowed || !resp.Close {
				t.Errorf("HTTP %d, close %v, %+v", resp.StatusCode, resp.Close, answer.Result)
			}
		})
		t.Run("others are served meanwhile", func(t *testing.T) {
			t.Parallel()
			resp, err := client.Post("https://"+addr+"/mutate-pod", "application/json", strings.NewReader(reviewOf("u")))
			if err != nil {
				t.Fatal(err)
			}
			if answer := parse(t, resp); !answer.Allowed {
				t.Errorf("HTTP %d", resp.StatusCode)
			}
		})
	})
}

// A connection that was dialled ahead serves as long as the API server's client keeps it, 90 s, and then some; it ends some
// time, and so do headers and handshakes that do not.
func TestHowLongConnectionsWait(t *testing.T) {
	const partOfHeader = "POST /mutate-pod HTTP/1.1\r\nHost: x\r\n"
	whole := reviewOf("u")
	request := partOfHeader + "Content-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(whole)) + "\r\n\r\n" + whole
	for name, c := range map[string]struct {
		handshake bool
		first     string
		after     time.Duration
		then      string // "" if it is to have ended by then
	}{
		"unused for 90 s":               {handshake: true, after: 91 * time.Second, then: request},
		"unused, to the last moment":    {handshake: true, after: idleTimeout - time.Second, then: request},
		"unused for ever":               {handshake: true, after: idleTimeout + time.Second},
		"a header that never ends":      {handshake: true, first: partOfHeader, after: idleTimeout + time.Second},
		"a handshake that never starts": {after: writeTimeout + time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				here, there := net.Pipe()
				server := newRig(t, allow).HTTP()
				server.TLSConfig.NextProtos = []string{"http/1.1"}
				listener := &single{conns: make(chan net.Conn, 1)}
				listener.conns <- there
				go func() { _ = server.ServeTLS(listener, "", "") }()
				defer func() { _ = server.Close() }()
				conn := here
				if c.handshake {
					encrypted := tls.Client(here, &tls.Config{InsecureSkipVerify: true})
					if err := encrypted.HandshakeContext(t.Context()); err != nil {
						t.Fatal(err)
					}
					conn = encrypted
				}
				defer func() { _ = here.Close() }()
				if c.first != "" {
					send(t, conn, c.first)
				}
				if c.then == "" {
					_ = conn.SetReadDeadline(time.Now().Add(c.after))
					if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
						t.Errorf("it is open after %s", c.after)
					}
					return
				}
				time.Sleep(c.after)
				go func() { _, _ = io.WriteString(conn, c.then) }()
				resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					t.Fatalf("after %s: %v", c.after, err)
				}
				if answer := parse(t, resp); !answer.Allowed {
					t.Errorf("HTTP %d", resp.StatusCode)
				}
			})
		})
	}
}

// single is a listener for the connections that a test gives it.
type single struct{ conns chan net.Conn }

func (l *single) Accept() (net.Conn, error) {
	conn, open := <-l.conns
	if !open {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (l *single) Close() error {
	defer func() { _ = recover() }() // the server closes it twice
	close(l.conns)
	return nil
}

func (l *single) Addr() net.Addr { return &net.TCPAddr{} }

func TestGarbageOnTheWire(t *testing.T) {
	addr, client, _ := newRig(t, allow).start(t, 0, time.Second)
	for _, garbage := range []string{"\x00\x01\x02\x03\r\n\r\n", "POST /mutate-pod HTTP/9.9\r\n\r\n", "POST /mutate-pod HTTP/1.1\r\nContent-Length: -1\r\nHost: x\r\n\r\n"} {
		conn := dial(t, addr)
		send(t, conn, garbage)
		_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%q gets no answer: %v", garbage, err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
		if resp.StatusCode < http.StatusBadRequest || resp.StatusCode == http.StatusInternalServerError {
			t.Errorf("%q gets HTTP %d", garbage, resp.StatusCode)
		}
	}
	resp, err := client.Post("https://"+addr+"/mutate-pod", "application/json", strings.NewReader(reviewOf("u")))
	if err != nil {
		t.Fatal(err)
	}
	parse(t, resp)
}

func TestABodyCutShort(t *testing.T) {
	r := newRig(t, allow)
	addr, _, _ := r.start(t, 0, time.Second)
	conn := dial(t, addr)
	send(t, conn, "POST /mutate-pod HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	if err := conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if answer := parse(t, resp); resp.StatusCode != http.StatusBadRequest || answer.Allowed {
		t.Errorf("HTTP %d, %+v", resp.StatusCode, answer.Result)
	}
}
