package server

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
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
		t.Run("a header that never ends", func(t *testing.T) {
			t.Parallel()
			conn := dial(t, addr)
			send(t, conn, "POST /mutate-pod HTTP/1.1\r\nHost: x\r\n")
			expectEnd(t, conn, headerTimeout)
		})
		t.Run("a handshake that never starts", func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			expectEnd(t, conn, headerTimeout)
		})
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

// expectEnd waits until the server ends a connection that sends nothing more.
func expectEnd(t *testing.T, conn net.Conn, after time.Duration) {
	t.Helper()
	start := time.Now()
	_ = conn.SetReadDeadline(start.Add(after + 5*time.Second))
	_, err := io.Copy(io.Discard, conn)
	if took := time.Since(start); took > after+4*time.Second {
		t.Errorf("the connection is open after %s (%v)", took, err)
	}
}

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
