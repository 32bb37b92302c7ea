package registration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"github.com/fairlead-io/fairlead/internal/bell"
	"github.com/fairlead-io/fairlead/internal/logging"
)

// LeaseName is the Lease in the release namespace whose holder registers.
const LeaseName = "kruise-webhook-registration"

// The times of the Lease are client-go's usual ones: nothing a client waits for depends on them, but a configuration
// that somebody broke while the holder died is repaired within leaseDuration.
const (
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	retryPeriod   = 2 * time.Second
)

// creating is the time for a creation and what follows it. It delays a shutdown by as much at most.
const creating = 5 * time.Second

// Run registers while this replica holds the Lease, and seeks the Lease otherwise. It writes nothing after ctx has
// ended, which should be at the first sign of shutdown.
func (r *Registrar) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := r.term(ctx); err != nil {
			return err
		}
	}
	return nil
}

// term seeks the Lease and holds it until it is lost or ctx ends. It is given up only when nothing is being written any
// more.
func (r *Registrar) term(ctx context.Context) error {
	electing, quit := context.WithCancel(context.WithoutCancel(ctx))
	defer quit()
	stop := context.AfterFunc(ctx, func() {
		r.leading.Lock()
		defer r.leading.Unlock()
		quit()
	})
	defer stop()
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: r.options.Config.Namespace, Name: LeaseName},
			Client:     r.options.Client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: r.options.Identity},
		},
		LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod,
		ReleaseOnCancel: true,
		Name:            LeaseName,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(holding context.Context) {
				until, done := context.WithCancel(ctx)
				defer done()
				defer context.AfterFunc(holding, done)()
				r.lead(until)
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return fmt.Errorf("making the leader election: %w", err)
	}
	elector.Run(klog.NewContext(electing, logging.Election(klog.FromContext(ctx))))
	return nil
}

// lead keeps the configurations, and the definitions beside them, as wanted until ctx ends.
func (r *Registrar) lead(ctx context.Context) {
	r.leading.Lock()
	defer r.leading.Unlock()
	for _, n := range r.noted {
		n.settled = nil
	}
	r.proof.forget()
	var group sync.WaitGroup
	defer group.Wait()
	if d := r.definitions; d != nil {
		group.Go(func() {
			defer d.forget()
			r.keep(ctx, "Cannot register conversion", d.register, d.leadBell, d.bundles)
		})
	}
	if leading := r.options.Leading; leading != nil {
		group.Go(func() { leading(ctx) })
	}
	group.Go(func() {
		r.keep(ctx, "Cannot register users' policies", r.registering(policies), r.policiesBell, r.policiesBundles)
	})
	r.keep(ctx, "Cannot register the webhooks", r.registering(mutating, validating), r.leadBell, r.leadBundles)
}

// keep does rounds until ctx ends: at every event and every new bundle, and now and then without.
func (r *Registrar) keep(ctx context.Context, trouble string, round func(context.Context) (outcome, error), events bell.Bell, bundles <-chan struct{}) {
	retry := newBackoff(longestLead)
	for ctx.Err() == nil {
		result, err := round(ctx)
		idle := resync
		if ctx.Err() == nil && !apierrors.IsConflict(err) {
			r.troubles.note(trouble, err)
		}
		switch {
		case err != nil:
			if idle = retry.next(); ctx.Err() == nil && !apierrors.IsConflict(err) {
				klog.FromContext(ctx).Error(err, trouble, "retryIn", idle)
			}
		case result.wrote:
			// Look again soon, but ever later if somebody keeps writing against us.
			idle = retry.next()
		default:
			retry.reset()
			if result.waiting {
				idle = waitingCheck
			}
			r.sleep(ctx, idle, events, bundles)
			idle = shortest // what comes in a burst is met by one round
		}
		r.sleep(ctx, idle, nil, nil)
	}
}

