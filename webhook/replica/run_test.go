package replica

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/fairlead-io/fairlead/certs"
	"github.com/fairlead-io/fairlead/webhook/admission"
	"github.com/fairlead-io/fairlead/webhook/table"
)

// quiet is a replica whose objects are read, unless synced says otherwise.
func quiet(t *testing.T, synced func() error, entries ...table.Entry) *service {
	t.Helper()
	source, err := certs.SelfSigned([]string{"localhost"}, clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	options := Options{BindAddress: "127.0.0.1:0", ShutdownDelay: 200 * time.Millisecond, ShutdownGrace: time.Second, Log: logr.Discard(), AccessLog: io.Discard}
	s, err := newService(options, newRegistry("v1"), parts{entries: entries, synced: synced, source: source})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func warm() error { return nil }

// TestAColdReplicaConverts: the objects that a replica waits for may be stored in a version that only it can convert.
func TestAColdReplicaConverts(t *testing.T) {
	allow := admission.HandlerFunc(func(context.Context, *admission.Request) admission.Response { return admission.Allow() })
	s := quiet(t, func() error { return errors.New("sidecarsets are not read yet") },
		table.Entry{Name: "mpod.kb.io", Path: "/mutate-pod", Handler: allow})
	post := func(path, body string) *httptest.ResponseRecorder {
		request := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
		request.Header.Set("Content-Type", "application/json")
		recorder := httptest.NewRecorder()
		s.server.Handler().ServeHTTP(recorder, request)
		return recorder
	}
	if got := post("/mutate-pod", podReview); got.Code != http.StatusServiceUnavailable {
		t.Errorf("a cold replica judges a Pod: %d %s", got.Code, got.Body)
	}
	got := post("/convert", `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"u-1",
		"desiredAPIVersion":"apps.kruise.io/v1beta1","objects":[{"apiVersion":"apps.kruise.io/v1alpha1","kind":"SidecarSet",
		"metadata":{"name":"a"},"spec":{"namespace":"shop"}}]}}`)
	if got.Code != http.StatusOK || !strings.Contains(got.Body.String(), `"kubernetes.io/metadata.name":"shop"`) {
		t.Errorf("a cold replica does not convert: %d %s", got.Code, got.Body)
	}
}

// TestTheOrderOfTheEnd: what registers stops when the drain begins; what requests depend on, when it is over.
func TestTheOrderOfTheEnd(t *testing.T) {
	s := quiet(t, warm)
	l, err := s.options.listen()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan string, 2)
	until := func(name string) task {
		return func(ctx context.Context) error {
			<-ctx.Done()
			ended <- name
			return nil
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.run(ctx, l, []task{until("background")}, []task{until("registration")}) }()
	cancel()
	start := time.Now()
	if first := <-ended; first != "registration" {
		t.Errorf("%s ended first", first)
	}
	if second := <-ended; second != "background" || time.Since(start) < s.options.ShutdownDelay {
		t.Errorf("%s ended after %s, want background after %s", second, time.Since(start), s.options.ShutdownDelay)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestATaskThatFailsEndsTheReplica(t *testing.T) {
	broken := func(context.Context) error { return errors.New("the watch broke") }
	idle := func(ctx context.Context) error { <-ctx.Done(); return nil }
	for name, tasks := range map[string][2][]task{
		"in the background": {{broken, idle}, {idle}},
		"at registration":   {{idle}, {broken}},
	} {
		s := quiet(t, warm)
		l, err := s.options.listen()
		if err != nil {
			t.Fatal(err)
		}
		if err := s.run(t.Context(), l, tasks[0], tasks[1]); err == nil || !strings.Contains(err.Error(), "the watch broke") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestRoutesShareTheirPath(t *testing.T) {
	handler := admission.HandlerFunc(func(context.Context, *admission.Request) admission.Response { return admission.Allow() })
	got := routes([]table.Entry{
		{Name: "vpod.kb.io", Path: "/validate-pod", Handler: handler},
		{Name: "mpod.kb.io", Path: "/mutate-pod", Handler: handler},
		{Name: "vpodeviction.kb.io", Path: "/validate-pod", Handler: handler},
	}, nil)
	var summary []string
	for _, route := range got {
		summary = append(summary, route.Path+" "+strings.Join(route.Webhooks, ","))
	}
	if diff := cmp.Diff([]string{"/validate-pod vpod.kb.io,vpodeviction.kb.io", "/mutate-pod mpod.kb.io"}, summary); diff != "" {
		t.Error(diff)
	}
}

// TestARetiredEntryLetsPass: after a gate was switched off, the API servers ask for a while yet, and a 404 would refuse Pods.
func TestARetiredEntryLetsPass(t *testing.T) {
	refuse := admission.HandlerFunc(func(context.Context, *admission.Request) admission.Response {
		return admission.Failed(admission.Refuse(http.StatusForbidden, "no"))
	})
	on := []table.Entry{{Name: "a.kb.io", Path: "/shared", Handler: refuse}}
	off := []table.Entry{{Name: "b.kb.io", Path: "/shared", Handler: refuse}, {Name: "mpod.kb.io", Path: "/mutate-pod", Handler: refuse}}
	source, err := certs.SelfSigned([]string{"localhost"}, clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := newService(Options{Log: logr.Discard(), AccessLog: io.Discard}, newRegistry("v1"), parts{entries: on, retired: off, synced: warm, source: source})
	if err != nil {
		t.Fatal(err)
	}
	serve := func(method, path, body string) string {
		request := httptest.NewRequest(method, path, strings.NewReader(body))
		request.Header.Set("Content-Type", "application/json")
		recorder := httptest.NewRecorder()
		s.server.Handler().ServeHTTP(recorder, request)
		return recorder.Body.String()
	}
	if got := serve(http.MethodPost, "/mutate-pod", podReview); !strings.Contains(got, `"allowed":true`) {
		t.Errorf("the retired webhook answers %s, want allowed", got)
	}
	if got := serve(http.MethodPost, "/shared", podReview); !strings.Contains(got, `"allowed":false`) {
		t.Errorf("a webhook in use is overruled by a retired one on its path: %s", got)
	}
	if got, want := serve(http.MethodGet, "/webhooks", ""), `{"a.kb.io":"/shared"}`; strings.TrimSpace(got) != want {
		t.Errorf("the replica says that it serves %s, want %s", got, want)
	}
}
