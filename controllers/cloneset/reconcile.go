package cloneset

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/throttle"
)

const (
	// lookAgain is when to sync after something was written, should no event tell that it can be seen.
	lookAgain = time.Second
	// conflictDelay gives the cache time to see the write that we conflicted with, and longestConflict bounds it when
	// conflicts go on: then someone writes as often as we do.
	conflictDelay   = 200 * time.Millisecond
	longestConflict = 5 * time.Second
)

// Reconciler runs CloneSets. What it remembers is only what to distrust, and may be lost.
type Reconciler struct {
	Options
	memory *memory
	// leaked is told of syncs that waited in vain for the cache to show their writes.
	leaked func(namespace, name string)
}

var _ reconcile.Reconciler = &Reconciler{}

// New makes the reconciler.
func New(o Options) *Reconciler {
	return &Reconciler{Options: o, memory: newMemory(), leaked: func(string, string) {}}
}

// Reconcile syncs one CloneSet.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	set := &v1beta1.CloneSet{}
	if err := r.reader(req.NamespacedName).Get(ctx, req.NamespacedName, set); err != nil {
		if apierrors.IsNotFound(err) {
			r.memory.forget(req.NamespacedName)
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, r.unread(req.NamespacedName, err)
	}
	result, err := r.sync(ctx, set)
	if err != nil && isUnsent(err) {
		// The limit of requests did not let all be written in the time of a sync: the next one goes on.
		log.FromContext(ctx).V(1).Info("going on in a moment, some requests were not sent", "reason", err.Error())
		return reconcile.Result{RequeueAfter: sooner(result.RequeueAfter, lookAgain)}, nil
	}
	if err != nil && isRace(err) {
		// Two writers met; it is nobody's fault, and shown to nobody.
		log.FromContext(ctx).V(1).Info("looking again, something changed meanwhile", "reason", err.Error())
		return reconcile.Result{RequeueAfter: sooner(result.RequeueAfter, r.memory.raced(req.NamespacedName, ofPods(err)))}, nil
	}
	r.memory.with(req.NamespacedName, func(m *remembered) { m.races = 0 })
	if ofEndingNamespace(err) {
		log.FromContext(ctx).V(1).Info("leaving it alone, its namespace is being deleted", "reason", err.Error())
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	return result, nil
}

func (r *Reconciler) sync(ctx context.Context, set *v1beta1.CloneSet) (reconcile.Result, error) {
	seen, err := r.observe(ctx, set)
	if err != nil {
		return reconcile.Result{}, r.unread(key(set), err)
	}
	now := r.Clock.Now()
	p, err := makePlan(set, seen, now, r.Settings, r.NewID)
	if err != nil {
		return reconcile.Result{}, err
	}
	done := r.act(ctx, set, p)
	wake := p.Wake.soonest(done.wake)
	if done.changed() {
		wake = sooner(wake, lookAgain)
	} else if seen.doubtful {
		wake = sooner(wake, r.memory.doubtDelay(key(set)))
	}
	statusWake, err := r.report(ctx, set, p, done, now)
	r.emit(set, done.events)
	return reconcile.Result{RequeueAfter: sooner(wake, statusWake)}, r.distrust(set, done, errors.Join(done.err(), err))
}

// reader is where to read, by whether the cache is trusted.
func (r *Reconciler) reader(key types.NamespacedName) client.Reader {
	if r.memory.trusts(key) {
		return r.Client
	}
	return r.Live
}

// unread makes the next sync read at the API server: a cache that could not be read may have waited for a write that it
// will never show.
func (r *Reconciler) unread(key types.NamespacedName, err error) error {
	if isUnsent(err) {
		return err
	}
	r.memory.distrust(key)
	if errors.Is(err, context.DeadlineExceeded) {
		r.leaked(key.Namespace, key.Name)
	}
	return err
}

// distrust makes the next sync read at the API server if a call has failed in a way that leaves open whether it was
// carried out: the cache may lack a Pod that was created, and never tell. So it does if the cache goes on to show what the
// API server has called old.
func (r *Reconciler) distrust(set *v1beta1.CloneSet, o *outcome, err error) error {
	if r.memory.lostAgain(key(set), o.lost) || leavesOpen(err) {
		r.memory.distrust(key(set))
	}
	return err
}

// leavesOpen tells whether an error does not say that nothing was done, or says that the cache lacks what is there.
func leavesOpen(err error) bool {
	if err == nil {
		return false
	}
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		return slices.ContainsFunc(joined.Unwrap(), leavesOpen)
	}
	var planned *plannedError
	if errors.As(err, &planned) {
		return false
	}
	refused := isUnsent(err) || apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsInvalid(err) || apierrors.IsForbidden(err) ||
		apierrors.IsBadRequest(err) || apierrors.IsTooManyRequests(err)
	return !refused
}

func key(set *v1beta1.CloneSet) types.NamespacedName { return client.ObjectKeyFromObject(set) }

// isRace tells whether all that went wrong is that objects were changed, created or deleted by someone else since they
// were read.
func isRace(err error) bool {
	return every(err, func(e error) bool { return apierrors.IsConflict(e) || apierrors.IsNotFound(e) || isWrongUID(e) })
}

// ofEndingNamespace tells whether what went wrong is that nothing can be created in the namespace any more. The CloneSet
// goes with it, after its Pods and revisions perhaps, none of which is to be replaced. An object that is gone already is part
// of that.
func ofEndingNamespace(err error) bool {
	return !isRace(err) && every(err, func(e error) bool {
		return isRace(e) || apierrors.HasStatusCause(e, corev1.NamespaceTerminatingCause)
	})
}

// isUnsent tells whether all that went wrong, but for races, is that requests were not made in time (throttle): nothing is
// wrong with what they would have written.
func isUnsent(err error) bool {
	return !isRace(err) && every(err, func(e error) bool {
		var unsent *throttle.NotSentError
		return errors.As(e, &unsent) || isRace(e)
	})
}

// isFault tells whether an error is for users to know.
func isFault(err error) bool {
	return err != nil && !isRace(err) && !isUnsent(err) && !ofEndingNamespace(err)
}

// firstFault is the first of the joined errors that is for users to know, nil if none is.
func firstFault(err error) error {
	if joined, several := err.(interface{ Unwrap() []error }); several {
		for _, e := range joined.Unwrap() {
			if fault := firstFault(e); fault != nil {
				return fault
			}
		}
		return nil
	}
	if isFault(err) {
		return err
	}
	return nil
}

// every tells whether all that is joined in an error is so.
func every(err error, is func(error) bool) bool {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		return !slices.ContainsFunc(joined.Unwrap(), func(e error) bool { return !every(e, is) })
	}
	return is(err)
}

// isWrongUID tells whether a patch was refused for the UID in it: to the API server that is an attempt to change it.
func isWrongUID(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool { return c.Field == "metadata.uid" })
}

// sooner is the shorter of two delays, of which 0 is none.
func sooner(a, b time.Duration) time.Duration {
	if a <= 0 || b > 0 && b < a {
		return b
	}
	return a
}
