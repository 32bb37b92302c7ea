package cloneset

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-io/fairlead/api"
	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/podset/claim"
)

// world is an API server with one CloneSet, a kubelet that the test moves, and a clock.
type world struct {
	*testing.T
	client.Client
	// key is the CloneSet's.
	key        types.NamespacedName
	reconciler *Reconciler
	clock      *clocktesting.FakePassiveClock
	events     *record.FakeRecorder
	writes     []string
	// fail makes a write fail; nil lets all pass.
	fail func(verb string, obj client.Object) error
	ids  int
	// lent are the Pods that the reconciler was given, and copies of them.
	lent map[*corev1.Pod]*corev1.Pod
	// mutex is for writes, which come in parallel.
	mutex sync.Mutex
}

type cloneSet = v1beta1.CloneSet

type setEdit = func(*cloneSet)

func newWorld(t *testing.T, edits ...setEdit) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, appsv1.AddToScheme, api.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	w := &world{T: t, clock: clocktesting.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)), events: record.NewFakeRecorder(10000), lent: map[*corev1.Pod]*corev1.Pod{}}
	// Deduced types spare reading the schemas of all kinds for every test.
	builder := fake.NewClientBuilder().WithScheme(scheme).WithTypeConverters(managedfields.NewDeducedTypeConverter()).WithStatusSubresource(&v1beta1.CloneSet{}, &corev1.Pod{})
	for _, obj := range Indexed() {
		builder = builder.WithIndex(obj, claim.OwnerField, claim.Index)
	}
	w.Client = builder.WithInterceptorFuncs(w.spy()).Build()
	w.reconciler = New(Options{
		Client: w.Client, Pods: w, Live: w.Client, Recorder: w.events, Clock: w.clock,
		NewID: func() string { w.ids++; return fmt.Sprintf("id%03d", w.ids) },
	})
	made := newSet(edits...)
	w.must(w.Create(t.Context(), made))
	w.key, w.writes = key(made), nil
	return w
}

// newSet is a CloneSet as the defaulting webhook makes it.
func newSet(edits ...setEdit) *v1beta1.CloneSet {
	set := &v1beta1.CloneSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "set-uid", Generation: 1},
		Spec: v1beta1.CloneSetSpec{
			Replicas: ptr.To[int32](3),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "web:1"}}},
			},
			UpdateStrategy: v1beta1.CloneSetUpdateStrategy{
				Type: v1beta1.RollingUpdateCloneSetUpdateStrategyType,
				RollingUpdate: &v1beta1.RollingUpdateCloneSetStrategy{
					PodUpdatePolicy: v1beta1.RecreatePodUpdateStrategyType, Partition: amount("0"), MaxUnavailable: amount("20%"), MaxSurge: amount("0"),
				},
			},
		},
	}
	for _, e := range edits {
		e(set)
	}
	return set
}

func amount(text string) *intstr.IntOrString { return ptr.To(intstr.Parse(text)) }

func replicas(n int32) setEdit { return func(s *v1beta1.CloneSet) { s.Spec.Replicas = &n } }

func image(to string) setEdit {
	return func(s *v1beta1.CloneSet) { s.Spec.Template.Spec.Containers[0].Image = to }
}

func rolling(edit func(*v1beta1.RollingUpdateCloneSetStrategy)) setEdit {
	return func(s *v1beta1.CloneSet) { edit(s.Spec.UpdateStrategy.RollingUpdate) }
}

func policy(to v1beta1.PodUpdateStrategyType) setEdit {
	return rolling(func(r *v1beta1.RollingUpdateCloneSetStrategy) { r.PodUpdatePolicy = to })
}

func inPlace(s *v1beta1.CloneSet) { policy(v1beta1.InPlaceIfPossiblePodUpdateStrategyType)(s) }

