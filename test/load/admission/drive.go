package main

import (
	"bytes"
	"context"
	"crypto/tls"
	_ "embed"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// inFlight is the number of connections that are kept busy, the yardstick's.
const inFlight = 16

//go:embed testdata/pod.json
var podReview []byte

var (
	uidPlaceholder = []byte("UID_PLACEHOLDER")
	matchingLabel  = []byte(`"app": "nginx"`)
)

// newReview is the 5 KiB Pod of the yardstick with a uid of its own.
func newReview(uid string) []byte { return bytes.Replace(podReview, uidPlaceholder, []byte(uid), 1) }

// newClient speaks what the API server speaks to webhooks: HTTP/1.1 with connections kept alive.
func newClient(connections int) *http.Client {
	return &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		TLSClientConfig:     &tls.Config{InsecureSkipVerify: true},
		MaxIdleConnsPerHost: connections, MaxConnsPerHost: connections,
		TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{},
	}}
}

func post(ctx context.Context, client *http.Client, url string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK || !bytes.Contains(answer, []byte(`"allowed":true`)) {
		return fmt.Errorf("%s answered %s: %.300s", url, resp.Status, answer)
	}
	return nil
}

// drive sends requests with inFlight connections and gives each one's latency, sorted.
func drive(ctx context.Context, s *server, body []byte, requests int) ([]time.Duration, error) {
	client := newClient(inFlight)
	defer client.CloseIdleConnections()
	latencies := make([]time.Duration, requests)
	var next atomic.Int64
	var wg sync.WaitGroup
	errs := make(chan error, inFlight)
	for range inFlight {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < requests; i = int(next.Add(1)) - 1 {
				began := time.Now()
				if err := post(ctx, client, s.url, body); err != nil {
					errs <- err
					return
				}
				latencies[i] = time.Since(began)
			}
		})
	}
	wg.Wait()
	close(errs)
	if err := <-errs; err != nil {
		return nil, err
	}
	slices.Sort(latencies)
	return latencies, nil
}
