package cloneset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// settleClaims gives claims to the Pods that end with them, deletes those whose Pod is gone, and makes those again that
// a Pod waits for.
func (r *Reconciler) settleClaims(ctx context.Context, set *v1beta1.CloneSet, p *Plan, o *outcome) {
	n, err := inParallel(len(p.Claims), o.over, func(i int) error {
		c, heir := p.Claims[i].Claim.DeepCopy(), p.Claims[i].Heir
		if p.Claims[i].Ended {
			err := r.deleteClaim(ctx, c)
			o.failed(failedDelete, err)
			return err
		}
		if heir != nil {
			err := r.giveClaim(ctx, set, c, heir)
			o.failed(failedUpdate, err)
			return err
		}
		err := r.deleteOrphan(ctx, set, c)
		o.failed(failedDelete, err)
		return err
	})
	o.written += n
	o.scaleErr = errors.Join(o.scaleErr, err)
	n, err = inParallel(len(p.Missing), o.over, func(i int) error { return r.createClaim(ctx, p.Missing[i]) })
	o.written += n
	o.scaleErr = errors.Join(o.scaleErr, err)
}

// giveClaim makes the Pod the claim's owner in place of the CloneSet.
func (r *Reconciler) giveClaim(ctx context.Context, set *v1beta1.CloneSet, c *corev1.PersistentVolumeClaim, heir *corev1.Pod) error {
	owners := []any{
		map[string]any{"$patch": "delete", "uid": set.UID},
		metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: heir.Name, UID: heir.UID},
	}
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": c.UID, "resourceVersion": c.ResourceVersion, "ownerReferences": owners}})
	if err != nil {
		return fmt.Errorf("encoding the owners of a claim: %w", err)
	}
	if err := r.Client.Patch(ctx, c, client.RawPatch(types.StrategicMergePatchType, data)); err != nil {
		return fmt.Errorf("giving PersistentVolumeClaim %s to Pod %s: %w", c.Name, heir.Name, err)
	}
	return nil
}

// deleteOrphan asks the API server first whether there is a Pod after all: a claim of a running Pod that is being
// deleted is lost when the Pod restarts.
func (r *Reconciler) deleteOrphan(ctx context.Context, set *v1beta1.CloneSet, c *corev1.PersistentVolumeClaim) error {
	name := podName(set, c.Labels[v1beta1.CloneSetInstanceIDLabel])
	pod := &corev1.Pod{}
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: set.Namespace, Name: name}, pod)
	switch {
	case err == nil && metav1.IsControlledBy(pod, set):
		return apierrors.NewConflict(corev1.Resource("persistentvolumeclaims"), c.Name, fmt.Errorf("the Pod %s that uses it is there", name))
	case client.IgnoreNotFound(err) != nil:
		return fmt.Errorf("reading Pod %s: %w", name, err)
	}
	return r.deleteClaim(ctx, c)
}

func (r *Reconciler) deleteClaim(ctx context.Context, c *corev1.PersistentVolumeClaim) error {
	if err := r.deleteThis(ctx, c); err != nil {
		return fmt.Errorf("deleting PersistentVolumeClaim %s: %w", c.Name, err)
	}
	return nil
}
