package launchpriority

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const done = "apps.kruise.io/container-launch-priority-completed"

// podOf makes a Pod whose containers have these priorities, c0 the first, none of them started.
func podOf(priorities ...int64) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "pod-1"}}
	for i, p := range priorities {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{
			Name: fmt.Sprintf("c%d", i),
			Env:  []corev1.EnvVar{{Name: "A", Value: "b"}, barrierEnv("web-barrier", fmt.Sprintf("p_%d", p))},
		})
	}
	return pod
}

func barrierEnv(configMap, key string) corev1.EnvVar {
	return corev1.EnvVar{Name: "KRUISE_CONTAINER_BARRIER", ValueFrom: &corev1.EnvVarSource{
		ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: configMap}, Key: key},
	}}
}

// with changes a Pod in place.
func with(pod *corev1.Pod, changes ...func(*corev1.Pod)) *corev1.Pod {
	for _, change := range changes {
		change(pod)
	}
	return pod
}

// ready gives the containers a status that says so.
func ready(names ...string) func(*corev1.Pod) { return statuses(true, names...) }

// unready gives the containers a status, as of one that is started and not ready yet.
func unready(names ...string) func(*corev1.Pod) { return statuses(false, names...) }

func statuses(ready bool, names ...string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		for _, name := range names {
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: name, Ready: ready})
		}
	}
}

// ended gives a container a status that says so.
func ended(name string, code int32) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}},
		})
	}
}

func restarts(policy corev1.RestartPolicy) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.RestartPolicy = policy }
}

// c0Restarts gives the first container a policy of its own.
func c0Restarts(policy corev1.ContainerRestartPolicy, rules ...corev1.ContainerRestartRule) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Containers[0].RestartPolicy = &policy
		pod.Spec.Containers[0].RestartPolicyRules = rules
	}
}

func annotated(value string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Annotations = map[string]string{done: value} }
}

func terminating(pod *corev1.Pod) {
	pod.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	pod.Finalizers = []string{"test/keep"}
}

func phase(p corev1.PodPhase) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Status.Phase = p }
}

func containersReadyIs(status corev1.ConditionStatus) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.ContainersReady, Status: status})
	}
}

// barrierOwned makes the barrier of a Pod called web with that UID.
func barrierOwned(uid types.UID, keys ...string) *corev1.ConfigMap {
	barrier := configMap(keys...)
	barrier.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "web", UID: uid}}
	return barrier
}

// configMap has the barrier's name, and no owner.
func configMap(keys ...string) *corev1.ConfigMap {
	barrier := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web-barrier", UID: "cm-1"}}
	for _, key := range keys {
		if barrier.Data == nil {
			barrier.Data = map[string]string{}
		}
		barrier.Data[key] = "true"
	}
	return barrier
}

// cluster is an API server whose writes are counted and can be made to fail.
type cluster struct {
	client.Client
	writes []string // verb and kind of each write that arrived
	reads  int
	// fail is asked before a write, numbered from 1, and gives the error of one that does not happen.
	fail func(n int) error
	// lose is asked after a write and gives the error that the caller sees although the write happened.
	lose func(n int) error
}

func newCluster(objects ...client.Object) *cluster {
	c := &cluster{}
	write := func(kind string, do func() error) error {
		c.writes = append(c.writes, kind)
		n := len(c.writes)
		if c.fail != nil {
			if err := c.fail(n); err != nil {
				return err
			}
		}
		if err := do(); err != nil || c.lose == nil {
			return err
		}
		return c.lose(n)
	}
	// The default scheme and type converter, of every kind there is, take longer to set up than all a test does.
	scheme := runtime.NewScheme()
	utilruntime.Must(corev1.AddToScheme(scheme))
	c.Client = fake.NewClientBuilder().WithScheme(scheme).WithTypeConverters(managedfields.NewDeducedTypeConverter()).WithObjects(objects...).WithStatusSubresource(&corev1.Pod{}).
		WithInterceptorFuncs(interceptor.Funcs{
			Get: func(ctx context.Context, next client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
				c.reads++
				return next.Get(ctx, key, obj, opts...)
			},
			Create: func(ctx context.Context, next client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
				return write(fmt.Sprintf("create %T", obj), func() error { return next.Create(ctx, obj, opts...) })
			},
			Patch: func(ctx context.Context, next client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
				return write(fmt.Sprintf("patch %T", obj), func() error { return next.Patch(ctx, obj, patch, opts...) })
			},
		}).Build()
	return c
}

func (c *cluster) reconcile(ctx context.Context) (reconcile.Result, error) {
	return New(c, c).Reconcile(ctx, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "web"}})
}

func (c *cluster) mustReconcile(t *testing.T) reconcile.Result {
	t.Helper()
	result, err := c.reconcile(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func (c *cluster) pod(t testing.TB) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "web"}, pod); err != nil {
		t.Fatal(err)
	}
	return pod
}

// barrier is the ConfigMap, nil if there is none.
func (c *cluster) barrier(t testing.TB) *corev1.ConfigMap {
	t.Helper()
	barrier := &corev1.ConfigMap{}
	err := c.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "web-barrier"}, barrier)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return barrier
}

// setReady is the kubelet's word on a container.
func (c *cluster) setReady(t testing.TB, name string, ready bool) {
	t.Helper()
	pod := c.pod(t)
	all := slices.DeleteFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Name == name })
	all = append(all, corev1.ContainerStatus{Name: name, Ready: ready})
	pod.Status.ContainerStatuses = all
	if err := c.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
}
