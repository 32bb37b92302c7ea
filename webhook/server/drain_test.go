package server

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/webhook/admission"
)

// TestRollingRestartLosesNothing has two replicas behind what a Service is to the API server: a dialer that asks for
// readiness, though only every 50 ms, as endpoints propagate late. One replica is told to stop under load; no request
// may fail, neither of clients with HTTP/1.1 keep-alive nor of those with HTTP/2.
func TestRollingRestartLosesNothing(t *testing.T) {
	handler := func(context.Context, *admission.Request) admission.Response {
		time.Sleep(time.Millisecond)
		return admission.Allow()
	}
	first, second := newRig(t, handler), newRig(t, handler)
	addr1, client, stop1 := first.start(t, time.Second, 5*time.Second)
	addr2, _, _ := second.start(t, 0, 5*time.Second)
	service := &endpoints{ready: func() []string {
		if first.Draining() != nil {
			return []string{addr2}
		}
		return []string{addr1, addr2}
	}}
	ctx, cancel := context.WithCancel(t.Context())
	go service.propagate(ctx)

	var clients sync.WaitGroup
	var served atomic.Int64
	for worker := range 8 {
		transport := client.Transport.(*http.Transport).Clone()
		transport.DialContext = service.dial
		transport.ForceAttemptHTTP2 = worker%2 == 1
		t.Cleanup(transport.CloseIdleConnections)
		clients.Go(func() {
			for ctx.Err() == nil {
				if err := postOnce(transport); err != nil {
					t.Errorf("a request failed: %v", err)
				}
				served.Add(1)
			}
		})
	}
	more := func(n int64) {
		for target := served.Load() + n; served.Load() < target; {
			time.Sleep(time.Millisecond)
		}
	}
	more(100) // every client has connections to both replicas
	before := served.Load()
	if err := stop1(); err != nil {
		t.Errorf("draining: %v", err)
	}
	during := served.Load() - before
	more(100)
	cancel()
	clients.Wait()
	if during == 0 {
		t.Error("there was no load during the restart")
	}
	if _, err := net.Dial("tcp", addr1); err == nil {
		t.Error("the stopped replica still listens")
	}
	t.Logf("%d requests, %d of them while one replica drained", served.Load(), during)
}

func postOnce(transport *http.Transport) error {
	client := http.Client{Transport: transport, Timeout: 10 * time.Second}
	resp, err := client.Post("https://service/mutate-pod", "application/json", strings.NewReader(reviewOf("u")))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return drainBody(resp)
}

// drainBody reads an answer to its end, as clients that reuse connections do.
func drainBody(resp *http.Response) error {
	_, err := io.Copy(io.Discard, resp.Body)
	return errors.Join(err, resp.Body.Close())
}

// endpoints are addresses that lag behind readiness.
type endpoints struct {
	ready func() []string
	mu    sync.Mutex
	list  []string
	next  int
}

func (e *endpoints) propagate(ctx context.Context) {
	for ctx.Err() == nil {
		list := e.ready()
		time.Sleep(50 * time.Millisecond)
		e.mu.Lock()
		e.list = list
		e.mu.Unlock()
	}
}

