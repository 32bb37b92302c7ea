package disruption

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// review is a Pod that the SidecarSet matches.
const review = `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","operation":"CREATE",
	"kind":{"group":"","version":"v1","kind":"Pod"},"resource":{"group":"","version":"v1","resource":"pods"},
	"namespace":"shop","object":{"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"web-","labels":{"app":"web"}},
	"spec":{"containers":[{"name":"web","image":"bank.test/web:v1"}]}}}}`

// isWebhookFailure tells what the API server says when a webhook does not answer from what it says otherwise.
func isWebhookFailure(err error) bool {
	return err != nil && strings.Contains(err.Error(), "failed calling webhook")
}

// webhookTimeout is that of the registered webhooks.
const webhookTimeout = 5 * time.Second

// http1 is the API server's client: connections kept alive, as many idle ones as it keeps.
func http1() *http.Transport {
	const idle = 25
	return &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: idle,
		TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{},
	}
}

func http2() *http.Transport {
	return &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
}

// reviews are sent to the service at a rate, whatever becomes of those before.
type reviews struct {
	protocol int
	stop     context.CancelFunc
	busy     sync.WaitGroup
	mu       sync.Mutex
	answered int
	failures []failure
	longest  time.Duration
}

// failure is a review that was not answered as it should be.
type failure struct {
	began, ended time.Time
	err          error
}

func startReviews(t *testing.T, address string, every time.Duration, transport *http.Transport) *reviews {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &reviews{protocol: 1, stop: cancel}
	if transport.ForceAttemptHTTP2 {
		r.protocol = 2
	}
	client := &http.Client{Transport: transport, Timeout: webhookTimeout}
	r.busy.Go(func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				r.busy.Go(func() { r.once(client, "https://"+address+"/mutate-pod?timeout=5s") })
			}
		}
	})
	t.Cleanup(func() { cancel(); r.busy.Wait(); transport.CloseIdleConnections() })
	return r
}

func (r *reviews) once(client *http.Client, url string) {
	began := time.Now()
	err := r.ask(client, url)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.longest = max(r.longest, time.Since(began))
	if err != nil {
		r.failures = append(r.failures, failure{began, time.Now(), err})
		return
	}
	r.answered++
}

func (r *reviews) ask(client *http.Client, url string) error {
	resp, err := client.Post(url, "application/json", strings.NewReader(review))
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return err
	case resp.StatusCode != http.StatusOK:
		return errors.New(resp.Status)
	case !bytes.Contains(body, []byte(`"patch":`)):
		return fmt.Errorf("the Pod is not injected: %s", body)
	case resp.ProtoMajor != r.protocol:
		return fmt.Errorf("answered in HTTP/%d, want %d", resp.ProtoMajor, r.protocol)
	}
	return nil
}

// end stops, and reports every failure.
func (r *reviews) end(t *testing.T) {
	t.Helper()
	r.endExcept(t, func(failure) bool { return false })
}

// failedAfter counts the failures in a span, and tells how long after its beginning the last one was noticed.
func (r *reviews) failedAfter(s span) (n int, last time.Duration) {
	for _, f := range r.failures {
		if s.overlaps(f.began, f.ended) {
			n++
			last = max(last, f.ended.Sub(s.from))
		}
	}
	return n, last
}

func (r *reviews) endExcept(t *testing.T, excused func(failure) bool) {
	t.Helper()
	r.stop()
	r.busy.Wait()
	if wrong := slices.DeleteFunc(slices.Clone(r.failures), excused); len(wrong) > 0 {
		t.Errorf("HTTP/%d: %d reviews failed that nothing excuses, the first: %v", r.protocol, len(wrong), wrong[0].err)
	}
	if r.answered == 0 {
		t.Errorf("HTTP/%d: no review was answered", r.protocol)
	}
	t.Logf("HTTP/%d: %d reviews answered, %d failed, the longest took %s", r.protocol, r.answered, len(r.failures), r.longest.Round(time.Millisecond))
}
