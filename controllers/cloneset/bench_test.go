package cloneset

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"syscall"
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
	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// BenchmarkSync is what a sync costs beside writing: all Pods are listed from a cache of controller-runtime, and one of them has
// changed since the last sync. The CloneSet is idle, in the middle of a rollout in place, or of being scaled out.
func BenchmarkSync(b *testing.B) {
	v1, v2 := at(b, "web:1", 1), at(b, "web:2", 2)
	for _, n := range []int{500, 5000} {
		for _, scenario := range []string{"idle", "update", "scale-out"} {
			b.Run(fmt.Sprintf("%s/%d", scenario, n), func(b *testing.B) {
				set := newSet(image("web:2"), replicas(int32(n)), inPlace, func(s *cloneSet) { s.Status.CurrentRevision = v1.Name })
				objs := []runtime.Object{v1, v2}
				for i := range n {
					pod := podAt(v2, fmt.Sprintf("web-%05d", i), served, updatedInPlace)
					switch share := i * 100 / n; {
					case scenario == "update" && share < 40:
						pod = podAt(v1, pod.Name, served)
					case scenario == "update" && share < 58:
						beginInPlace(pod)
					case scenario == "scale-out" && share < 50:
						continue
					case scenario == "scale-out":
						pod = podAt(v2, pod.Name, served)
					}
					pod.UID, pod.ResourceVersion = types.UID("uid-of-"+pod.Name), strconv.Itoa(i)
					pod.CreationTimestamp = metav1.NewTime(start.Add(time.Duration(i%97) * time.Second))
					pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, kind)}
					objs = append(objs, pod)
				}
				benchmarkSync(b, set, n, objs)
			})
		}
	}
}

func benchmarkSync(b *testing.B, set *cloneSet, n int, objs []runtime.Object) {
	b.Helper()
	c := startCache(b, objs, cache.Options{})
	pods, err := podStore(b.Context(), c)
	if err != nil || pods == nil {
		b.Fatalf("there is no store of Pods: %v", err)
	}
	r, ids := New(Options{Client: cached{cache: c}, Pods: pods}), 0
	r.memory.trust(key(set))
	sync := func() {
		seen, err := r.observe(b.Context(), set)
		if err != nil {
			b.Fatal(err)
		}
		if len(seen.pods.Active) != len(objs)-2 {
			b.Fatalf("%d Pods are seen", len(seen.pods.Active))
		}
		if _, err := makePlan(set, seen, start.Add(time.Hour), Settings{}, func() string { ids++; return strconv.Itoa(ids) }); err != nil {
			b.Fatal(err)
		}
		r.memory.sets[key(set)].roster.known[seen.pods.Active[0].Name].reading = nil
	}
	sync() // the first one reads all
	before := cpuTime(b)
	for b.Loop() {
		sync()
	}
	b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N*n), "cpu-ns/pod")
}

// cpuTime is what the process has had. Beside other processes, and with the collector of garbage on another core, it says
// more than the time that passed.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// served gives the Pod what kubelets and our gates do.
func served(pod *corev1.Pod) {
	for _, of := range []corev1.PodConditionType{corev1.PodScheduled, corev1.ContainersReady, v1beta1.KruisePodReady, v1beta1.InPlaceUpdateReady} {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: of, Status: corev1.ConditionTrue})
	}
	pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: v1beta1.KruisePodReady}, {ConditionType: v1beta1.InPlaceUpdateReady}}
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "web:2"}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", Ready: true, Image: "web:2", ImageID: "id-of-web:2"}}
}

// updatedInPlace gives the Pod what an update in place that is complete leaves.
func updatedInPlace(pod *corev1.Pod) {
	pod.Annotations = map[string]string{"apps.kruise.io/inplace-update-state": `{"revision":"web-1","updateTimestamp":"2026-01-01T00:00:00Z",` +
		`"lastContainerStatuses":{"main":{"imageID":"id-of-web:1"}},"updateImages":true,` +
		`"containerBatchesRecord":[{"timestamp":"2026-01-01T00:00:00Z","containers":["main"]}]}`}
}

// beginInPlace makes the Pod one that waits for its kubelet.
func beginInPlace(pod *corev1.Pod) {
	inState("Updating")(pod)
	unready(pod)
	pod.Status.ContainerStatuses[0].Image, pod.Status.ContainerStatuses[0].ImageID = "web:1", "id-of-web:1"
	pod.Status.Conditions[len(pod.Status.Conditions)-1].Status = corev1.ConditionFalse
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
func startCache(t testing.TB, objs []runtime.Object, options cache.Options) cache.Cache {
	t.Helper()
	scheme, mapper := runtime.NewScheme(), meta.NewDefaultRESTMapper(nil)
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, appsv1.AddToScheme, api.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	for kind := range scheme.AllKnownTypes() {
		mapper.Add(kind, meta.RESTScopeNamespace)
	}
	options.Scheme, options.Mapper = scheme, mapper
	options.NewInformer = func(_ toolscache.ListerWatcher, of runtime.Object, resync time.Duration, by toolscache.Indexers) toolscache.SharedIndexInformer {
		return toolscache.NewSharedIndexInformer(still(of, objs), of, resync, by)
	}
	c, err := cache.New(&rest.Config{}, options)
	if err != nil {
		t.Fatal(err)
	}
	if err := Index(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	go func() { _ = c.Start(t.Context()) }()
	if !c.WaitForCacheSync(t.Context()) {
		t.Fatal("the cache does not start")
	}
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
