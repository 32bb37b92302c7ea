package main

import (
	"bytes"
	"context"
	"crypto/tls"
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

// exchange is what is sent to a server, and a part of the answer that it is to give.
type exchange struct {
	url    string
	body   []byte
	answer string
}

// newClient speaks what the API server speaks to webhooks: HTTP/1.1 with connections kept alive.
func newClient(connections int) *http.Client {
	return &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		TLSClientConfig:     &tls.Config{InsecureSkipVerify: true},
		MaxIdleConnsPerHost: connections, MaxConnsPerHost: connections,
		TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{},
	}}
}

func (e exchange) post(ctx context.Context, client *http.Client) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(e.body))
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
	if resp.StatusCode != http.StatusOK || !bytes.Contains(answer, []byte(e.answer)) {
		return fmt.Errorf("%s answered %s: %.600s", e.url, resp.Status, answer)
	}
	return nil
}

// drive sends requests with inFlight connections and gives each one's latency, sorted.
func drive(ctx context.Context, s *server, requests int) ([]time.Duration, error) {
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
				if err := s.exchange.post(ctx, client); err != nil {
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
