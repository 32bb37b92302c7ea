package cloneset

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/podset/lifecycle"
	"github.com/fairlead-io/fairlead/controllers/podset/podpatch"
	"github.com/fairlead-io/fairlead/controllers/podset/readiness"
)

// scale does the steps of scaling until one changes something, and tells whether one did.
func (r *Reconciler) scale(ctx context.Context, set *v1beta1.CloneSet, p *Plan, o *outcome) bool {
	o.scaled = true
	before := o.written
	if p.Scale.Limited > 0 {
		o.add(corev1.EventTypeWarning, scaleUpLimited, "%d more Pods are wanted than scaleStrategy.maxUnavailable lets be created now", p.Scale.Limited)
	}
	steps := []func(){
		func() { r.undelete(ctx, p, o) },
		func() { r.create(ctx, set, p.Scale.Create, o) },
		func() { r.remove(ctx, set, p, p.Scale.Finish, o) },
		func() { r.remove(ctx, set, p, p.Scale.Doomed, o) },
		func() { r.remove(ctx, set, p, p.Scale.Surplus, o) },
	}
	for _, step := range steps {
		if step(); o.written > before {
			return true
		}
	}
	return false
}

func (r *Reconciler) undelete(ctx context.Context, p *Plan, o *outcome) {
	n, err := o.forEach(len(p.Scale.Undelete), func(i int) *corev1.Pod { return p.Scale.Undelete[i] }, func(i int) error {
		pod := p.Scale.Undelete[i].DeepCopy()
		patch := lifecycle.Enter(podpatch.New(pod).Guard(pod), v1beta1.LifecycleStatePreparingNormal, r.Clock.Now())
		if err := r.Client.Patch(ctx, pod, patch); err != nil {
			return fmt.Errorf("keeping Pod %s: %w", pod.Name, err)
		}
		return nil
	})
	o.written += n
	o.scaleErr = errors.Join(o.scaleErr, err)
}

func (r *Reconciler) create(ctx context.Context, set *v1beta1.CloneSet, pods []NewPod, o *outcome) {
	first := 0
	r.memory.with(key(set), func(m *remembered) { first = m.batch })
	n, next, err := slowStart(len(pods), first, o.over, func(i int) error {
		err := r.createOne(ctx, pods[i])
		r.memory.made(set, pods[i].Pod.Labels[v1beta1.CloneSetInstanceIDLabel], err)
		if err == nil {
			o.normal(successfulCreate, "created Pod %s", pods[i].Pod.Name)
		}
		o.failed(failedCreate, err)
		return err
	})
	r.memory.with(key(set), func(m *remembered) { m.batch = next })
	o.written += n
	o.scaleErr = errors.Join(o.scaleErr, err)
}

func (r *Reconciler) createOne(ctx context.Context, made NewPod) error {
	if made.Err != nil {
		return &plannedError{made.Err}
	}
	for _, c := range made.Claims {
		if err := r.createClaim(ctx, c); err != nil {
			return err
		}
	}
	if err := r.Client.Create(ctx, made.Pod); err != nil {
		return fmt.Errorf("creating Pod %s: %w", made.Pod.Name, err)
	}
	return nil
}

// errClaimEnds is why a claim is of no use that is there.
var errClaimEnds = errors.New("the one of this name is being deleted")

// createClaim leaves a claim that is there as it is, unless it is about to go: a Pod that mounted it would wait for
// ever.
func (r *Reconciler) createClaim(ctx context.Context, c *corev1.PersistentVolumeClaim) error {
	err := r.Client.Create(ctx, c)
	if !apierrors.IsAlreadyExists(err) {
		if err != nil {
			return fmt.Errorf("creating PersistentVolumeClaim %s: %w", c.Name, err)
		}
		return nil
	}
	existing := &corev1.PersistentVolumeClaim{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(c), existing); err != nil {
		return fmt.Errorf("reading PersistentVolumeClaim %s: %w", c.Name, err)
	}
	if existing.DeletionTimestamp != nil {
		return fmt.Errorf("creating PersistentVolumeClaim %s: %w", c.Name, errClaimEnds)
	}
	return nil
}

