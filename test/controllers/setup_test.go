package controllers

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/controllers"
	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/mutators"
	"github.com/fairlead-io/fairlead/mutators/launchpriority"
	"github.com/fairlead-io/fairlead/mutators/readinessgate"
	"github.com/fairlead-io/fairlead/test/addresses"
	"github.com/fairlead-io/fairlead/test/cluster/cluster"
	"github.com/fairlead-io/fairlead/test/inprocess"
	"github.com/fairlead-io/fairlead/webhook"
	"github.com/fairlead-io/fairlead/webhook/server"
	"github.com/fairlead-io/fairlead/webhook/table"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard()) // controller-runtime complains of a process that sets none
	os.Exit(m.Run())
}

// suite is a cluster and a client with all rights.
type suite struct {
	*cluster.Cluster
	client.Client
}

func newSuite(t *testing.T) *suite {
	t.Helper()
	c := cluster.ForTest(t, cluster.Options{Level: cluster.LevelAPIServer})
	plain, err := client.New(c.RESTConfig(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &suite{Cluster: c, Client: plain}
}

// namespace creates a namespace with the account that Pods need, which no controller manager is here to create.
func (s *suite) namespace(t *testing.T, name string) {
	t.Helper()
	s.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	s.create(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "default"}})
}

func (s *suite) create(t *testing.T, obj client.Object) {
	t.Helper()
	if err := s.Create(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
}

// admission serves the Pod webhook, whose steps are those that concern the controllers.
func admission(t *testing.T) *httptest.Server {
	t.Helper()
	pods := mutators.PodChain{readinessgate.New(false), launchpriority.New(func(n int) string { return "bcdfg"[:n] })}
	s, err := server.New(server.Options{
		Routes:    []server.Route{{Path: "/mutate-pod", Webhooks: []string{"mpod.kb.io"}, Handler: pods}},
		Metrics:   server.NewMetrics(prometheus.NewRegistry()),
		AccessLog: slog.New(slog.DiscardHandler),
		Log:       logr.Discard(),
	})
	if err != nil {
		t.Fatal(err)
	}
	service := httptest.NewUnstartedServer(s.Handler())
	service.EnableHTTP2 = true
	service.StartTLS()
	t.Cleanup(service.Close)
	return service
}

// register writes the configurations for a service at this host:port.
func (s *suite) register(t *testing.T, service *httptest.Server, host string) {
	t.Helper()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: service.Certificate().Raw})
	entries := webhook.Entries(webhook.Deps{Gates: features.New("")})
	config := table.Config{Host: host}
	for _, mutating := range []bool{true, false} {
		if rendered := config.Render(entries, mutating, table.Target{CABundle: ca}); rendered != nil {
			obj := rendered.Object().(client.Object)
			if err := s.Delete(t.Context(), obj); client.IgnoreNotFound(err) != nil {
				t.Fatal(err)
			}
			obj.SetResourceVersion("")
			s.create(t, obj)
		}
	}
}

// process is a running `fairlead controllers`, without its command line.
type process struct {
	health, metrics string
	stop            func() error
	writes          *recorder
	log             *lines
}

// lines is a log at the verbosity that installations have.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) logger() logr.Logger {
	return funcr.New(func(_, line string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.all = append(l.all, line)
	}, funcr.Options{Verbosity: 4})
}

// with are the lines that have a text in them.
func (l *lines) with(text string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.all), func(line string) bool { return !strings.Contains(line, text) })
}

// run starts the controllers. They are stopped at the test's end at the latest, and must not fail before.
func (s *suite) run(t *testing.T, gates string) *process {
	t.Helper()
	p := &process{health: addresses.Free(t, addresses.Loopback), metrics: addresses.Free(t, addresses.Loopback), writes: &recorder{}, log: &lines{}}
	features := features.New("")
	if err := features.Set(gates); err != nil {
		t.Fatal(err)
	}
	world := inprocess.World{T: t, Cluster: s.Cluster}
	cfg := world.Account(inprocess.Manager)
	cfg.UserAgent = "kruise-manager"
	cfg.QPS, cfg.Burst = 1000, 1000 // a limit that nothing comes to
	cfg.Wrap(p.writes.wrap)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- controllers.Run(ctx, cfg, controllers.Options{
			Gates: features, Log: p.log.logger(), MetricsAddr: p.metrics, HealthAddr: p.health,
			Election: controllers.Election{
				Enabled: true, Namespace: "kruise-system", ID: "kruise-manager", ResourceLock: "leases",
				LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 500 * time.Millisecond,
			},
			CacheSyncTimeout: time.Minute,
			Retries:          controllers.Retries{BaseDelay: 5 * time.Millisecond, MaxDelay: time.Second, QPS: 10, Bucket: 100},
			ProbeNamespace:   "kruise-daemon-config",
			CloneSet:         controllers.CloneSet{Workers: 1},
		})
	}()
	p.stop = sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() {
		if err := p.stop(); err != nil {
			t.Errorf("the controllers ended with %v", err)
		}
	})
	return p
}

// recorder keeps the writes that arrived at the API server, but for those of the leader election.
type recorder struct {
	mu   sync.Mutex
	list []string
}

func (r *recorder) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(req)
		election := strings.Contains(req.URL.Path, "/leases") || strings.Contains(req.URL.Path, "/events")
		if req.Method != http.MethodGet && !election && err == nil && !req.URL.Query().Has("dryRun") {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.list = append(r.list, fmt.Sprintf("%s %s %d", req.Method, req.URL.Path, response.StatusCode))
		}
		return response, err
	})
}

// in is the writes to the objects of a namespace.
func (r *recorder) in(namespace string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []string
	for _, line := range r.list {
		if before, after, ok := strings.Cut(line, "/api/v1/namespaces/"+namespace+"/"); ok {
			list = append(list, before+after)
		}
	}
	return list
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// get is the status and the body of a page of the process, 0 while it does not listen.
func get(t *testing.T, address, path string) (int, string) {
	t.Helper()
	web := &http.Client{Timeout: 5 * time.Second}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := web.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = response.Body.Close() }() // read to its end, which closes it
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// eventually waits for a state of the cluster; state says how it is, or "" when it is as wanted.
func eventually(t *testing.T, state func() string) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	last := state()
	for ; last != ""; last = state() {
		if time.Now().After(deadline) {
			t.Fatalf("after 30 s: %s", last)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// settle gives the controllers time to do what they should not.
func settle() { time.Sleep(700 * time.Millisecond) }
