package server

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/webhook/admission"
)

func TestVerdicts(t *testing.T) {
	patch := `[{"op":"add","path":"/metadata/labels","value":{"a":"sesame"}}]`
	tests := []struct {
		name    string
		resp    admission.Response
		code    int
		allowed bool
		outcome outcome
		retry   string
	}{
		{"allowed", admission.Allow(), 200, true, allowed, ""},
		{"mutated", admission.Patched([]byte(patch)), 200, true, mutated, ""},
		{"denied", admission.Failed(admission.Refuse(403, "no sesame")), 200, false, denied, ""},
		{"a fault", admission.Failed(errors.New("the index is broken")), 500, false, faulted, ""},
		{"a shed dependency", admission.Faulted(429, "the API server is busy"), 429, false, shed, "1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, func(context.Context, *admission.Request) admission.Response { return tt.resp })
			resp, answer := r.post(t, "/mutate-pod?timeout=5s", reviewOf("u-1"))
			if resp.Code != tt.code || answer.Allowed != tt.allowed || answer.UID != "u-1" {
				t.Errorf("HTTP %d, allowed %v, uid %q; want %d, %v, u-1", resp.Code, answer.Allowed, answer.UID, tt.code, tt.allowed)
			}
			if got := resp.Header().Get("Retry-After"); got != tt.retry {
				t.Errorf("Retry-After is %q, want %q", got, tt.retry)
			}
			if got := resp.Header().Get("Content-Type"); got != "application/json" {
				t.Errorf("content type %q", got)
			}
			if got := r.metric(t, "fairlead_webhook_request_duration_seconds", "CREATE", string(tt.outcome), "mpod.kb.io"); got != 1 {
				t.Errorf("%v requests counted as %s, want 1", got, tt.outcome)
			}
		})
	}
}

func TestAccessLog(t *testing.T) {
	tests := []struct {
		name string
		resp admission.Response
		want map[string]any
	}{
		{"unchanged", admission.Allow(), nil},
		{"a fault", admission.Faulted(500, "broken"), nil},
		{"mutated", admission.Patched([]byte(`[{"op":"add","path":"/x","value":"sesame"}]`)), map[string]any{
			"level": "INFO", "msg": "review", "uid": "u-1", "webhook": "mpod.kb.io", "operation": "CREATE", "kind": "Pod", "resource": "v1/pods",
			"namespace": "shop", "name": "web-0", "decision": "mutated", "patchBytes": 43.0,
		}},
		{"denied", admission.Failed(admission.Refuse(403, "no sesame here")), map[string]any{
			"level": "INFO", "msg": "review", "uid": "u-1", "webhook": "mpod.kb.io", "operation": "CREATE", "kind": "Pod", "resource": "v1/pods",
			"namespace": "shop", "name": "web-0", "decision": "denied", "code": 403.0, "reason": "Forbidden", "rules": "r-7",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, func(context.Context, *admission.Request) admission.Response { return tt.resp })
			r.post(t, "/mutate-pod", reviewOf("u-1"))
			if strings.Contains(r.access.String(), "sesame") {
				t.Errorf("the log has content of the object, the patch or a message: %s", r.access)
			}
			if tt.want == nil {
				if r.access.String() != "" {
					t.Errorf("logged %s", r.access)
				}
				return
			}
			var got map[string]any
			if err := json.Unmarshal([]byte(r.access.String()), &got); err != nil {
				t.Fatalf("not one JSON line: %v: %s", err, r.access)
			}
			if _, ok := got["durationSeconds"].(float64); !ok {
				t.Error("no duration")
			}
			delete(got, "time")
			delete(got, "durationSeconds")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A dry run is said to be one; what is allowed as it is, and what was no review, has no line.
func TestAccessLogOfDryRuns(t *testing.T) {
	r := newRig(t, func(_ context.Context, req *admission.Request) admission.Response {
		if req.DryRun {
			return admission.Patched([]byte(`[{"op":"remove","path":"/x"}]`))
		}
		return admission.Allow()
	})
	r.post(t, "/mutate-pod", reviewOf("u-1"))
	r.post(t, "/mutate-pod", "garbage")
	r.post(t, "/mutate-pod", strings.Replace(reviewOf("u-2"), `"operation"`, `"dryRun":true,"operation"`, 1))
	if got := r.access.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `"uid":"u-2"`) || !strings.Contains(got, `"dryRun":true`) {
		t.Errorf("logged %s", got)
	}
}

func TestResourceNames(t *testing.T) {
	req := &admission.Request{SubResource: "eviction"}
	req.Resource.Group, req.Resource.Version, req.Resource.Resource = "apps.kruise.io", "v1beta1", "clonesets"
	if got := resource(req); got != "apps.kruise.io/v1beta1/clonesets/eviction" {
		t.Error(got)
	}
}

func TestMalformedRequestsGetAReview(t *testing.T) {
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, _ = w.Write([]byte(reviewOf("u-1")))
	_ = w.Close()
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	method := func(m string) func(*http.Request) { return func(r *http.Request) { r.Method = m } }
	tests := []struct {
		name, path, body string
		change           func(*http.Request)
		code             int
		message          string
		uid              string
	}{
		{"empty", "/mutate-pod", "", nil, 400, "the body is empty", ""},
		{"garbage", "/mutate-pod", "\x00\x01\x02", nil, 400, "reading the review", ""},
		{"a bare Pod", "/mutate-pod", `{"kind":"Pod","apiVersion":"v1"}`, nil, 400, `kind is "Pod"`, ""},
		{"no uid", "/mutate-pod", strings.Replace(reviewOf("u-1"), "uid", "uib", 1), nil, 400, "request.uid is missing", ""},
		{"a future version", "/mutate-pod", strings.Replace(reviewOf("u-1"), "k8s.io/v1", "k8s.io/v2", 1), nil, 400, "k8s.io/v2", "u-1"},
		{"GET", "/mutate-pod", "", method("GET"), 405, "send an AdmissionReview with POST", ""},
		{"PUT", "/mutate-pod", reviewOf("u-1"), method("PUT"), 405, "PUT", ""},
		{"a form", "/mutate-pod", reviewOf("u-1"), header("Content-Type", "application/x-www-form-urlencoded"), 415, "send application/json", ""},
		{"YAML", "/mutate-pod", "kind: AdmissionReview", header("Content-Type", "application/yaml"), 415, "application/yaml", ""},
		{"no content type", "/mutate-pod", reviewOf("u-1"), func(r *http.Request) { r.Header.Del("Content-Type") }, 415, `""`, ""},
		{"compressed", "/mutate-pod", zipped.String(), header("Content-Encoding", "gzip"), 415, "gzip", ""},
		{"a path of nobody", "/mutate-pods", reviewOf("u-1"), nil, 404, "/mutate-pods", ""},
		{"POST to a page", "/healthz", reviewOf("u-1"), nil, 405, "POST", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, func(context.Context, *admission.Request) admission.Response {
				t.Error("the handler was asked")
				return admission.Allow()
			})
			if tt.change == nil {
				tt.change = func(*http.Request) {}
			}
			resp, answer := r.post(t, tt.path, tt.body, tt.change)
			if resp.Code != tt.code || answer.Allowed {
				t.Errorf("HTTP %d, allowed %v; want %d, refused", resp.Code, answer.Allowed, tt.code)
			}
			if answer.Result == nil || int(answer.Result.Code) != tt.code || !strings.Contains(answer.Result.Message, tt.message) {
				t.Errorf("status %v; want code %d and %q", answer.Result, tt.code, tt.message)
			}
			if string(answer.UID) != tt.uid {
				t.Errorf("uid %q, want %q", answer.UID, tt.uid)
			}
			if tt.code == 405 && resp.Header().Get("Allow") == "" {
				t.Error("no Allow header")
			}
		})
	}
}

