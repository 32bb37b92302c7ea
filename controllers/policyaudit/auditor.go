package policyaudit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/fairlead-io/fairlead/validators/userpolicy"
	"github.com/fairlead-io/fairlead/validators/userpolicy/bundles"
	"github.com/fairlead-io/fairlead/validators/userpolicy/sources"
)

const (
	// look is how often the sets are looked at: one that is new or changed is audited then, so that who writes a rule sees soon
	// what it finds. It is a list or two of a few ConfigMaps.
	look = time.Minute
	// settle is how long a new leader waits first, and again as long at most by chance: in an upgrade there is enough to do.
	settle = 30 * time.Second
)

// Options are what an Auditor needs; all are required but Bundles and BundleDir.
type Options struct {
	// Client asks the API server for anything, as JSON.
	Client    rest.Interface
	Discovery discovery.DiscoveryInterface
	// Namespace is the release namespace.
	Namespace string
	// Bundles are what to download, and BundleDir is where their last good versions are kept; "" is nowhere.
	Bundles   []bundles.Config
	BundleDir string
	// Interval is how often everything is looked at.
	Interval   time.Duration
	Clock      clock.WithTicker
	Random     func() float64
	Log        logr.Logger
	Registerer prometheus.Registerer
}

// Auditor audits as long as it leads.
type Auditor struct {
	Options
	installation userpolicy.Installation
	lists        lists
	metrics      *metrics

	// keeper has the versions in force, as the admission service would have them of the same sources.
	keeper     *sources.Keeper
	configMaps configMaps
	bundles    *bundles.Poller
	// polling are the downloads, which begin when the settings of bundles are known.
	polling   sync.WaitGroup
	following bool

	// sets are those that were read last, by name.
	sets map[string]*subject
	// whole is when the last round of all sets began.
	whole time.Time
}

var _ manager.LeaderElectionRunnable = (*Auditor)(nil)

// New makes an Auditor.
func New(o Options) *Auditor {
	a := &Auditor{
		Options: o, installation: userpolicy.Installation{Namespace: o.Namespace}, metrics: newMetrics(o.Interval),
		sets: make(map[string]*subject),
	}
	a.lists = lists{client: o.Client, clock: o.Clock, rest: a.rest}
	a.follow()
	return a
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: two would list everything twice.
func (a *Auditor) NeedLeaderElection() bool { return true }

// Start audits until ctx ends. Its metrics are there meanwhile.
func (a *Auditor) Start(ctx context.Context) error {
	unregister, err := a.metrics.register(a.Registerer)
	if err != nil {
		return err
	}
	defer unregister()
	defer a.polling.Wait()
	a.wait(ctx, settle+time.Duration(a.Random()*float64(settle)))
	for ctx.Err() == nil {
		if err := a.round(ctx); err != nil && ctx.Err() == nil {
			a.Log.Error(err, "Cannot audit what exists by users' policies")
		}
		a.wait(ctx, look)
	}
	return nil
}

func (a *Auditor) wait(ctx context.Context, d time.Duration) {
	timer := a.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C():
	}
}

// share is the part of the time that an audit may be at work, and longestRest bounds the pause after one page.
const (
	share       = 5
	longestRest = 10 * time.Second
)

// rest pauses after a page that took some time, so that a round is spread and leaves the processor and the API server to others.
func (a *Auditor) rest(ctx context.Context, took time.Duration) {
	if pause := min((share-1)*took, longestRest); pause > 0 {
		a.wait(ctx, pause)
	}
}

// round audits the sets that are due.
func (a *Auditor) round(ctx context.Context) error {
	start := a.Clock.Now()
	if err := a.read(ctx); err != nil {
		return err
	}
	all := a.whole.IsZero() || start.Sub(a.whole) >= a.Interval
	if all {
		a.whole = start
	}
	due := a.due(all)
	if len(due) == 0 {
		a.metrics.ran(a.Clock.Now(), a.Clock.Since(start), all)
		return nil
	}
	targets, trouble, err := a.targets(due)
	if err != nil {
		return err
	}
	if err := a.prepare(ctx, due, trouble); err != nil {
		return err
	}
	for _, t := range targets {
		a.judgeAll(ctx, t)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	a.metrics.ran(a.Clock.Now(), a.Clock.Since(start), all)
	return a.tell(ctx, due)
}

// tell writes what was found of each set. One that cannot be written is audited again at the next look.
func (a *Auditor) tell(ctx context.Context, due []*subject) error {
	var failures []error
	for _, s := range due {
		a.metrics.found(s)
		if err := a.write(ctx, s); err != nil {
			failures = append(failures, fmt.Errorf("writing what the audit of %s found: %w", s.name, err))
		} else {
			s.audited = s.hash
		}
		s.inventory, s.tally = nil, tally{} // until the next audit nobody needs them
	}
	return errors.Join(failures...)
}
