// Package storageversion has objects that are stored in an old version stored anew, and then takes that version out of
// what their definition says is stored. From then on reads in the stored version, lists of it and the deletion of whole
// namespaces need no conversion, and work while the admission service is away.
//
// It is done once, by the leader. What is kept about progress is in memory only: having an object stored anew that
// already is costs a request and no write, so that a new leader may begin again.
package storageversion

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/metadata"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/fairlead-io/fairlead/api/conversion"
)

const (
	// resync is how often definitions are looked at when nothing is to do: a new release may have changed what they store
	// without this process being replaced.
	resync = 10 * time.Minute
	// shortest and longest bound the time to the next try while something is left to do. Usually conversion is not served
	// yet, which the start of a replica changes.
	shortest = time.Second
	longest  = time.Minute
	// settle is how long a definition must have been what it is before its objects are stored anew: until every API server
	// knows it, one may still write in the old version.
	settle = 30 * time.Second
	// perSecond is how many objects are stored anew in a second: a few thousand CloneSets in some minutes, hardly noticed
	// by an API server.
	perSecond = 20
)

// Options are what a Migrator needs; all are required.
type Options struct {
	Definitions apiextensions.CustomResourceDefinitionInterface
	// Objects lists and patches objects of every kind, of which it sees the metadata only.
	Objects    metadata.Interface
	Resources  []conversion.Resource
	Clock      clock.WithTicker
	Log        klog.Logger
	Registerer prometheus.Registerer
}

// Migrator does the work. It is a manager's Runnable, run by the leader only.
type Migrator struct {
	options  Options
	limiter  *rate.Limiter
	progress map[string]*progress
	pending  *prometheus.GaugeVec
}

// New makes a Migrator.
func New(o Options) *Migrator {
	return &Migrator{
		options: o, limiter: rate.NewLimiter(perSecond, perSecond), progress: map[string]*progress{},
		pending: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "fairlead_storage_version_pending",
			Help: "1 while objects of a definition may be stored in an old version, which only conversion can read; else 0.",
		}, []string{"definition"}),
	}
}

// AddTo makes a manager run the Migrator.
func (m *Migrator) AddTo(mgr manager.Manager) error {
	if err := mgr.Add(m); err != nil {
		return fmt.Errorf("adding the migration of storage versions: %w", err)
	}
	return nil
}

// Start implements manager.Runnable.
func (m *Migrator) Start(ctx context.Context) error {
	if err := m.options.Registerer.Register(m.pending); err != nil {
		return fmt.Errorf("registering the metric of storage versions: %w", err)
	}
	defer m.options.Registerer.Unregister(m.pending)
	retry := newRetry()
	for {
		idle, err := m.round(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			idle = retry.Step()
			m.options.Log.Error(err, "Cannot have objects stored in the newest version yet", "retryIn", idle)
		default:
			retry = newRetry()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-m.options.Clock.After(idle):
		}
	}
}

func newRetry() *wait.Backoff {
	return &wait.Backoff{Duration: shortest, Factor: 2, Jitter: 0.2, Steps: 20, Cap: longest}
}

// round looks at every definition once, and returns when to look again.
func (m *Migrator) round(ctx context.Context) (time.Duration, error) {
	idle := resync
	var all error
	for _, resource := range m.options.Resources {
		wait, err := m.migrate(ctx, resource)
		if err != nil {
			all = errors.Join(all, fmt.Errorf("%s: %w", resource.Definition(), err))
		}
		if wait > 0 {
			idle = min(idle, wait)
		}
	}
	return idle, all
}