func (e *endpoints) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	for {
		e.mu.Lock()
		n := len(e.list)
		var addr string
		if n > 0 {
			e.next++
			addr = e.list[e.next%n]
		}
		e.mu.Unlock()
		if n > 0 {
			return (&net.Dialer{}).DialContext(ctx, network, addr)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestDrain(t *testing.T) {
	running := make(chan struct{}, 1)
	proceed := make(chan struct{})
	r := newRig(t, func(_ context.Context, req *admission.Request) admission.Response {
		if req.UID == "slow" {
			running <- struct{}{}
			<-proceed
		}
		return admission.Allow()
	})
	addr, client, stop := r.start(t, 300*time.Millisecond, 5*time.Second)
	post := func(uid string) (*http.Response, error) {
		return client.Post("https://"+addr+"/mutate-pod", "application/json", strings.NewReader(reviewOf(uid)))
	}
	before, err := post("before")
	if err != nil {
		t.Fatal(err)
	}
	if parse(t, before); before.Close {
		t.Error("the connection is closed before the drain")
	}
	slow := make(chan error, 1)
	go func() {
		resp, err := post("slow")
		if err == nil {
			err = drainBody(resp)
		}
		slow <- err
	}()
	<-running
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	for r.Draining() == nil {
		time.Sleep(time.Millisecond)
	}
	resp, err := post("during")
	if err != nil {
		t.Fatalf("during the drain: %v", err)
	}
	if answer := parse(t, resp); !answer.Allowed || !resp.Close {
		t.Errorf("during the drain: allowed %v, close %v; want both", answer.Allowed, resp.Close)
	}
	time.Sleep(400 * time.Millisecond) // past the delay: only the slow one is left
	select {
	case err := <-stopped:
		t.Fatalf("the server stopped with a request running: %v", err)
	default:
	}
	close(proceed)
	if err := <-slow; err != nil {
		t.Errorf("the request that ran at the end: %v", err)
	}
	if err := <-stopped; err != nil {
		t.Errorf("stopping: %v", err)
	}
}

// TestWhichConnectionsIdle are those that a drain waits for.
func TestWhichConnectionsIdle(t *testing.T) {
	for name, c := range map[string]struct {
		states []http.ConnState
		want   int
	}{
		"new":           {[]http.ConnState{http.StateNew}, 1},
		"busy":          {[]http.ConnState{http.StateNew, http.StateActive}, 0},
		"idle":          {[]http.ConnState{http.StateNew, http.StateActive, http.StateIdle}, 1},
		"busy again":    {[]http.ConnState{http.StateNew, http.StateActive, http.StateIdle, http.StateActive}, 0},
		"closed unused": {[]http.ConnState{http.StateNew, http.StateClosed}, 0},
	} {
		known, conn := newConnections(10, func() {}), &net.TCPConn{}
		for _, state := range c.states {
			known.observe(conn, state)
		}
		if got := known.idling(); got != c.want {
			t.Errorf("%s: %d idle, want %d", name, got, c.want)
		}
	}
}

// TestIdleConnectionsOutliveTheListener sends a request into one that was idle for the whole delay.
func TestIdleConnectionsOutliveTheListener(t *testing.T) {
	const delay = 2 * time.Second // half of it is to spare on a busy machine
	r := newRig(t, func(context.Context, *admission.Request) admission.Response { return admission.Allow() })
	addr, client, stop := r.start(t, delay, 5*time.Second)
	post := func() (*http.Response, error) {
		return client.Post("https://"+addr+"/mutate-pod", "application/json", strings.NewReader(reviewOf("u")))
	}
	first, err := post()
	if err != nil {
		t.Fatal(err)
	}
	parse(t, first)
	for r.conns.idling() == 0 {
		time.Sleep(time.Millisecond)
	}
	began, stopped := time.Now(), make(chan error, 1)
	go func() { stopped <- stop() }()
	for conn, err := net.Dial("tcp", addr); err == nil; conn, err = net.Dial("tcp", addr) {
		_ = conn.Close()
		time.Sleep(time.Millisecond)
	}
	// A client that finds the connection closed would have to dial, which is refused by now.
	last, err := post()
	if err != nil {
		t.Fatal(err)
	}
	if !parse(t, last).Allowed || !last.Close {
		t.Errorf("the request is answered with close %v, want it answered and closed", last.Close)
	}
	if err := <-stopped; err != nil || time.Since(began) >= 2*delay {
		t.Errorf("stopped after %s with %v, want as soon as nothing idles and no error", time.Since(began), err)
	}
}

func TestIdleConnectionsAreNotWaitedForLong(t *testing.T) {
	const delay = 100 * time.Millisecond
	r := newRig(t, func(context.Context, *admission.Request) admission.Response { return admission.Allow() })
	addr, client, stop := r.start(t, delay, 5*time.Second)
	resp, err := client.Post("https://"+addr+"/mutate-pod", "application/json", strings.NewReader(reviewOf("u")))
	if err != nil {
		t.Fatal(err)
	}
	parse(t, resp)
	began := time.Now()
	if err := stop(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took < 2*delay || took > 2*time.Second {
		t.Errorf("stopped after %s, want soon after %s", took, 2*delay)
	}
}

func TestTheGraceIsBounded(t *testing.T) {
	stuck := make(chan struct{})
	defer close(stuck)
	entered := make(chan struct{})
	r := newRig(t, func(context.Context, *admission.Request) admission.Response {
		close(entered)
		<-stuck
		return admission.Allow()
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Serve(ctx, listener, 0, 50*time.Millisecond) }()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	go func() {
		resp, err := client.Post("https://"+listener.Addr().String()+"/mutate-pod", "application/json", strings.NewReader(reviewOf("u")))
		if err == nil {
			_ = resp.Body.Close()
		}
	}()
	<-entered
	cancel()
	if err := <-done; err == nil || !strings.Contains(err.Error(), "finishing the last requests") {
		t.Errorf("error %v", err)
	}
}

func TestAListenerThatBreaksIsAnError(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if err := newRig(t, allow).Serve(t.Context(), listener, 0, 0); err == nil || !strings.Contains(err.Error(), "serving webhooks on 127.0.0.1") {
		t.Errorf("error %v", err)
	}
	if err := ServePlain(t.Context(), listener, http.NotFoundHandler()); err == nil || !strings.Contains(err.Error(), "serving on 127.0.0.1") {
		t.Errorf("error %v", err)
	}
}
