package server

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead-io/fairlead/webhook/admission"
)

func TestRoutesThatCannotBeServed(t *testing.T) {
	good := Route{Path: "/a", Webhooks: []string{"a.kb.io"}, Handler: admission.HandlerFunc(allow)}
	with := func(change func(*Route)) []Route {
		route := good
		change(&route)
		return []Route{route}
	}
	for name, tt := range map[string]struct {
		routes []Route
		want   string
	}{
		"twice":       {[]Route{good, good}, `"/a": the path is taken`},
		"a page":      {with(func(r *Route) { r.Path = "/healthz" }), "taken"},
		"mounted":     {with(func(r *Route) { r.Path = "/convert" }), "taken"},
		"relative":    {with(func(r *Route) { r.Path = "a" }), "needs a path"},
		"anonymous":   {with(func(r *Route) { r.Webhooks = nil }), "name"},
		"handlerless": {with(func(r *Route) { r.Handler = nil }), "handler"},
	} {
		_, err := New(Options{
			Routes: tt.routes, Metrics: NewMetrics(prometheus.NewRegistry()),
			Mount: map[string]http.Handler{"/convert": http.NotFoundHandler()},
		})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q in it", name, err, tt.want)
		}
	}
}

func TestPages(t *testing.T) {
	r := newRig(t, allow, func(o *Options) {
		o.Routes = append(o.Routes, Route{
			Path: "/validate-pod", Webhooks: []string{"vpodeviction.kb.io", "vpod.kb.io"}, Handler: admission.HandlerFunc(allow),
		})
		o.Mount = map[string]http.Handler{"/convert": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "converted")
		})}
	})
	for path, want := range map[string]string{
		"/healthz":  "ok\n",
		"/webhooks": `{"mpod.kb.io":"/mutate-pod","vpod.kb.io":"/validate-pod","vpodeviction.kb.io":"/validate-pod"}` + "\n",
		"/convert":  "converted",
	} {
		recorder := httptest.NewRecorder()
		r.Handler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, path, nil))
		if recorder.Code != 200 || recorder.Body.String() != want {
			t.Errorf("%s gives HTTP %d %q, want %q", path, recorder.Code, recorder.Body, want)
		}
	}
}

func TestReadiness(t *testing.T) {
	var synced, served error
	handler := Health(Check{"caches", func() error { return synced }}, Check{"certificate", func() error { return served }})
	get := func(path string) (int, string) {
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, path, nil))
		return recorder.Code, recorder.Body.String()
	}
	expect := func(path string, code int, body string) {
		t.Helper()
		if gotCode, gotBody := get(path); gotCode != code || gotBody != body {
			t.Errorf("%s gives %d %q, want %d %q", path, gotCode, gotBody, code, body)
		}
	}
	expect("/readyz", 200, "ok\n")
	expect("/readyz?verbose", 200, "[+] caches\n[+] certificate\n")
	served = context.DeadlineExceeded
	expect("/readyz", 503, "[+] caches\n[-] certificate: context deadline exceeded\n")
	expect("/healthz", 200, "ok\n")
	synced = io.EOF
	if err := AllOf(Check{"caches", func() error { return synced }})(); err == nil || err.Error() != "caches: EOF" {
		t.Errorf("AllOf gives %v", err)
	}
}

func TestMetricsAreExposed(t *testing.T) {
	r := newRig(t, allow)
	r.post(t, "/mutate-pod", reviewOf("u"))
	recorder := httptest.NewRecorder()
	Exposition(r.registry).ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, want := range []string{
		`fairlead_webhook_request_duration_seconds_bucket{operation="CREATE",outcome="allowed",webhook="mpod.kb.io",le="0.0001"}`,
		`fairlead_webhook_requests_shed_total{reason="concurrency"} 0`,
		`fairlead_webhook_requests_in_flight 0`,
	} {
		if !strings.Contains(recorder.Body.String(), want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
}

// Paths below a route come and go with what it serves, and their metrics do not.
func TestARouteChoosesByTheRestOfThePath(t *testing.T) {
	serving := map[string]string{"a.policies.fairlead.io": "/policies/a"}
	r := newRig(t, nil, func(o *Options) {
		o.Routes = []Route{{
			Path: "/policies/*", Webhooks: []string{"policies.fairlead.io"}, Serving: func() map[string]string { return serving },
			Choose: func(rest string) admission.Handler {
				return admission.HandlerFunc(func(context.Context, *admission.Request) admission.Response { return admission.Allow(rest) })
			},
		}}
	})
	for path, want := range map[string]string{"/policies/a": "a", "/policies/bundle/b": "bundle/b"} {
		if _, response := r.post(t, path, reviewOf("1")); !response.Allowed || len(response.Warnings) != 1 || response.Warnings[0] != want {
			t.Errorf("%s: %+v, want that %q was chosen", path, response, want)
		}
	}
	listed := func() string {
		recorder := httptest.NewRecorder()
		r.Handler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/webhooks", nil))
		return strings.TrimSpace(recorder.Body.String())
	}
	if got := listed(); got != `{"a.policies.fairlead.io":"/policies/a"}` {
		t.Errorf("listed %s", got)
	}
	serving = nil
	if got := listed(); got != `{}` {
		t.Errorf("listed %s when nothing is served", got)
	}
	if got := counted(t, r.registry, "policies.fairlead.io"); got != 2 {
		t.Errorf("%d reviews are counted for the route, want both", got)
	}
}

// counted is how many reviews the metrics have for a webhook.
func counted(t *testing.T, registry *prometheus.Registry, webhook string) (reviews uint64) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if family.GetName() == "fairlead_webhook_request_duration_seconds" && label.GetName() == "webhook" && label.GetValue() == webhook {
					reviews += metric.GetHistogram().GetSampleCount()
				}
			}
		}
	}
	return reviews
}
