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

// PerResource is a configuration whose clients together make the QPS and Burst of cfg of reads, and of writes, of each resource
// and each subresource, and do not bound themselves any more. As in cfg, a negative QPS is no limit, and 0 is client-go's default.
func PerResource(cfg *rest.Config) *rest.Config {
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
	shared := &limits{qps: rate.Limit(qps), burst: burst, of: map[string]*rate.Limiter{}, tell: rate.Sometimes{Interval: toldEvery}}
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
	of     map[string]*rate.Limiter
	tell   rate.Sometimes
}

func (l *limits) get(resource string) *rate.Limiter {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	limiter, ok := l.of[resource]
	if !ok {
		limiter = rate.NewLimiter(l.qps, l.burst)
		l.of[resource] = limiter
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
	resource := resourceOf(strings.TrimPrefix(req.URL.Path, l.prefix))
	queue := resource
	if req.Method == http.MethodGet {
		queue = "get " + resource
	}
	began := time.Now()
	if err := l.get(queue).Wait(req.Context()); err != nil {
		return &NotSentError{Resource: resource, Err: err}
	}
	if waited := time.Since(began); waited > longWait {
		l.tell.Do(func() {
			log.FromContext(req.Context()).Info("Requests wait for their turn within --rest-config-qps",
				"method", req.Method, "resource", resource, "waited", waited.Round(time.Millisecond).String())
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
