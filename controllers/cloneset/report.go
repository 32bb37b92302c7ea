package cloneset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// statusInterval is the least time between two writes of counts alone: of a rollout of thousands of Pods nobody reads
// every step, and each write wakes all who watch the CloneSet.
const statusInterval = time.Second

// report writes the status, and then tidies up what the status no longer needs. It tells when to come again for a status
// that was not written yet.
func (r *Reconciler) report(ctx context.Context, set *v1beta1.CloneSet, p *Plan, o *outcome, now time.Time) (time.Duration, error) {
	status := p.Status.DeepCopy()
	if o.collided {
		status.CollisionCount = ptr.To(ptr.Deref(status.CollisionCount, 0) + 1)
	}
	if set.DeletionTimestamp == nil {
		reportFailure(status, v1beta1.CloneSetConditionFailedScale, o.scaleErr, o.scaled, now)
		reportFailure(status, v1beta1.CloneSetConditionFailedUpdate, o.updateErr, o.moved, now)
	}
	set = set.DeepCopy()
	wait, err := r.writeStatus(ctx, set, status, now)
	if err != nil {
		return wait, err
	}
	return wait, errors.Join(r.prune(ctx, set, p), r.truncate(ctx, p))
}

// writeStatus makes set what the API server returns.
func (r *Reconciler) writeStatus(ctx context.Context, set *v1beta1.CloneSet, status *v1beta1.CloneSetStatus, now time.Time) (time.Duration, error) {
	if equality.Semantic.DeepEqual(&set.Status, status) {
		return 0, nil
	}
	if wait := r.sinceReport(set, now); wait > 0 && onlyCounts(&set.Status, status) {
		return wait, nil
	}
	patch, err := statusPatch(set, status)
	if err != nil {
		return 0, err
	}
	r.memory.writes(key(set), status)
	if err := r.Client.Status().Patch(ctx, set, patch); err != nil {
		return 0, fmt.Errorf("writing the status: %w", err)
	}
	r.memory.with(key(set), func(m *remembered) { m.reported = now })
	return 0, nil
}

// statusPatch puts the status in place of the present one, for this version of the CloneSet only: what was counted
// belongs to this generation, and the current revision to the last one. It names every field, because a CloneSet without
// a status lacks those that the schema requires, which are 0 in our types.
func statusPatch(set *v1beta1.CloneSet, status *v1beta1.CloneSetStatus) (client.Patch, error) {
	var old, updated map[string]any
	for from, to := range map[*v1beta1.CloneSetStatus]*map[string]any{&set.Status: &old, status: &updated} {
		encoded, err := json.Marshal(from)
		if err == nil {
			err = json.Unmarshal(encoded, to)
		}
		if err != nil {
			return nil, fmt.Errorf("encoding the status: %w", err)
		}
	}
	for field := range old {
		if _, stays := updated[field]; !stays {
			updated[field] = nil
		}
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": set.ResourceVersion}, "status": updated})
	if err != nil {
		return nil, fmt.Errorf("encoding the status: %w", err)
	}
	return client.RawPatch(types.MergePatchType, patch), nil
}

// sinceReport is how long to wait until the next report of counts.
func (r *Reconciler) sinceReport(set *v1beta1.CloneSet, now time.Time) (wait time.Duration) {
	r.memory.with(key(set), func(m *remembered) { wait = m.reported.Add(statusInterval).Sub(now) })
	if wait > statusInterval {
		return 0 // the clock was set back
	}
	return wait
}

// onlyCounts tells whether the statuses differ in numbers of Pods alone. Everything else decides something: revisions
// for the next sync, the generation and conditions for those who wait for them.
func onlyCounts(a, b *v1beta1.CloneSetStatus) bool {
	b = b.DeepCopy()
	b.Replicas, b.ReadyReplicas, b.AvailableReplicas = a.Replicas, a.ReadyReplicas, a.AvailableReplicas
	b.UpdatedReplicas, b.UpdatedReadyReplicas, b.UpdatedAvailableReplicas = a.UpdatedReplicas, a.UpdatedReadyReplicas, a.UpdatedAvailableReplicas
	return equality.Semantic.DeepEqual(a, b)
}

// prune takes names out of podsToDelete whose Pods are gone.
func (r *Reconciler) prune(ctx context.Context, set *v1beta1.CloneSet, p *Plan) error {
	if p.Prune == nil {
		return nil
	}
	var names any
	if len(*p.Prune) > 0 {
		names = *p.Prune
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": set.ResourceVersion},
		"spec":     map[string]any{"scaleStrategy": map[string]any{"podsToDelete": names}},
	})
	if err != nil {
		return fmt.Errorf("encoding podsToDelete: %w", err)
	}
	if err := r.Client.Patch(ctx, set, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return fmt.Errorf("pruning podsToDelete: %w", err)
	}
	return nil
}

// truncate deletes revisions beyond the limit of the history.
func (r *Reconciler) truncate(ctx context.Context, p *Plan) error {
	for _, surplus := range p.Surplus {
		if err := r.delete(ctx, surplus.DeepCopy()); err != nil {
			return fmt.Errorf("deleting revision %s: %w", surplus.Name, err)
		}
	}
	return nil
}
