package disruption

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// soon is ample for any answer, on a busy machine.
const soon = 5 * time.Second

// reviewOf is a review of a Pod with further members in its metadata and its spec.
func reviewOf(metadata, spec string) string {
	return `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","operation":"CREATE",
		"resource":{"group":"","version":"v1","resource":"pods"},"namespace":"shop","object":{"apiVersion":"v1","kind":"Pod",
		"metadata":{"generateName":"web-","labels":{"app":"web"}` + metadata + `},"spec":{` + spec + `}}}}`
}

const oneContainer = `"containers":[{"name":"web","image":"bank.test/web:v1"}]`

func containers(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`{"name":"c-%d","image":"bank.test/web:v1","env":[{"name":"A","value":"b"}]}`, i)
	}
	return `"containers":[` + strings.Join(list, ",") + `]`
}

func nested(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }

// TestWhateverIsSent has an answer, soon, and the next Pod is served as ever.
func TestWhateverIsSent(t *testing.T) {
	aside(t)
	r := start(t, "hostile", nil, nil, "--standalone", "--objects="+writeObjects(t))
	until(t, "the replica is ready", r.ready.Load)
	client := &http.Client{Transport: http1(), Timeout: 2 * soon}
	defer client.CloseIdleConnections()
	const asJSON = "application/json"
	for _, tt := range []struct {
		name, path, contentType, body string
		code                          int
		injected                      bool
	}{
		{"a Pod", "/mutate-pod", asJSON, review, 200, true},
		{"a dry run", "/mutate-pod", asJSON, strings.Replace(review, `"uid":"u"`, `"uid":"u","dryRun":true`, 1), 200, true},
		{"a Pod of 3 MiB", "/mutate-pod", asJSON, reviewOf(`,"annotations":{"a":"`+strings.Repeat("x", 3<<20)+`"}`, oneContainer), 200, true},
		{"1,000 containers", "/mutate-pod", asJSON, reviewOf("", containers(1000)), 200, true},
		{"what we do not know, nested deeply", "/mutate-pod", asJSON, reviewOf("", oneContainer+`,"unknown":`+nested(5000)), 200, true},
		{"nested beyond reason", "/mutate-pod", asJSON, reviewOf("", oneContainer+`,"unknown":`+nested(1<<20)), 400, false},
		{"12 MiB", "/mutate-pod", asJSON, reviewOf("", oneContainer) + strings.Repeat(" ", 12<<20), 413, false},
		{"YAML", "/mutate-pod", "application/yaml", "kind: AdmissionReview", 415, false},
		{"nothing", "/mutate-pod", asJSON, "", 400, false},
		{"half of a review", "/mutate-pod", asJSON, review[:len(review)/2], 400, false},
		{"no request", "/mutate-pod", asJSON, `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}`, 400, false},
		{"another path", "/mutate-everything", asJSON, review, 404, false},
	} {
		began := time.Now()
		resp, err := client.Post("https://"+r.address+tt.path+"?timeout=5s", tt.contentType, strings.NewReader(tt.body))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		var answer struct {
			Response struct{ Allowed bool }
		}
		if err := json.Unmarshal(body, &answer); err != nil {
			t.Errorf("%s: the answer is no review: %v", tt.name, err)
		}
		injected := bytes.Contains(body, []byte(`"patch":`))
		if err != nil || resp.StatusCode != tt.code || injected != tt.injected || answer.Response.Allowed != tt.injected {
			t.Errorf("%s: %v HTTP %d, injected %t; want %d, %t: %.200s", tt.name, err, resp.StatusCode, injected, tt.code, tt.injected, body)
		}
		if took := time.Since(began); took > soon {
			t.Errorf("%s: the answer took %s", tt.name, took)
		}
	}
}

// TestManyAndSlowClients beside 50 reviews a second: connections that idle, that end no header, that send no body.
func TestManyAndSlowClients(t *testing.T) {
	aside(t)
	r := start(t, "crowded", nil, nil, "--standalone", "--objects="+writeObjects(t))
	until(t, "the replica is ready", r.ready.Load)
	before, err := usageOf(r)
	if err != nil {
		t.Fatal(err)
	}
	traffic := startReviews(t, r.address, 20*time.Millisecond, http1())
	const header = "POST /mutate-pod HTTP/1.1\r\nHost: x\r\n"
	for i, says := range []string{"", "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", header, header + "Content-Type: application/json\r\nContent-Length: 60000\r\n\r\n{"} {
		for range crowd {
			conn, err := tls.Dial("tcp", r.address, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}})
			if err != nil {
				t.Fatalf("connection of kind %d: %v", i, err)
			}
			t.Cleanup(func() { _ = conn.NetConn().Close() })
			_, _ = io.WriteString(conn, says) // it may have been closed for another
		}
	}
	after, err := usageOf(r)
	if err != nil {
		t.Fatal(err)
	}
	traffic.end(t)
	t.Logf("%d connections: %d MiB resident, %d MiB before", 4*crowd, after.resident>>20, before.resident>>20)
	if grown := (after.resident - before.resident) >> 20; grown > 256 {
		t.Errorf("the memory grew by %d MiB", grown)
	}
}
