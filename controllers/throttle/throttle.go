// Package throttle bounds the requests of a process to the API server, those of each resource and subresource apart, and
// reads apart from writes: writes of the status of Pods do not wait for the creation of Pods, nor the renewal of a Lease for
// either. Clients of client-go bound themselves, which as they are made is each kind for each client, with all subresources
// in one.
package throttle

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	// longWait is told of, at most once in each toldEvery: hundreds of requests may wait at a time.
	longWait  = time.Second
	toldEvery = time.Minute
)

// NotSentError is of a request whose turn did not come in its time, or that was given up before. The API server knows
// nothing of it.
type NotSentError struct {
	// Resource is what the request was to, as "pods/status".
	Resource string
	// Err is why it was not sent: the context has ended, or would before its turn.
	Err error
}

func (e *NotSentError) Error() string {
	return fmt.Sprintf("waiting to make a request to %q within --rest-config-qps: %v", e.Resource, e.Err)
}

func (e *NotSentError) Unwrap() error { return e.Err }

// Waits counts what requests have waited for their turn.
func Waits() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "fairlead_client_wait_seconds_total",
		Help: "Time that requests to the API server have waited within --rest-config-qps, by resource and operation: read or write.",
	}, []string{"resource", "operation"})
}

// PerResource is a configuration whose clients together make the QPS and Burst of cfg of reads, and of writes, of each resource
// and each subresource, and do not bound themselves any more. As in cfg, a negative QPS is no limit, and 0 is client-go's default.
// waits counts how long they wait.
func PerResource(cfg *rest.Config, waits *prometheus.CounterVec) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	qps, burst := cfg.QPS, cfg.Burst
	if qps == 0 {
		qps = rest.DefaultQPS
	}
	if burst == 0 {
		burst = rest.DefaultBurst
	}
	cfg.QPS, cfg.RateLimiter = -1, nil
	if qps < 0 {
		return cfg
	}
	shared := &limits{qps: rate.Limit(qps), burst: burst, of: map[queue]*rate.Limiter{}, waits: waits, tell: rate.Sometimes{Interval: toldEvery}}
	if server, _, err := rest.DefaultServerUrlFor(cfg); err == nil { // else no client can be made of it
		shared.prefix = strings.TrimSuffix(server.Path, "/")
	}
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return &transport{next: next, limits: shared} })
	return cfg
}

// limits are made when they are needed: there are as many as resources that the process uses.
type limits struct {
	qps   rate.Limit
	burst int
	// prefix is what a proxy has before the paths of the API.
	prefix string
	mutex  sync.Mutex
	of     map[queue]*rate.Limiter
	waits  *prometheus.CounterVec
	tell   rate.Sometimes
}

// queue is of requests that have a limit together.
type queue struct{ resource, operation string }

func (l *limits) get(q queue) *rate.Limiter {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	limiter, ok := l.of[q]
	if !ok {
		limiter = rate.NewLimiter(l.qps, l.burst)
		l.of[q] = limiter
	}
	return limiter
}

type transport struct {
	next   http.RoundTripper
	limits *limits
}

// RoundTrip waits for the request's turn. As client-go does, it lets watches begin at once: a cache whose watch has ended
// is not to be late for the writes that wait, which it is to show.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if isWatch(req) {
		return t.next.RoundTrip(req)
	}
	if err := t.limits.wait(req); err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // which is the duty of a RoundTripper, and nobody's to hear of
		}
		return nil, err
	}
	return t.next.RoundTrip(req)
}

func (l *limits) wait(req *http.Request) error {
	q := queue{resource: resourceOf(strings.TrimPrefix(req.URL.Path, l.prefix)), operation: "write"}
	if req.Method == http.MethodGet {
		q.operation = "read"
	}
	began := time.Now()
	err := l.get(q).Wait(req.Context())
	waited := time.Since(began)
	l.waits.WithLabelValues(q.resource, q.operation).Add(waited.Seconds())
	if err != nil {
		return &NotSentError{Resource: q.resource, Err: err}
	}
	if waited > longWait {
		l.tell.Do(func() {
			log.FromContext(req.Context()).Info("Requests wait for their turn within --rest-config-qps",
				"method", req.Method, "resource", q.resource, "waited", waited.Round(time.Millisecond).String())
		})
	}
	return nil
}

func isWatch(req *http.Request) bool {
	return req.Method == http.MethodGet && req.URL.Query().Get("watch") == "true"
}

// WrappedRoundTripper lets client-go find the transport that it can cancel requests of.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// ofNamespaces are the subresources of a Namespace: what else follows its name is a resource in it.
var ofNamespaces = []string{"status", "finalize"}

// resourceOf names the resource of a path of the API, as "apps/deployments" or "pods/status" of the core group; all that is
// none, such as discovery, is one resource without a name.
func resourceOf(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	group, rest := "", parts[1:]
	switch {
	case parts[0] == "apis" && len(rest) > 0:
		group, rest = rest[0]+"/", rest[1:]
	case parts[0] != "api":
		return ""
	}
	if len(rest) < 2 {
		return ""
	}
	rest = rest[1:] // the version
	if rest[0] == "namespaces" && len(rest) > 2 && !slices.Contains(ofNamespaces, rest[2]) {
		rest = rest[2:]
	}
	if len(rest) > 2 {
		return group + rest[0] + "/" + rest[2]
	}
	return group + rest[0]
}
