package cloneset

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestTheStoreHasWhatAListHas reads Pods of several owners in both ways, from one cache.
func TestTheStoreHasWhatAListHas(t *testing.T) {
	set := newSet()
	theirs, orphan := version(t, "theirs", "3"), version(t, "orphan", "4")
	theirs.OwnerReferences[0].UID = "another"
	orphan.OwnerReferences = nil
	replicaSets := version(t, "of-a-replica-set", "5")
	replicaSets.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}
	elsewhere := version(t, "a", "6")
	elsewhere.Namespace = "elsewhere"
	c := startCache(t, []runtime.Object{version(t, "a", "1"), version(t, "b", "2"), theirs, orphan, replicaSets, elsewhere}, cache.Options{})
	store, err := podStore(t.Context(), c)
	if err != nil || store == nil {
		t.Fatalf("the cache has no store: %v", err)
	}
	for way, pods := range map[string]PodStore{"the store": store, "a list": nil} {
		r := New(Options{Client: cached{cache: c}, Pods: pods})
		r.memory.trust(key(set))
		seen, err := r.observe(t.Context(), set)
		if err != nil {
			t.Fatal(err)
		}
		if got := namesOf(seen.pods.Active); got != "a b" || len(seen.pods.Inactive)+len(seen.pods.Release) > 0 {
			t.Errorf("by %s there are %s", way, got)
		}
	}
}

// TestACacheOfSingleNamespacesIsListed has no store of all its Pods.
func TestACacheOfSingleNamespacesIsListed(t *testing.T) {
	c := startCache(t, nil, cache.Options{DefaultNamespaces: map[string]cache.Config{"ns": {}}})
	if store, err := podStore(t.Context(), c); err != nil || store != nil {
		t.Errorf("its store is %v: %v", store, err)
	}
}

// TestTheStoreIsReadAfterTheWait has the cache show a Pod only when a list of Pods has waited for it.
func TestTheStoreIsReadAfterTheWait(t *testing.T) {
	store := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, podIndexers())
	c := waiting{cached{cache: startCache(t, nil, cache.Options{})}, func() error { return store.Add(version(t, "late", "9")) }}
	r := New(Options{Client: c, Pods: store})
	set := newSet()
	r.memory.trust(key(set))
	seen, err := r.observe(t.Context(), set)
	if err != nil {
		t.Fatal(err)
	}
	if got := namesOf(seen.pods.Active); got != "late" {
		t.Errorf("there are %q", got)
	}
}

// waiting is a client that waits for what it has written before it lists Pods.
type waiting struct {
	cached
	wait func() error
}

func (w waiting) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if _, ofPods := list.(*corev1.PodList); ofPods {
		if (&client.ListOptions{}).ApplyOptions(opts).DisableReadYourWritesConsistency {
			return w.cached.List(ctx, list, opts...)
		}
		if err := w.wait(); err != nil {
			return err
		}
	}
	return w.cached.List(ctx, list, opts...)
}
