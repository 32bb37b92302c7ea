package cloneset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/podset/inplace"
	"github.com/fairlead-io/fairlead/controllers/podset/lifecycle"
	"github.com/fairlead-io/fairlead/controllers/podset/podpatch"
	"github.com/fairlead-io/fairlead/controllers/podset/podstate"
	"github.com/fairlead-io/fairlead/controllers/podset/readiness"
)

func (r *Reconciler) refresh(ctx context.Context, p *Plan, o *outcome) {
	n, err := o.forEach(len(p.Refresh), func(i int) *corev1.Pod { return p.Refresh[i].Pod }, func(i int) error {
		return r.refreshOne(ctx, p.Refresh[i])
	})
	o.written += n
	o.updateErr = errors.Join(o.updateErr, err)
}

func (r *Reconciler) refreshOne(ctx context.Context, refresh Refresh) error {
	if refresh.Err != nil {
		return &plannedError{refresh.Err}
	}
	pod := refresh.Pod.DeepCopy()
	if len(refresh.Conditions) == 0 {
		return r.writePod(ctx, pod, refresh.Resize, refresh.Patch)
	}
	metadata := refresh.Patch
	if metadata == nil {
		metadata = podpatch.New(pod)
	}
	// Guarded: what was checked is this version of the Pod. A newer one may just have begun another update, whose gate
	// must stay closed.
	if err := r.Client.Status().Patch(ctx, pod, readiness.With(metadata.Guard(pod), refresh.Conditions)); err != nil {
		return fmt.Errorf("writing condition %s of Pod %s: %w", refresh.Conditions[0].Type, pod.Name, err)
	}
	return nil
}

// writePod resizes the Pod and patches it, if so planned. The resize is for the version that was planned for, the patch for the
// one that the resize made.
func (r *Reconciler) writePod(ctx context.Context, pod *corev1.Pod, resize, patch *podpatch.Patch) error {
	if resize != nil {
		if err := r.Client.SubResource("resize").Patch(ctx, pod, resize); err != nil {
			return fmt.Errorf("resizing Pod %s: %w", pod.Name, err)
		}
	}
	if patch == nil {
		return nil
	}
	if err := r.Client.Patch(ctx, pod, patch.Guard(pod)); err != nil {
		return fmt.Errorf("patching Pod %s: %w", pod.Name, err)
	}
	return nil
}

// budgetDelay is when to ask a budget again that has refused.
const budgetDelay = time.Second

// errRefused ends a wave without being an error.
var errRefused = errors.New("refused by a PodUnavailableBudget")

// askBudget asks before anything is done to the Pod: admission would refuse the update when traffic has left already, and so
// would the budget itself when the Pod's hook has taken it out of service.
func (r *Reconciler) askBudget(ctx context.Context, pod *corev1.Pod) error {
	if r.Budget == nil {
		return nil
	}
	allowed, why, err := r.Budget(ctx, pod)
	if err != nil {
		return fmt.Errorf("asking the budget of Pod %s: %w", pod.Name, err)
	}
	if !allowed {
		log.FromContext(ctx).V(1).Info("a budget refuses an update for now", "pod", pod.Name, "reason", why)
		return errRefused
	}
	return nil
}

// move brings Pods to another revision. The first error, or the first refusal of a budget, ends the wave.
func (r *Reconciler) move(ctx context.Context, set *v1beta1.CloneSet, p *Plan, o *outcome) {
	if o.updateErr != nil {
		return
	}
	o.moved = true
	var mutex sync.Mutex
	refused := false
	n, err := o.forEach(len(p.Moves), func(i int) *corev1.Pod { return p.Moves[i].Pod }, func(i int) error {
		wait, err := r.moveOne(ctx, set, p.Moves[i], o)
		mutex.Lock()
		defer mutex.Unlock()
		if errors.Is(err, errRefused) {
			refused, wait = true, budgetDelay
		}
		o.wake = sooner(o.wake, wait)
		return err
	})
	o.written += n
	if refused {
		err = withoutRefusals(err)
	}
	o.updateErr = errors.Join(o.updateErr, err)
}

func withoutRefusals(err error) error {
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		return err
	}
	return errors.Join(slices.DeleteFunc(slices.Clone(joined.Unwrap()), func(e error) bool { return errors.Is(e, errRefused) })...)
}

func (r *Reconciler) moveOne(ctx context.Context, set *v1beta1.CloneSet, m Move, o *outcome) (time.Duration, error) {
	if m.Err != nil {
		reason := failedUpdatePodInPlace
		if policyOf(set) == v1beta1.RecreatePodUpdateStrategyType {
			reason = failedUpdatePodReCreate
		}
		o.failed(reason, m.Err)
		return 0, &plannedError{m.Err}
	}
	pod := m.Pod.DeepCopy()
	if err := r.askBudget(ctx, pod); err != nil {
		return 0, err
	}
	switch m.How {
	case Recreate:
		return 0, r.recreate(ctx, set, pod, m, o)
	case Change:
		wait, err := r.changeInPlace(ctx, pod, m)
		if err == nil {
			o.normal(successfulUpdatePodInPlace, "updated Pod %s in place to %s", pod.Name, m.To.Name)
		}
		o.failed(failedUpdatePodInPlace, err)
		return wait, err
	default:
		return 0, r.prepareUpdate(ctx, pod, m)
	}
}