// remove deletes Pods with their claims, or prepares that. It stops at an error, but for a race about one of them.
func (r *Reconciler) remove(ctx context.Context, set *v1beta1.CloneSet, p *Plan, removals []Removal, o *outcome) {
	n, err := o.forEach(len(removals), func(i int) *corev1.Pod { return removals[i].Pod }, func(i int) error {
		if removals[i].Prepare {
			return r.prepareRemoval(ctx, p, removals[i].Pod)
		}
		err := r.removeOne(ctx, set, removals[i])
		if err == nil {
			o.normal(successfulDelete, "deleted Pod %s", removals[i].Pod.Name)
		}
		o.failed(failedDelete, err)
		return err
	})
	o.written += n
	o.scaleErr = errors.Join(o.scaleErr, err)
}

// prepareRemoval takes the Pod out of service if its hook wants that, and then enters the state in which users' operators
// give their consent.
func (r *Reconciler) prepareRemoval(ctx context.Context, p *Plan, pod *corev1.Pod) error {
	pod = pod.DeepCopy()
	if p.UnreadyBeforeDelete {
		if err := r.writeConditions(ctx, pod, readiness.Hold(pod, readiness.PreDelete, r.Clock.Now()), true); err != nil {
			return err
		}
	}
	patch := lifecycle.Enter(podpatch.New(pod).Guard(pod), v1beta1.LifecycleStatePreparingDelete, r.Clock.Now())
	if err := r.Client.Patch(ctx, pod, patch); err != nil {
		return fmt.Errorf("preparing Pod %s for its deletion: %w", pod.Name, err)
	}
	return nil
}

func (r *Reconciler) removeOne(ctx context.Context, set *v1beta1.CloneSet, removal Removal) error {
	if removal.Mark {
		pod := removal.Pod.DeepCopy()
		if err := r.writePod(ctx, pod, nil, podpatch.New(pod).Label(v1beta1.SpecifiedDeleteLabel, "true")); err != nil {
			return err
		}
	}
	if len(removal.Claims) > 0 {
		r.memory.ends(set, removal.Pod.Labels[v1beta1.CloneSetInstanceIDLabel])
	}
	// That it is gone already was not seen, and nothing was done about it: the cache may never show it.
	gone := r.deleteThis(ctx, removal.Pod.DeepCopy())
	if gone != nil {
		gone = fmt.Errorf("deleting Pod %s: %w", removal.Pod.Name, gone)
	}
	if gone != nil && !apierrors.IsNotFound(gone) {
		return gone
	}
	for _, c := range removal.Claims {
		if err := r.deleteClaim(ctx, c.DeepCopy()); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return gone
}

// delete deletes this object and not a later one of its name. That it is gone is as good.
func (r *Reconciler) delete(ctx context.Context, obj client.Object) error {
	return client.IgnoreNotFound(r.deleteThis(ctx, obj))
}

func (r *Reconciler) deleteThis(ctx context.Context, obj client.Object) error {
	uid := obj.GetUID()
	return r.Client.Delete(ctx, obj, client.Preconditions{UID: &uid})
}

// writeConditions writes conditions to the Pod's status, if there are any, and makes pod what it is then.
func (r *Reconciler) writeConditions(ctx context.Context, pod *corev1.Pod, conditions []corev1.PodCondition, guarded bool) error {
	if len(conditions) == 0 {
		return nil
	}
	if err := r.Client.Status().Patch(ctx, pod, readiness.Patch(pod, conditions, guarded)); err != nil {
		return fmt.Errorf("writing condition %s of Pod %s: %w", conditions[0].Type, pod.Name, err)
	}
	return nil
}
