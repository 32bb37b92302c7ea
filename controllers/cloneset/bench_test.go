package cloneset

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api"
)

// BenchmarkSync is what a sync of an idle CloneSet, and one in the middle of a rollout in place, costs beside writing: all Pods
// are listed from a cache of controller-runtime, and one of them has changed since the last sync.
func BenchmarkSync(b *testing.B) {
	v1, v2 := at(b, "web:1", 1), at(b, "web:2", 2)
	for _, n := range []int{500, 5000} {
		for name, old := range map[string]int{"idle": 0, "rollout": n / 2} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				set := newSet(image("web:2"), replicas(int32(n)), inPlace, func(s *cloneSet) { s.Status.CurrentRevision = v1.Name })
				objs := []runtime.Object{v1, v2}
				for i := range n {
					pod := podAt(v2, fmt.Sprintf("p%05d", i), updatedInPlace)
					if i < old {
						pod = podAt(v1, pod.Name)
					}
					pod.UID, pod.ResourceVersion = types.UID("uid-of-"+pod.Name), strconv.Itoa(i)
					pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, kind)}
					objs = append(objs, pod)
				}
				r := New(Options{Client: cached{cache: startCache(b, objs...)}})
				r.memory.trust(key(set))
				for b.Loop() {
					seen, err := r.observe(b.Context(), set)
					if err != nil {
						b.Fatal(err)
					}
					if len(seen.pods.Active) != n {
						b.Fatalf("%d Pods are seen", len(seen.pods.Active))
					}
					if _, err := makePlan(set, seen, start, Settings{}, func() string { return "id" }); err != nil {
						b.Fatal(err)
					}
					delete(seen.progress, seen.pods.Active[0].UID)
				}
			})
		}
	}
}

// updatedInPlace gives the Pod what an update in place that is complete leaves.
func updatedInPlace(pod *corev1.Pod) {
	pod.Annotations = map[string]string{"apps.kruise.io/inplace-update-state": `{"revision":"web-1","updateTimestamp":"2026-01-01T00:00:00Z",` +
		`"lastContainerStatuses":{"main":{"imageID":"id-of-web:1"}},"updateImages":true,` +
		`"containerBatchesRecord":[{"timestamp":"2026-01-01T00:00:00Z","containers":["main"]}]}`}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", Ready: true, Image: "web:2", ImageID: "id-of-web:2"}}
}

// cached reads from a cache and writes nothing.
type cached struct {
	client.Client
	cache cache.Cache
}

func (c cached) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	return c.cache.Get(ctx, key, obj, opts...)
}

func (c cached) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return c.cache.List(ctx, list, opts...)
}

// startCache starts a cache of these objects, to which nothing happens.
func startCache(b *testing.B, objs ...runtime.Object) cache.Cache {
	b.Helper()
	scheme, mapper := runtime.NewScheme(), meta.NewDefaultRESTMapper(nil)
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, appsv1.AddToScheme, api.AddToScheme} {
		if err := add(scheme); err != nil {
			b.Fatal(err)
		}
	}
	for kind := range scheme.AllKnownTypes() {
		mapper.Add(kind, meta.RESTScopeNamespace)
	}
	c, err := cache.New(&rest.Config{}, cache.Options{
		Scheme: scheme, Mapper: mapper,
		NewInformer: func(_ toolscache.ListerWatcher, of runtime.Object, resync time.Duration, by toolscache.Indexers) toolscache.SharedIndexInformer {
			return toolscache.NewSharedIndexInformer(still(of, objs), of, resync, by)
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	if err := Index(b.Context(), c); err != nil {
		b.Fatal(err)
	}
	go func() { _ = c.Start(b.Context()) }()
	return c
}

// still lists the objects of one kind.
func still(kind runtime.Object, objs []runtime.Object) *toolscache.ListWatch {
	list := &metav1.List{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
	for _, obj := range objs {
		if reflect.TypeOf(obj) == reflect.TypeOf(kind) {
			list.Items = append(list.Items, runtime.RawExtension{Object: obj})
		}
	}
	return &toolscache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) { return list, nil },
		WatchFuncWithContext: func(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
			if o.SendInitialEvents != nil {
				return nil, errors.New("only lists have what is there")
			}
			return watch.NewFake(), nil
		},
	}
}