func limits(partition, maxUnavailable, maxSurge string) setEdit {
	return rolling(func(r *v1beta1.RollingUpdateCloneSetStrategy) {
		r.Partition, r.MaxUnavailable, r.MaxSurge = amount(partition), amount(maxUnavailable), amount(maxSurge)
	})
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// spy notes writes and lets them fail. The UIDs are the API server's to give.
func (w *world) spy() interceptor.Funcs {
	note := func(verb string, obj client.Object) error {
		kind := strings.TrimPrefix(fmt.Sprintf("%T", obj), "*v1.")
		kind = strings.TrimPrefix(kind, "*v1beta1.")
		w.mutex.Lock()
		defer w.mutex.Unlock()
		w.writes = append(w.writes, verb+" "+kind)
		if w.fail != nil {
			return w.fail(verb, obj)
		}
		return nil
	}
	return interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			if err := note("create", obj); err != nil {
				return err
			}
			if obj.GetUID() == "" {
				obj.SetUID(types.UID("uid-of-" + obj.GetName()))
			}
			obj.SetCreationTimestamp(metav1.NewTime(w.clock.Now()))
			return c.Create(ctx, obj, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			if err := note("delete", obj); err != nil {
				return err
			}
			return c.Delete(ctx, obj, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if err := note("patch", obj); err != nil {
				return err
			}
			return c.Patch(ctx, obj, patch, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			if err := note(sub, obj); err != nil {
				return err
			}
			if sub == "resize" {
				return c.Patch(ctx, obj, patch)
			}
			if err := c.SubResource(sub).Patch(ctx, obj, patch, opts...); err != nil {
				return err
			}
			return withMetadata(ctx, c, obj, patch)
		},
	}
}

// withMetadata lets a write of a Pod's status write its labels and annotations too, which the fake leaves out.
func withMetadata(ctx context.Context, c client.Client, obj client.Object, patch client.Patch) error {
	if _, isPod := obj.(*corev1.Pod); !isPod {
		return nil
	}
	data, err := patch.Data(obj)
	if err != nil {
		return err
	}
	var sent struct {
		Metadata struct {
			Labels      map[string]any `json:"labels,omitempty"`
			Annotations map[string]any `json:"annotations,omitempty"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(data, &sent); err != nil || len(sent.Metadata.Labels)+len(sent.Metadata.Annotations) == 0 {
		return err
	}
	if data, err = json.Marshal(sent); err != nil {
		return err
	}
	return c.Patch(ctx, obj, client.RawPatch(types.StrategicMergePatchType, data))
}

func (w *world) set() *v1beta1.CloneSet {
	w.Helper()
	set := &v1beta1.CloneSet{}
	w.must(w.Get(w.Context(), w.key, set))
	return set
}

func (w *world) edit(edits ...setEdit) {
	w.Helper()
	set := w.set()
	for _, e := range edits {
		e(set)
	}
	set.Generation++
	w.must(w.Update(w.Context(), set))
}

func (w *world) reconcile() (reconcile.Result, error) {
	w.Helper()
	result, err := w.reconciler.Reconcile(w.Context(), reconcile.Request{NamespacedName: w.key})
	for lent, before := range w.lent {
		if !equality.Semantic.DeepEqual(before, lent) {
			w.Errorf("the cache's own Pod %s was changed", lent.Name)
		}
	}
	clear(w.lent)
	return result, err
}

// ByIndex is that of the cache, whose Pods nobody may change.
func (w *world) ByIndex(_, uid string) ([]any, error) {
	list := &corev1.PodList{}
	opts := []client.ListOption{client.InNamespace("ns"), client.MatchingFields{claim.OwnerField: uid}, client.DisableReadYourWritesConsistency}
	if err := w.reconciler.Client.List(w.Context(), list, opts...); err != nil {
		return nil, err
	}
	var found []any
	for i := range list.Items {
		w.lent[&list.Items[i]] = list.Items[i].DeepCopy()
		found = append(found, &list.Items[i])
	}
	return found, nil
}

// sync reconciles once; each time takes more than the status waits for.
func (w *world) sync() reconcile.Result {
	w.Helper()
	w.clock.SetTime(w.clock.Now().Add(2 * time.Second))
	result, err := w.reconcile()
	w.must(err)
	return result
}

// settle reconciles, with the kubelet acting in between, until a sync writes nothing.
func (w *world) settle() {
	w.Helper()
	for range 100 {
		w.kubelet()
		before := len(w.writes)
		w.sync()
		if len(w.writes) == before {
			return
		}
	}
	w.Fatalf("it never settles; the last writes are %v", w.writes[max(0, len(w.writes)-20):])
}

func (w *world) pods() []*corev1.Pod {
	w.Helper()
	list := &corev1.PodList{}
	w.must(w.List(w.Context(), list, client.InNamespace("ns")))
	pods := make([]*corev1.Pod, len(list.Items))
	for i := range list.Items {
		pods[i] = &list.Items[i]
	}
	return pods
}

func (w *world) revisions() []appsv1.ControllerRevision {
	w.Helper()
	list := &appsv1.ControllerRevisionList{}
	w.must(w.List(w.Context(), list, client.InNamespace("ns")))
	return list.Items
}

// editPod changes a Pod as someone else would.
func (w *world) editPod(name string, edit func(*corev1.Pod)) {
	w.Helper()
	pod := &corev1.Pod{}
	w.must(w.Get(w.Context(), types.NamespacedName{Namespace: "ns", Name: name}, pod))
	before := pod.DeepCopy()
	edit(pod)
	status := pod.Status.DeepCopy()
	pod.Status = before.Status
	if !equality.Semantic.DeepEqual(before, pod) {
		w.must(w.Update(w.Context(), pod))
	}
	pod.Status = *status
	if !equality.Semantic.DeepEqual(&before.Status, status) {
		w.must(w.Status().Update(w.Context(), pod))
	}
}

// kubelet schedules and runs what is there, except images called broken: their Pods run and are not ready.
func (w *world) kubelet() {
	w.Helper()
	for _, pod := range w.pods() {
		if pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodFailed {
			w.editPod(pod.Name, w.runPod)
		}
	}
}

func (w *world) runPod(pod *corev1.Pod) {
	if pod.Spec.NodeName == "" {
		pod.Spec.NodeName = "node"
	}
	pod.Status.Phase = corev1.PodRunning
	healthy := true
	statuses := pod.Status.ContainerStatuses
	pod.Status.ContainerStatuses = nil
	for _, c := range pod.Spec.Containers {
		status := corev1.ContainerStatus{Name: c.Name, ContainerID: "c://" + c.Image}
		for _, old := range statuses {
			if old.Name == c.Name {
				status = old
				if old.Image != c.Image {
					status.RestartCount++
				}
			}
		}
		status.Image, status.ImageID, status.Ready = c.Image, "id-of-"+c.Image, !strings.Contains(c.Image, "broken")
		status.Resources = c.Resources.DeepCopy()
		healthy = healthy && status.Ready
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, status)
	}
	w.setCondition(pod, corev1.ContainersReady, healthy)
	for _, gate := range pod.Spec.ReadinessGates {
		healthy = healthy && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == gate.ConditionType && c.Status == corev1.ConditionTrue
		})
	}
	w.setCondition(pod, corev1.PodReady, healthy)
}

func (w *world) setCondition(pod *corev1.Pod, of corev1.PodConditionType, to bool) {
	status := corev1.ConditionFalse
	if to {
		status = corev1.ConditionTrue
	}
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == of {
			if c.Status != status {
				*c = corev1.PodCondition{Type: of, Status: status, LastTransitionTime: metav1.NewTime(w.clock.Now())}
			}
			return
		}
	}
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: of, Status: status, LastTransitionTime: metav1.NewTime(w.clock.Now())})
}

// byImage counts the Pods that are not ending, by the image of their first container.
func (w *world) byImage() map[string]int {
	w.Helper()
	n := map[string]int{}
	for _, pod := range w.pods() {
		if pod.DeletionTimestamp == nil {
			n[pod.Spec.Containers[0].Image]++
		}
	}
	return n
}

func (w *world) eventsNow() []string {
	var all []string
	for {
		select {
		case e := <-w.events.Events:
			all = append(all, e)
		default:
			return all
		}
	}
}
