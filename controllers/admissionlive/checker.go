// Package admissionlive tells whether admission works in this cluster: whether its webhooks are registered, and a Pod
// comes back from the API server as admission would make it. `helm install --wait` waits for it (DESIGN.md §3, "Ready
// means live").
package admissionlive

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/webhook/table"
)

const (
	// interval is short because people wait for it, and long enough not to be noticed by an API server.
	interval = 2 * time.Second
	// timeout is above the longest that the API server waits for a webhook, 30 s, so that its own answer, which names
	// the webhook, arrives.
	timeout = 35 * time.Second
	// remindAfter is how often an unchanged reason is logged again, for those who look at the end of a log only.
	remindAfter = time.Minute
)

// Checker looks until admission works, and is satisfied from then on: an outage of the webhooks later is told by their
// own probes and metrics, and would not be helped by taking the controllers out of service or by stopping a rollout.
type Checker struct {
	api       client.Client
	namespace string
	entries   []table.Entry
	log       logr.Logger

	mu      sync.Mutex
	missing error
	// dispensable is since when Pods are wanted although admission is not live, zero if they are not; told says that this was logged.
	dispensable time.Time
	told        bool
}

// New makes a checker that expects these webhooks to be registered, and asks for its Pod in namespace, which must be
// one that they cover. api reads configurations and creates Pods past any cache.
func New(api client.Client, namespace string, entries []table.Entry, log logr.Logger) *Checker {
	return &Checker{
		api: api, namespace: namespace, entries: entries, log: log,
		missing: errors.New("admission has not been looked at yet"),
	}
}

// Missing says what keeps admission from working, nil if it has worked once.
func (c *Checker) Missing() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.missing
}

// NeedLeaderElection is false: every replica turns ready the same way.
func (c *Checker) NeedLeaderElection() bool { return false }

// Start looks until admission works or ctx ends. It never gives up: what is missing may be another Pod that starts, a
// certificate or a right, and a restart of ours would bring none of them.
func (c *Checker) Start(ctx context.Context) error {
	var logged time.Time
	for !c.step(ctx, &logged) {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(interval):
		}
	}
	return nil
}

// step looks once, and tells whether that was enough.
func (c *Checker) step(ctx context.Context, logged *time.Time) (enough bool) {
	missing := c.look(ctx)
	if ctx.Err() != nil {
		return true // it did not end its look
	}
	changed := c.record(missing)
	if missing == nil {
		c.log.Info("admission is live: its webhooks are registered and have made a dry-run Pod")
		return true
	}
	c.weigh(ctx)
	if changed || time.Since(*logged) >= remindAfter {
		c.log.Info("admission is not live yet", "missing", missing.Error())
		*logged = time.Now()
	}
	return false
}

// record keeps what is missing, and tells whether it is something else than before.
func (c *Checker) record(err error) (changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed = err == nil || c.missing.Error() != err.Error()
	c.missing = err
	return changed
}

func (c *Checker) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := c.registered(ctx); err != nil {
		return err
	}
	return c.probe(ctx)
}
