package throttle

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

func TestResourceOf(t *testing.T) {
	for path, want := range map[string]string{
		"/api/v1/namespaces/ns/pods":                    "pods",
		"/api/v1/namespaces/ns/pods/web":                "pods",
		"/api/v1/namespaces/ns/pods/web/status":         "pods/status",
		"/api/v1/namespaces/ns/pods/web/proxy/status/x": "pods/proxy",
		"/api/v1/pods":                   "pods",
		"/api/v1/nodes/n/status":         "nodes/status",
		"/api/v1/namespaces":             "namespaces",
		"/api/v1/namespaces/ns":          "namespaces",
		"/api/v1/namespaces/ns/finalize": "namespaces/finalize",
		"/apis/apps.kruise.io/v1beta1/namespaces/ns/clonesets/web/status": "apps.kruise.io/clonesets/status",
		"/apis/apps.kruise.io/v1beta1/clonesets":                          "apps.kruise.io/clonesets",
		"/api":                                                            "",
		"/api/v1":                                                         "",
		"/apis":                                                           "",
		"/apis/apps":                                                      "",
		"/apis/apps.kruise.io/v1/":                                        "",
		"/version":                                                        "",
		"/":                                                               "",
	} {
		if got := resourceOf(path); got != want {
			t.Errorf("%s is of %q, want %q", path, got, want)
		}
	}
}

// answering is an API server that has every Pod, and tells what was asked of it.
func answering(t *testing.T) (*rest.Config, <-chan string) {
	t.Helper()
	asked := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Method + " " + r.URL.Path
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web"}}`)
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL, QPS: 0.001, Burst: 2}, asked
}

func TestEachResourceHasItsOwnLimitInAllClients(t *testing.T) {
	cfg, asked := answering(t)
	limited := PerResource(cfg, Waits())
	if cfg.QPS != 0.001 || cfg.WrapTransport != nil {
		t.Error("the configuration that was given is changed")
	}
	first, second := kubernetes.NewForConfigOrDie(limited), kubernetes.NewForConfigOrDie(limited)
	get := func(c *kubernetes.Clientset) error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.CoreV1().Pods("ns").Get(ctx, "web", metav1.GetOptions{})
		return err
	}
	for _, c := range []*kubernetes.Clientset{first, second} {
		if err := get(c); err != nil {
			t.Fatal(err)
		}
	}
	err := get(first)
	var unsent *NotSentError
	if !errors.As(err, &unsent) || unsent.Resource != "pods" || !strings.Contains(err.Error(), `waiting to make a request to "pods" within --rest-config-qps`) {
		t.Errorf("the third request within the limit of two: %v", err)
	}
	_, err = first.CoreV1().Pods("ns").Patch(t.Context(), "web", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{}, "status")
	if err != nil {
		t.Errorf("the status has no limit of its own: %v", err)
	}
	if err := first.CoreV1().Pods("ns").Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Errorf("a write waits for reads: %v", err)
	}
	if n := len(asked); n != 4 {
		t.Errorf("the API server was asked %d times, want 4", n)
	}
}

// Whatever a proxy has before the paths of the API, it is not taken for a part of them.
func TestBehindAProxy(t *testing.T) {
	cfg, asked := answering(t)
	cfg.Host += "/api/clusters/c-1"
	c := kubernetes.NewForConfigOrDie(PerResource(cfg, Waits()))
	for range 2 {
		if _, err := c.CoreV1().Pods("ns").Get(t.Context(), "web", metav1.GetOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.CoreV1().Nodes().Get(t.Context(), "web", metav1.GetOptions{}); err != nil {
		t.Errorf("nodes wait for Pods: %v", err)
	}
	if n := len(asked); n != 3 {
		t.Errorf("the API server was asked %d times, want 3", n)
	}
}

func TestWatchesDoNotWait(t *testing.T) {
	cfg, asked := answering(t)
	c := kubernetes.NewForConfigOrDie(PerResource(cfg, Waits()))
	for range 5 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		w, err := c.CoreV1().Pods("ns").Watch(ctx, metav1.ListOptions{})
		if err == nil {
			w.Stop()
		}
		cancel()
	}
	if n := len(asked); n != 5 {
		t.Errorf("the API server was asked for %d watches, want 5", n)
	}
}

func TestNoLimit(t *testing.T) {
	cfg, asked := answering(t)
	cfg.QPS = -1
	c := kubernetes.NewForConfigOrDie(PerResource(cfg, Waits()))
	for range 20 {
		if _, err := c.CoreV1().Pods("ns").Get(t.Context(), "web", metav1.GetOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(asked); n != 20 {
		t.Errorf("the API server was asked %d times, want 20", n)
	}
}

func TestTheDefaultIsThatOfClients(t *testing.T) {
	cfg, _ := answering(t)
	cfg.QPS, cfg.Burst = 0, 0
	wrapped, isOurs := PerResource(cfg, Waits()).WrapTransport(http.DefaultTransport).(*transport)
	if !isOurs || wrapped.limits.qps != 5 || wrapped.limits.burst != 10 {
		t.Errorf("the transport is %+v", wrapped)
	}
}

// closing notes whether a body was closed.
type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error {
	c.closed = true
	return nil
}

func TestARequestThatIsGivenUpIsClosed(t *testing.T) {
	cfg, asked := answering(t)
	limited := PerResource(cfg, Waits()).WrapTransport(http.DefaultTransport)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	body := &closing{Reader: strings.NewReader("{}")}
	req, err := http.NewRequestWithContext(ctx, http.MethodPatch, cfg.Host+"/api/v1/namespaces/ns/pods/web", body)
	if err != nil {
		t.Fatal(err)
	}
	response, err := limited.RoundTrip(req)
	if err == nil {
		_ = response.Body.Close()
	}
	if !errors.Is(err, context.Canceled) || !body.closed || len(asked) != 0 {
		t.Errorf("error %v, closed %v, asked %d times", err, body.closed, len(asked))
	}
}

func TestWaitsAreCounted(t *testing.T) {
	cfg, _ := answering(t)
	cfg.QPS, cfg.Burst = 4, 1
	waits := Waits()
	c := kubernetes.NewForConfigOrDie(PerResource(cfg, waits))
	for range 3 {
		if _, err := c.CoreV1().Pods("ns").Get(t.Context(), "web", metav1.GetOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.CoreV1().Pods("ns").Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waitedTo := func(operation string) float64 {
		var counted dto.Metric
		if err := waits.WithLabelValues("pods", operation).Write(&counted); err != nil {
			t.Fatal(err)
		}
		return counted.GetCounter().GetValue()
	}
	if waited := waitedTo("read"); waited < 0.1 || waited > 10 {
		t.Errorf("two requests waited %f s, want about 0.25 each", waited)
	}
	if waited := waitedTo("write"); waited > 0.2 {
		t.Errorf("a request that had not to wait waited %f s", waited)
	}
}