// outcome is what a round did.
type outcome struct {
	// wrote says that something was written.
	wrote bool
	// waiting says that entries wait for replicas.
	waiting bool
}

// registering does one round over some of the configurations.
func (r *Registrar) registering(some ...which) func(context.Context) (outcome, error) {
	return func(ctx context.Context) (outcome, error) {
		var together outcome
		var all error
		w := r.wanted()
		for _, of := range some {
			one, err := r.registerOne(ctx, w, of)
			together.wrote, together.waiting = together.wrote || one.wrote, together.waiting || one.waiting
			all = errors.Join(all, err)
		}
		return together, all
	}
}

func (r *Registrar) registerOne(ctx context.Context, w wanted, of which) (outcome, error) {
	s, trouble := r.see(ctx, w, of)
	if trouble != nil && s.anchor == nil {
		return outcome{}, trouble
	}
	a := plan(w, of, s)
	r.note(ctx, of, a)
	waiting := len(a.waiting) > 0 || s.anchor != nil && w.needsProof(s.live)
	if a.verb == leave || ctx.Err() != nil {
		return outcome{waiting: waiting}, trouble
	}
	var err error
	if a.verb == apply && a.uid == "" {
		err = r.create(ctx, of, a)
	} else {
		err = r.store.act(ctx, of, a)
	}
	return outcome{wrote: err == nil, waiting: waiting}, errors.Join(trouble, err)
}

// see reads what there is, the anchor last: between it and a creation nothing else happens. What replicas serve is
// asked for only when something depends on it; when that fails, everything else is still seen, and anchor is set.
func (r *Registrar) see(ctx context.Context, w wanted, of which) (seen, error) {
	var s seen
	var err error
	if s.live, err = r.store.read(ctx, of); err != nil {
		return seen{}, err
	}
	fleetNeeded, proofNeeded := needsFleet(w, of, s.live), w.needsProof(s.live)
	if s.anchor, err = r.store.anchor(ctx); err != nil || s.anchor == nil || !fleetNeeded && !proofNeeded {
		return s, err
	}
	var trouble error
	if fleetNeeded {
		s.replicas, trouble = r.replicas.fleet(ctx)
	}
	if proofNeeded {
		s.proven = r.proof.settled(ctx)
	}
	if s.anchor, err = r.store.anchor(ctx); err != nil {
		return seen{}, err
	}
	return s, trouble
}

// create applies what does not exist yet, and takes it away again if the anchor was being deleted meanwhile: nothing
// else would if we went away now and no garbage collector ran. Being told to stop does not break it off half-way.
func (r *Registrar) create(ctx context.Context, of which, a action) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), creating)
	defer cancel()
	return errors.Join(r.store.act(ctx, of, a), r.undoWithoutAnchor(ctx, of))
}

func (r *Registrar) undoWithoutAnchor(ctx context.Context, of which) error {
	anchor, err := r.store.anchor(ctx)
	if err != nil || anchor != nil {
		return err
	}
	live, err := r.store.read(ctx, of)
	if err != nil {
		return err
	}
	return r.store.act(ctx, of, withoutAnchor(live))
}

// note logs and counts what a plan means.
func (r *Registrar) note(ctx context.Context, of which, a action) {
	log, known := klog.FromContext(ctx).WithValues("configuration", string(of)), r.noted[of]
	if waiting := strings.Join(a.waiting, ", "); waiting != known.waiting {
		known.waiting = waiting
		if waiting != "" {
			log.Info("Webhooks wait until all ready replicas serve them", "webhooks", waiting)
		}
	}
	if a.verb == leave {
		known.settled = a.desired
		return
	}
	drifted := a.desired != nil && equality.Semantic.DeepEqual(known.settled, a.desired)
	if drifted {
		r.metrics.drift.WithLabelValues(string(of)).Inc()
	}
	known.settled = nil
	log.Info("Writing the webhook configuration", "action", a.verb, "drifted", drifted, "differences", a.differences)
}