func TestJSONWithParametersIsJSON(t *testing.T) {
	r := newRig(t, allow)
	for _, contentType := range []string{"application/json; charset=utf-8", "Application/JSON", "application/json;"} {
		resp, _ := r.post(t, "/mutate-pod", reviewOf("u"), func(r *http.Request) { r.Header.Set("Content-Type", contentType) })
		if resp.Code != http.StatusOK {
			t.Errorf("%q gives HTTP %d", contentType, resp.Code)
		}
	}
}

func TestAPanicIsAnAnswer(t *testing.T) {
	r := newRig(t, func(context.Context, *admission.Request) admission.Response {
		var none []string
		return admission.Allow(none[0])
	})
	for range 2 { // the slot and the buffer survive
		resp, answer := r.post(t, "/mutate-pod", reviewOf("u-1"))
		if resp.Code != 500 || answer.Allowed || answer.UID != "u-1" {
			t.Errorf("HTTP %d, %+v", resp.Code, answer)
		}
	}
	if got := r.metric(t, "fairlead_webhook_panics_total", "mpod.kb.io"); got != 2 {
		t.Errorf("%v panics counted, want 2", got)
	}
	if got := r.metric(t, "fairlead_webhook_requests_in_flight"); got != 0 {
		t.Errorf("%v requests still in flight", got)
	}
	if log := r.log.String(); !strings.Contains(log, "index out of range") || !strings.Contains(log, "endpoint_test.go") {
		t.Errorf("the log lacks the cause or the stack: %s", log)
	}
}

func TestTimeLeft(t *testing.T) {
	for query, want := range map[string]time.Duration{
		"timeout=5s":        4750 * time.Millisecond, // a twentieth less
		"timeout=1s":        950 * time.Millisecond,
		"timeout=30s":       29500 * time.Millisecond, // at most 500 ms less
		"timeout=1h":        29500 * time.Millisecond,
		"timeout=10s&x=y":   9500 * time.Millisecond,
		"":                  9500 * time.Millisecond,
		"timeout=":          9500 * time.Millisecond,
		"timeout=5":         9500 * time.Millisecond,
		"timeout=-5s":       9500 * time.Millisecond,
		"timeout=0s":        9500 * time.Millisecond,
		"timeout=%zz;x=%%%": 9500 * time.Millisecond,
	} {
		if got := timeLeft(query); got != want {
			t.Errorf("?%s leaves %s, want %s", query, got, want)
		}
	}
}

func TestTheDeadlineEndsAHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(ctx context.Context, _ *admission.Request) admission.Response {
			<-ctx.Done()
			return admission.Failed(ctx.Err())
		})
		start := time.Now()
		resp, answer := r.post(t, "/mutate-pod?timeout=2s", reviewOf("u-1"))
		if resp.Code != 503 || answer.Allowed || answer.UID != "u-1" {
			t.Errorf("HTTP %d, %+v", resp.Code, answer)
		}
		if took := time.Since(start); took != 1900*time.Millisecond {
			t.Errorf("answered after %s, want 1.9 s", took)
		}
		if got := r.metric(t, "fairlead_webhook_request_duration_seconds", "CREATE", "timeout", "mpod.kb.io"); got != 1 {
			t.Errorf("%v requests counted as timeout, want 1", got)
		}
	})
}

func TestMoreThanTheLimitIsShed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		proceed := make(chan struct{})
		r := newRig(t, func(context.Context, *admission.Request) admission.Response {
			<-proceed
			return admission.Allow()
		}, func(o *Options) { o.MaxInFlight = 2 })
		codes := make(chan int, 2)
		for range 2 {
			go func() {
				resp, _ := r.post(t, "/mutate-pod", reviewOf("u"))
				codes <- resp.Code
			}()
		}
		synctest.Wait()
		if got := r.metric(t, "fairlead_webhook_requests_in_flight"); got != 2 {
			t.Errorf("%v in flight, want 2", got)
		}
		resp, answer := r.post(t, "/mutate-pod", reviewOf("u-3"))
		if resp.Code != 429 || resp.Header().Get("Retry-After") != "1" || answer.UID != "u-3" || answer.Allowed {
			t.Errorf("the third gets HTTP %d, Retry-After %q, %+v", resp.Code, resp.Header().Get("Retry-After"), answer)
		}
		if got := r.metric(t, "fairlead_webhook_requests_shed_total", "concurrency"); got != 1 {
			t.Errorf("%v shed, want 1", got)
		}
		close(proceed)
		for range 2 {
			if code := <-codes; code != 200 {
				t.Errorf("a request within the limit gets HTTP %d", code)
			}
		}
		if resp, _ := r.post(t, "/mutate-pod", reviewOf("u-4")); resp.Code != 200 {
			t.Errorf("after the others HTTP %d", resp.Code)
		}
	})
}

func TestAColdReplicaJudgesNothing(t *testing.T) {
	cause := errors.New("SidecarSets are not synced")
	r := newRig(t, allow, func(o *Options) { o.Ready = func() error { return cause } })
	resp, answer := r.post(t, "/mutate-pod", reviewOf("u-1"))
	if resp.Code != 503 || answer.Allowed || !strings.Contains(answer.Result.Message, "SidecarSets are not synced") {
		t.Errorf("HTTP %d, %+v", resp.Code, answer)
	}
	if resp.Header().Get("Retry-After") != "1" {
		t.Error("the API server is not told to try again")
	}
	if resp.Header().Get("Connection") != "close" {
		t.Error("the next attempt would come over the same connection, to the same replica")
	}
	cause = nil
	if resp, _ := r.post(t, "/mutate-pod", reviewOf("u-2")); resp.Code != 200 {
		t.Errorf("once ready HTTP %d", resp.Code)
	}
	cause = errors.New("a watch broke")
	if resp, _ := r.post(t, "/mutate-pod", reviewOf("u-3")); resp.Code != 200 {
		t.Errorf("a broken watch closes the gate again: HTTP %d", resp.Code)
	}
}

func TestUnknownOperationsMakeNoSeries(t *testing.T) {
	r := newRig(t, allow)
	for _, operation := range []string{"A", "B", "C"} {
		r.post(t, "/mutate-pod", strings.Replace(reviewOf("u"), `"CREATE"`, `"`+operation+`"`, 1))
	}
	if got := r.metric(t, "fairlead_webhook_request_duration_seconds", "other", "allowed", "mpod.kb.io"); got != 3 {
		t.Errorf("%v requests with operation=other, want 3", got)
	}
}

func TestLargeBodiesAreCollectedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var collections atomic.Int64
		r := newRig(t, allow)
		r.reclaimer.free = func() { collections.Add(1) }
		small, large := reviewOf("u"), reviewOf("u")+strings.Repeat(" ", reclaimFrom)
		r.post(t, "/mutate-pod", small)
		time.Sleep(time.Minute)
		if collections.Load() != 0 {
			t.Errorf("a small body caused a collection")
		}
		for range 5 {
			r.post(t, "/mutate-pod", large)
			time.Sleep(time.Second)
		}
		time.Sleep(time.Minute)
		if got := collections.Load(); got != 1 {
			t.Errorf("five large bodies in five seconds caused %d collections, want 1", got)
		}
		r.post(t, "/mutate-pod", large)
		time.Sleep(time.Minute)
		if collections.Load() != 2 {
			t.Errorf("a later large body caused none")
		}
	})
}