// recreate makes room for a Pod at the other revision.
func (r *Reconciler) recreate(ctx context.Context, set *v1beta1.CloneSet, pod *corev1.Pod, m Move, o *outcome) error {
	var err error
	if m.Removal != nil {
		err = r.removeOne(ctx, set, *m.Removal)
	} else {
		err = r.writePod(ctx, pod, nil, podpatch.New(pod).Label(v1beta1.SpecifiedDeleteLabel, "true"))
	}
	switch {
	case err != nil:
		o.failed(failedUpdatePodReCreate, err)
	case m.Removal != nil:
		o.normal(successfulUpdatePodReCreate, "deleted Pod %s to recreate it at %s", pod.Name, m.To.Name)
	default:
		o.normal(successfulUpdatePodReCreate, "marked Pod %s to be recreated at %s", pod.Name, m.To.Name)
	}
	return err
}

// prepareUpdate takes the Pod out of service if its hook wants that, and enters the state in which users' operators give
// their consent.
func (r *Reconciler) prepareUpdate(ctx context.Context, pod *corev1.Pod, m Move) error {
	if m.Hook.MarkPodNotReady {
		if err := r.writeConditions(ctx, pod, readiness.Hold(pod, readiness.PreUpdate, r.Clock.Now()), true); err != nil {
			return err
		}
	}
	patch := lifecycle.Enter(podpatch.New(pod), v1beta1.LifecycleStatePreparingUpdate, r.Clock.Now())
	if m.How == PrepareAgain {
		lifecycle.Restore(patch, m.Hook, pod)
	}
	return r.writePod(ctx, pod, nil, patch)
}

// errDecided is a race: someone else has decided about the Pod meanwhile.
func errDecided(pod *corev1.Pod) error {
	return apierrors.NewConflict(corev1.Resource("pods"), pod.Name, errors.New("it is to be deleted, or at another revision, by now"))
}

// attempts is how often a change in place is tried while the kubelet writes to the Pod: it reports a container or two, and
// is not heard of for seconds then.
const attempts = 5

// changeInPlace takes the Pod out of service, and then changes the Pod as it is after that. It tells how long to wait
// for the end of a grace period.
func (r *Reconciler) changeInPlace(ctx context.Context, pod *corev1.Pod, m Move) (time.Duration, error) {
	at := pod.Labels[appsv1.ControllerRevisionHashLabelKey]
	closes := m.Change.MustLeaveService(pod)
	if closes {
		// Whatever the cache shows of the condition, and whatever version the Pod has by now: traffic must have left
		// before a container stops.
		if err := r.writeConditions(ctx, pod, readiness.CloseForUpdate(pod, r.Clock.Now()), false); err != nil {
			return 0, err
		}
	}
	for attempt := 1; ; attempt++ {
		if pod.DeletionTimestamp != nil || podstate.SpecifiedDelete(pod) || pod.Labels[appsv1.ControllerRevisionHashLabelKey] != at {
			return 0, errDecided(pod) // the next sync sees what
		}
		wait, err := r.beginChange(ctx, pod, m)
		if !apierrors.IsConflict(err) || attempt == attempts {
			return wait, err
		}
		// As a rule it was the kubelet, which reports that the Pod has left service. Leaving the rest to the next sync would
		// close the gate again.
		fresh := &corev1.Pod{}
		if failed := r.Live.Get(ctx, client.ObjectKeyFromObject(pod), fresh); failed != nil {
			return 0, fmt.Errorf("reading Pod %s: %w", pod.Name, failed)
		}
		if fresh.UID != pod.UID || closes && podstate.IsTrue(fresh, v1beta1.InPlaceUpdateReady) {
			return 0, err // another Pod, or one that another leader put back in service
		}
		pod = fresh
	}
}

// beginChange writes the change to this version of the Pod.
func (r *Reconciler) beginChange(ctx context.Context, pod *corev1.Pod, m Move) (time.Duration, error) {
	write, err := inplace.Begin(pod, m.Change, m.To.Name, m.GraceSeconds, r.Clock.Now(), r.Server)
	if err != nil {
		return 0, err
	}
	for key, value := range m.Labels {
		write.Patch.Label(key, value)
	}
	lifecycle.Enter(write.Patch, v1beta1.LifecycleStateUpdating, r.Clock.Now())
	return write.Wait, r.writePod(ctx, pod, write.Resize, write.Patch)
}
