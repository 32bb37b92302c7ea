// Package throttle bounds the requests of a process to the API server, those of each resource and subresource apart: writes
// of the status of Pods do not wait for the creation of Pods, nor the renewal of a Lease for either. Clients of client-go
// bound themselves, which as they are made is each kind for each client, with all subresources in one.
package throttle

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"golang.org/x/time/rate"
	"k8s.io/client-go/rest"
)

// PerResource is a configuration whose clients together make the QPS and Burst of cfg of requests to each resource and each
// subresource, and do not bound themselves any more. As in cfg, a negative QPS is no limit, and 0 is client-go's default.
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
	shared := &limits{qps: rate.Limit(qps), burst: burst, of: map[string]*rate.Limiter{}}
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return &transport{next: next, limits: shared} })
	return cfg
}

// limits are made when they are needed: there are as many as resources that the process uses.
type limits struct {
	qps   rate.Limit
	burst int
	mutex sync.Mutex
	of    map[string]*rate.Limiter
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
	resource := resourceOf(req.URL.Path)
	if err := t.limits.get(resource).Wait(req.Context()); err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // which is the duty of a RoundTripper, and nobody's to hear of
		}
		return nil, fmt.Errorf("waiting to make a request to %q within --rest-config-qps: %w", resource, err)
	}
	return t.next.RoundTrip(req)
}

func isWatch(req *http.Request) bool {
	return req.Method == http.MethodGet && req.URL.Query().Get("watch") == "true"
}

// WrappedRoundTripper lets client-go find the transport that it can cancel requests of.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// ofNamespaces are the subresources of a Namespace: what else follows its name is a resource in it.
var ofNamespaces = []string{"status", "finalize"}

// resourceOf names the resource of a path of the API, as "apps/deployments" or "pods/status" of the core group; all that is
// none, such as discovery, is one resource without a name. What stands before /api or /apis is a proxy's.
func resourceOf(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	root := slices.IndexFunc(parts, func(part string) bool { return part == "api" || part == "apis" })
	if root < 0 {
		return ""
	}
	group, rest := "", parts[root+1:]
	if parts[root] == "apis" && len(rest) > 0 {
		group, rest = rest[0]+"/", rest[1:]
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
