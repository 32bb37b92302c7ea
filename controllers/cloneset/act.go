package cloneset

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/podset/claim"
	"github.com/fairlead-io/fairlead/controllers/podset/revision"
)

// outcome is what came of a plan.
type outcome struct {
	journal
	// scaleErr and updateErr are reported in the status; otherErr is not.
	scaleErr, updateErr, otherErr error
	// scaled and moved tell whether these steps were come to: only then is the absence of an error a success.
	scaled, moved bool
	// raceErr is one of the races with other writers that some Pods lost, and lost has the versions of all those Pods by their
	// names. They are looked at again; the others went on.
	raceErr error
	lost    map[string]string
	// over tells whether the part of the sync that is under way has had its time.
	over func() bool
	// collided tells that the revision's name is taken by other data.
	collided bool
	written  int
	wake     time.Duration
}

// changed tells whether the next sync finds something else to do. It does after a collision: no event of Pods, and none
// of the status, would call for it.
func (o *outcome) changed() bool { return o.written > 0 || o.collided }

func (o *outcome) err() error { return errors.Join(o.scaleErr, o.updateErr, o.otherErr, o.raceErr) }

// plannedError is one that was found while the plan was made: nothing was asked of the API server.
type plannedError struct{ error }

func (e *plannedError) Unwrap() error { return e.error }

// podRaceError is a race about one of many Pods.
type podRaceError struct{ error }

func (e *podRaceError) Unwrap() error { return e.error }

// ofPods tells whether all that went wrong are races about single Pods.
func ofPods(err error) bool {
	return every(err, func(e error) bool { var of *podRaceError; return errors.As(e, &of) })
}

// forEach does n things to as many Pods in parallel. A race about one of them is nothing that the others would meet too.
func (o *outcome) forEach(n int, pod func(i int) *corev1.Pod, do func(i int) error) (succeeded int, err error) {
	var mutex sync.Mutex
	raced := 0
	succeeded, err = inParallel(n, o.over, func(i int) error {
		err := do(i)
		if err == nil || !isRace(err) {
			return err
		}
		mutex.Lock()
		defer mutex.Unlock()
		if o.lost == nil {
			o.lost = map[string]string{}
		}
		o.lost[pod(i).Name] = pod(i).ResourceVersion
		o.raceErr = &podRaceError{err}
		raced++
		return nil
	})
	return succeeded - raced, err
}

// share is how long each part of a sync goes on starting writes. Then it is another part's turn, the status is written and
// the next sync goes on. A Pod whose gates are opened before its containers run, a second or two after its creation, is ready
// with them; later it costs its kubelet another report and the second that this takes, so that Pods are not to wait until
// thousands more are created. Nor are other CloneSets. And a sync of four parts must end before its 30 s are up.
const share = time.Second

// begin gives the part of a sync that follows its share.
func (o *outcome) begin(clock clock.PassiveClock) {
	end := clock.Now().Add(share)
	o.over = func() bool { return !clock.Now().Before(end) }
}

// act carries the plan out, as far as it comes. What Pods need that are there already comes before scaling: while others are
// created for a second, kubelets would report on them, and their gates could not be opened for the version that was looked at.
// So a Pod may be refreshed that is deleted next. One whose deletion is refused for long must come into service all the same.
// Of scaling and updating, updating goes on when scaling failed: a rollout is often what mends that.
func (r *Reconciler) act(ctx context.Context, set *v1beta1.CloneSet, p *Plan) *outcome {
	o := &outcome{}
	o.begin(r.Clock)
	if set.DeletionTimestamp != nil {
		return o
	}
	r.memory.setIDs(set, p.Unmade, p.Ended)
	r.release(ctx, set, p, o)
	r.settleClaims(ctx, set, p, o)
	if !r.writeRevision(ctx, p, o) {
		return o // there is nothing yet that Pods could be at
	}
	r.preDownload(ctx, p, o)
	r.hold(set, p, o)
	o.begin(r.Clock)
	r.refresh(ctx, p, o)
	o.begin(r.Clock)
	if scaled := r.scale(ctx, set, p, o); !scaled {
		o.begin(r.Clock)
		r.move(ctx, set, p, o)
	}
	return o
}

func (r *Reconciler) release(ctx context.Context, set *v1beta1.CloneSet, p *Plan, o *outcome) {
	n, err := inParallel(len(p.Release), o.over, func(i int) error {
		pod := p.Release[i].DeepCopy()
		if err := r.Client.Patch(ctx, pod, claim.ReleasePatch(pod, set.UID)); err != nil {
			return fmt.Errorf("releasing Pod %s: %w", pod.Name, err)
		}
		return nil
	})
	o.written += n
	o.otherErr = errors.Join(o.otherErr, err)
}

// writeRevision writes the update revision if the plan says so, and tells whether it is there.
func (r *Reconciler) writeRevision(ctx context.Context, p *Plan, o *outcome) bool {
	var err error
	switch wanted := p.Update.Revision; p.Update.Step {
	case revision.Create:
		err = r.createRevision(ctx, wanted, o)
	case revision.Renumber:
		// The recorded number and annotations are of no use to others: no other field of it changes.
		base := wanted.DeepCopy()
		base.Revision, base.Annotations = 0, nil
		if err = r.Client.Patch(ctx, wanted.DeepCopy(), client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})); err != nil {
			err = fmt.Errorf("renumbering revision %s: %w", wanted.Name, err)
		}
		o.written++
	case revision.Keep:
	}
	o.otherErr = errors.Join(o.otherErr, err)
	return err == nil && !o.collided
}

// createRevision takes one that is there already for its own if it records the same: an earlier attempt may have
// succeeded without an answer. Other data under the name are a collision of hashes.
func (r *Reconciler) createRevision(ctx context.Context, wanted *appsv1.ControllerRevision, o *outcome) error {
	err := r.Client.Create(ctx, wanted.DeepCopy())
	if err == nil {
		o.written++
		return nil
	}
	if !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating revision %s: %w", wanted.Name, err)
	}
	existing := &appsv1.ControllerRevision{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(wanted), existing); err != nil {
		return fmt.Errorf("reading revision %s: %w", wanted.Name, err)
	}
	if o.collided = !revision.Same(existing, wanted); o.collided || metav1.GetControllerOfNoCopy(existing) != nil {
		return nil // of another CloneSet of this name, which is being collected
	}
	base := existing.DeepCopy()
	existing.OwnerReferences = append(existing.OwnerReferences, wanted.OwnerReferences...)
	if err := r.Client.Patch(ctx, existing, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("adopting revision %s: %w", wanted.Name, err)
	}
	o.written++
	return nil
}
