package server

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"

	"github.com/fairlead-io/fairlead/webhook/admission"
)

// rig is a server with one route, /mutate-pod, and what it reports.
type rig struct {
	*Server
	registry *prometheus.Registry
	access   *lines
	log      *lines
}

func newRig(t *testing.T, handler admission.HandlerFunc, change ...func(*Options)) *rig {
	t.Helper()
	r := &rig{registry: prometheus.NewRegistry(), access: &lines{}, log: &lines{}}
	options := Options{
		Routes:         []Route{{Path: "/mutate-pod", Webhooks: []string{"mpod.kb.io"}, Handler: handler}},
		GetCertificate: selfSigned(t),
		Metrics:        NewMetrics(r.registry),
		Rules:          func() string { return "r-7" },
		AccessLog:      slog.New(slog.NewJSONHandler(r.access, nil)),
		Log:            logr.FromSlogHandler(slog.NewTextHandler(r.log, nil)),
	}
	for _, f := range change {
		f(&options)
	}
	server, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	r.Server = server
	return r
}

func allow(context.Context, *admission.Request) admission.Response { return admission.Allow() }

// reviewOf is a review of a Pod named web-0 in namespace shop.
func reviewOf(uid string) string {
	return fmt.Sprintf(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":%q,`+
		`"kind":{"group":"","version":"v1","kind":"Pod"},"resource":{"group":"","version":"v1","resource":"pods"},"name":"web-0","namespace":"shop","operation":"CREATE",`+
		`"object":{"kind":"Pod","secretive":"sesame"}}}`, uid)
}

// post sends a review through the handler without a network.
func (r *rig) post(t *testing.T, path, body string, change ...func(*http.Request)) (*httptest.ResponseRecorder, admissionv1.AdmissionResponse) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, "http://localhost"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for _, f := range change {
		f(req)
	}
	recorder := httptest.NewRecorder()
	r.Handler().ServeHTTP(recorder, req)
	return recorder, parseBody(t, recorder.Body.Bytes())
}

// parse reads a review out of any answer, and closes it.
func parse(t *testing.T, resp *http.Response) admissionv1.AdmissionResponse {
	t.Helper()
	raw, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatalf("reading the answer: %v", err)
	}
	return parseBody(t, raw)
}

func parseBody(t *testing.T, raw []byte) admissionv1.AdmissionResponse {
	t.Helper()
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(raw, &review); err != nil || review.Response == nil || review.Kind != "AdmissionReview" {
		t.Fatalf("the answer is no review (%v): %s", err, raw)
	}
	return *review.Response
}

// start serves on a real TLS listener and returns its address and a client that trusts it. stop tells it to drain.
func (r *rig) start(t *testing.T, delay, grace time.Duration) (addr string, client *http.Client, stop func() error) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Serve(ctx, listener, delay, grace) }()
	var once sync.Once
	var result error
	stop = func() error {
		once.Do(func() { cancel(); result = <-done })
		return result
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("stopping: %v", err)
		}
	})
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	return listener.Addr().String(), &http.Client{Transport: transport, Timeout: 30 * time.Second}, stop
}

func selfSigned(t *testing.T) func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert := &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	return func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return cert, nil }
}

// metric is the value of a counter, a gauge, or a histogram's count, with the labels in the order of their names.
func (r *rig) metric(t *testing.T, name string, labels ...string) float64 {
	t.Helper()
	families, err := r.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			var values []string
			for _, label := range m.GetLabel() {
				values = append(values, label.GetValue())
			}
			if strings.Join(values, ",") == strings.Join(labels, ",") {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return 0
}

// lines is a log in memory.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}
