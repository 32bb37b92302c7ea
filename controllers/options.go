// Package controllers runs Fairlead's controllers in one process (DESIGN.md §1): which of them, under which leader
// election, with what limits, and what makes the process ready. Each kind's controller is in a folder below.
package controllers

import (
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-io/fairlead/validators/userpolicy/bundles"
	"github.com/fairlead-io/fairlead/webhook/table"
)

// Options is what an installation decides about the process.
type Options struct {
	// Gates switch controllers.
	Gates table.Gates
	Log   logr.Logger
	// MetricsAddr, HealthAddr and PprofAddr are where to serve; "0" is nowhere, and so is "" for PprofAddr.
	MetricsAddr, HealthAddr, PprofAddr string
	Election                           Election
	// Namespace restricts the controllers to the Pods of one namespace; "" is all.
	Namespace string
	// Resync is how often every object is looked at again without an event; 0 is controller-runtime's default, 10 h.
	Resync time.Duration
	// CacheSyncTimeout ends the process when the first lists take longer.
	CacheSyncTimeout time.Duration
	Retries          Retries
	CloneSet         CloneSet
	// PodUnavailableBudgetWorkers is how many budgets are worked on at a time; 0 is one.
	PodUnavailableBudgetWorkers int
	PolicyAudit                 PolicyAudit
	// ProbeNamespace is where readiness asks for its dry-run Pod.
	ProbeNamespace string
}

// Election says how the one process that acts is chosen.
type Election struct {
	Enabled                                   bool
	Namespace, ID, ResourceLock               string
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
}

// Retries limits how fast failed work is tried again: each object with growing delays, all together by a token bucket.
type Retries struct {
	BaseDelay, MaxDelay time.Duration
	QPS, Bucket         int
}

// CloneSet is what its controller is told.
type CloneSet struct {
	// Workers is how many CloneSets are synced at a time.
	Workers int
	// ExcludePreparingDelete makes scaling of all CloneSets replace Pods whose deletion is prepared.
	ExcludePreparingDelete bool
}

// PolicyAudit says how what exists is judged by users' policies.
type PolicyAudit struct {
	// Interval is how often; 0 is never.
	Interval time.Duration
	// Namespace is where the policies are.
	Namespace string
	// Bundles are what to download, as the admission service does, and BundleDir is where their last good versions are kept; "" is
	// nowhere.
	Bundles   []bundles.Config
	BundleDir string
}

// shortestAudit keeps audits from following each other without a pause.
const shortestAudit = time.Minute

// Check says what is wrong with the options.
func (o Options) Check() error {
	e := o.Election
	switch {
	case e.Enabled && e.ResourceLock != resourcelock.LeasesResourceLock:
		return fmt.Errorf("checking leader election: resource lock %q is not supported, use %s: two processes with different locks would both lead",
			e.ResourceLock, resourcelock.LeasesResourceLock)
	case e.Enabled && (e.Namespace == "" || e.ID == ""):
		return fmt.Errorf("checking leader election: its Lease needs a namespace and a name, which are %q and %q", e.Namespace, e.ID)
	case e.Enabled && (e.LeaseDuration <= e.RenewDeadline || e.RenewDeadline <= e.RetryPeriod || e.RetryPeriod <= 0):
		return fmt.Errorf("checking leader election: the lease duration (%s) must be longer than the renew deadline (%s), and that longer than the retry period (%s)",
			e.LeaseDuration, e.RenewDeadline, e.RetryPeriod)
	case o.Retries.BaseDelay <= 0 || o.Retries.MaxDelay < o.Retries.BaseDelay:
		return fmt.Errorf("checking the rate limiter: the delay must grow from above 0, but goes from %s to %s", o.Retries.BaseDelay, o.Retries.MaxDelay)
	case o.Retries.QPS <= 0 || o.Retries.Bucket <= 0:
		return fmt.Errorf("checking the rate limiter: %d retries a second and a bucket of %d would never retry", o.Retries.QPS, o.Retries.Bucket)
	}
	if err := o.PolicyAudit.check(); err != nil {
		return err
	}
	return o.checkWorkers()
}

func (a PolicyAudit) check() error {
	if a.Interval == 0 || a.Interval >= shortestAudit && a.Namespace != "" {
		return nil
	}
	return fmt.Errorf("checking the audit of policies: every %s in namespace %q: it takes %s at least, or 0 for never, and a namespace",
		a.Interval, a.Namespace, shortestAudit)
}

func (o Options) checkWorkers() error {
	switch {
	case o.CloneSet.Workers <= 0:
		return fmt.Errorf("checking the workers: %d workers would sync no CloneSet; it must be 1 or more", o.CloneSet.Workers)
	case o.PodUnavailableBudgetWorkers < 0:
		return fmt.Errorf("checking the workers: %d workers cannot look at PodUnavailableBudgets; it must be 1 or more, or 0 for one", o.PodUnavailableBudgetWorkers)
	}
	return nil
}

// retryingWithin has the delays of retries grow to no more than this.
func (o Options) retryingWithin(longest time.Duration) Options {
	o.Retries.MaxDelay = min(o.Retries.MaxDelay, longest)
	return o
}

// forController is a new set of limits: controllers do not share their buckets.
func (o Options) forController() controller.Options {
	return controller.Options{
		CacheSyncTimeout:      o.CacheSyncTimeout,
		ReconciliationTimeout: reconcileTimeout,
		RateLimiter: workqueue.NewTypedMaxOfRateLimiter(
			workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](o.Retries.BaseDelay, o.Retries.MaxDelay),
			&workqueue.TypedBucketRateLimiter[reconcile.Request]{Limiter: rate.NewLimiter(rate.Limit(o.Retries.QPS), o.Retries.Bucket)},
		),
	}
}
