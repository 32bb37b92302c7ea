package launchpriority

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// opened is the value of every key of a barrier; only its presence matters.
const opened = "true"

// write does what the plan wants of the ConfigMap, with one call, or two when it takes over.
func (r *Reconciler) write(ctx context.Context, pod *corev1.Pod, barrier *corev1.ConfigMap, p Plan) error {
	switch p.Write {
	case Create:
		return r.create(ctx, pod, p.Key)
	case Open:
		return r.patch(ctx, barrier, map[string]any{
			"metadata": map[string]any{"uid": barrier.UID},
			"data":     map[string]any{p.Key: opened},
		})
	case TakeOver:
		return r.takeOver(ctx, pod, barrier, p)
	default:
		return nil
	}
}

func (r *Reconciler) create(ctx context.Context, pod *corev1.Pod, key string) error {
	barrier := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       pod.Namespace,
			Name:            configMapName(pod),
			OwnerReferences: []metav1.OwnerReference{ownerReference(pod)},
		},
		Data: map[string]string{key: opened},
	}
	if err := r.live.Create(ctx, barrier); err != nil {
		return fmt.Errorf("creating ConfigMap %s: %w", barrier.Name, err)
	}
	return nil
}

// takeOver makes sure first that the Pod is not the older one itself: a cache that lags, or a leader that has just been
// replaced, would otherwise take a barrier from the Pod that runs. The resource version makes this hold until the
// write, and keeps the garbage collector from deleting what is ours now.
func (r *Reconciler) takeOver(ctx context.Context, pod *corev1.Pod, barrier *corev1.ConfigMap, p Plan) error {
	current := &corev1.Pod{}
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(pod), current); err != nil {
		return fmt.Errorf("reading Pod before taking over ConfigMap %s: %w", barrier.Name, err)
	}
	if current.UID != pod.UID {
		return errReplaced
	}
	data := map[string]any{p.Key: opened}
	for _, key := range p.Stale {
		data[key] = nil
	}
	return r.patch(ctx, barrier, map[string]any{
		"metadata": map[string]any{
			"uid":             barrier.UID,
			"resourceVersion": barrier.ResourceVersion,
			"ownerReferences": []metav1.OwnerReference{ownerReference(pod)},
		},
		"data": data,
	})
}

func (r *Reconciler) patch(ctx context.Context, barrier *corev1.ConfigMap, patch map[string]any) error {
	if err := r.live.Patch(ctx, barrier, mergePatch(patch)); err != nil {
		return fmt.Errorf("patching ConfigMap %s: %w", barrier.Name, err)
	}
	return nil
}

// complete marks the Pod. The UID in the patch refuses it for another Pod of that name.
func (r *Reconciler) complete(ctx context.Context, pod *corev1.Pod) error {
	err := r.pods.Patch(ctx, pod.DeepCopy(), mergePatch(map[string]any{"metadata": map[string]any{
		"uid":         pod.UID,
		"annotations": map[string]any{v1beta1.ContainerLaunchPriorityCompletedAnnotation: "true"},
	}}))
	if err != nil {
		return fmt.Errorf("annotating Pod: %w", err)
	}
	return nil
}

// ownerReference lets the barrier go with its Pod. It is not a controller reference: nothing adopts ConfigMaps, and
// other owners may be added.
func ownerReference(pod *corev1.Pod) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID}
}

func mergePatch(patch map[string]any) client.Patch {
	data, err := json.Marshal(patch)
	if err != nil {
		panic(fmt.Sprintf("encoding a patch of strings: %v", err))
	}
	return client.RawPatch(types.MergePatchType, data)
}

// changedUnderneath tells whether an error says that an object is not the one that the plan was made for: deleted,
// created by another, or changed.
func changedUnderneath(err error) bool {
	return errors.Is(err, errReplaced) || isWrongUID(err) || apierrors.IsNotFound(err) ||
		apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) ||
		apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// isWrongUID tells whether a patch was refused for the UID in it: to the API server that is an attempt to change it.
func isWrongUID(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool { return c.Field == "metadata.uid" })
}
