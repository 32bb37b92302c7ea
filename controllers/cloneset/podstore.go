package cloneset

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/podset/claim"
)

// PodStore finds the Pods themselves that a cache holds, which nobody may change. A list through the cache's client copies
// each into an array, which for 5,000 Pods has 6 MB and lives for one sync.
type PodStore interface {
	ByIndex(index, value string) ([]any, error)
}

// podIndex is the index of a PodStore: CloneSets' Pods by the UID of their controller.
const podIndex = "by CloneSet"

func podIndexers() toolscache.Indexers {
	return toolscache.Indexers{podIndex: func(obj any) ([]string, error) {
		if pod, isPod := obj.(*corev1.Pod); isPod && isOurs(pod) {
			return claim.Index(pod), nil
		}
		return nil, nil
	}}
}

// podStore is that of a cache; nil if there is not one, as in a cache of single namespaces.
func podStore(ctx context.Context, c cache.Cache) (PodStore, error) {
	informer, err := c.GetInformer(ctx, &corev1.Pod{}, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("setting up the cache of Pods: %w", err)
	}
	shared, isOne := informer.(toolscache.SharedIndexInformer)
	if !isOne {
		return nil, nil
	}
	if err := shared.AddIndexers(podIndexers()); err != nil {
		return nil, fmt.Errorf("indexing Pods by CloneSet: %w", err)
	}
	return shared.GetIndexer(), nil
}

// cachedPods are the CloneSet's in the cache. A list waits until the cache shows our own writes, whatever it lists: where
// there is a store to be read after it, it is one of nobody's Pods.
func (r *Reconciler) cachedPods(ctx context.Context, set *v1beta1.CloneSet, opts ...client.ListOption) ([]*corev1.Pod, error) {
	owner := string(set.UID)
	if r.Pods != nil {
		owner = ""
	}
	list := &corev1.PodList{}
	opts = append(opts, client.InNamespace(set.Namespace), client.MatchingFields{claim.OwnerField: owner}, client.UnsafeDisableDeepCopy)
	if err := r.Client.List(ctx, list, opts...); err != nil {
		return nil, fmt.Errorf("listing Pods: %w", err)
	}
	if r.Pods == nil {
		return pointers(list.Items), nil
	}
	found, err := r.Pods.ByIndex(podIndex, string(set.UID))
	if err != nil {
		return nil, fmt.Errorf("reading the cache of Pods: %w", err)
	}
	pods := make([]*corev1.Pod, 0, len(found))
	for _, obj := range found {
		// A reference to an owner names no namespace: anyone may make Pods elsewhere that have this one, and names of ours.
		if pod, isPod := obj.(*corev1.Pod); isPod && pod.Namespace == set.Namespace {
			pods = append(pods, pod)
		}
	}
	return pods, nil
}

func pointers(pods []corev1.Pod) []*corev1.Pod {
	all := make([]*corev1.Pod, len(pods))
	for i := range pods {
		all[i] = &pods[i]
	}
	return all
}
