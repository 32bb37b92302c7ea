package cloneset

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-io/fairlead/controllers/podcache"
)

func ownedBy(apiVersion, name string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: apiVersion, Kind: "CloneSet", Name: name, UID: types.UID(name), Controller: ptr.To(true)}}
	}
}

func TestPodsWakeTheirCloneSets(t *testing.T) {
	v1 := at(t, "web:1", 1)
	a, b := podAt(v1, "p", ownedBy("apps.kruise.io/v1alpha1", "a")), podAt(v1, "p", ownedBy("apps.kruise.io/v1beta1", "b"))
	orphan, other := podAt(v1, "p"), podAt(v1, "p", ownedBy("example.com/v1", "c"))
	w := newWorld(t)
	events := w.reconciler.podEvents(always)
	for name, tt := range map[string]struct {
		send func(workqueue.TypedRateLimitingInterface[reconcile.Request])
		want []string
	}{
		"create": {func(q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			events.Create(t.Context(), event.CreateEvent{Object: a}, q)
		}, []string{"a"}},
		"delete": {func(q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			events.Delete(t.Context(), event.DeleteEvent{Object: b}, q)
		}, []string{"b"}},
		"update": {func(q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			events.Update(t.Context(), event.UpdateEvent{ObjectOld: a, ObjectNew: a}, q)
		}, []string{"a"}},
		"released": {func(q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			events.Update(t.Context(), event.UpdateEvent{ObjectOld: a, ObjectNew: orphan}, q)
		}, []string{"a"}},
		"of another group": {func(q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			events.Create(t.Context(), event.CreateEvent{Object: other}, q)
		}, nil},
		"without an owner": {func(q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			events.Create(t.Context(), event.CreateEvent{Object: orphan}, q)
		}, nil},
	} {
		q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
		tt.send(q)
		time.Sleep(time.Millisecond)
		var got []string
		for q.Len() > 0 {
			req, _ := q.Get()
			got = append(got, req.Name)
		}
		q.ShutDown()
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for pods, want := range map[int]time.Duration{0: 0, 100: 10 * time.Millisecond, 5000: 500 * time.Millisecond, 10_000: time.Second, 50_000: time.Second} {
		w.reconciler.memory.with(types.NamespacedName{Name: "big"}, func(r *remembered) { r.pods = pods })
		if got := w.reconciler.memory.pause(types.NamespacedName{Name: "big"}); got != want {
			t.Errorf("events of %d Pods are gathered for %s, want %s", pods, got, want)
		}
	}
}

// TestAStatusThatSomeoneElseWroteIsPutRight: no event of Pods need ever come.
func TestAStatusThatSomeoneElseWroteIsPutRight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, replicas(2))
		q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
		defer q.ShutDown()
		events := w.reconciler.statusEvents()
		wakes := func(old *cloneSet, after time.Duration) bool {
			events.Update(t.Context(), event.UpdateEvent{ObjectOld: old, ObjectNew: w.set()}, q)
			time.Sleep(after)
			synctest.Wait()
			return q.Len() > 0
		}
		before := w.set()
		w.settle()
		ours := w.set()
		if wakes(before, time.Hour) {
			t.Error("a sync wakes itself by the status that it writes")
		}
		w.edit(func(s *cloneSet) { s.Spec.MinReadySeconds = 1 })
		if wakes(ours, time.Hour) {
			t.Error("a change of the spec counts as one of the status")
		}
		w.sync()
		ours = w.set()
		theirs := ours.DeepCopy()
		theirs.Status.Replicas, theirs.Status.CurrentRevision = 77, "other"
		w.must(w.Status().Update(t.Context(), theirs))
		if wakes(ours, 900*time.Millisecond) {
			t.Error("writers that do not give up are answered at once")
		}
		if time.Sleep(100 * time.Millisecond); !wakes(ours, 0) {
			t.Fatal("nothing is done about the status of someone else")
		}
		w.clock.SetTime(w.clock.Now().Add(statusInterval))
		w.sync()
		if diff := cmp.Diff(ours.Status, w.set().Status); diff != "" {
			t.Error(diff)
		}
	})
}

func TestWhichChangesMatter(t *testing.T) {
	v1 := at(t, "web:1", 1)
	for name, tt := range map[string]struct {
		edit func(*corev1.Pod)
		want bool
	}{
		"nothing":      {func(*corev1.Pod) {}, false},
		"a probe time": {func(p *corev1.Pod) { p.Status.Conditions[0].LastProbeTime = metav1.NewTime(start) }, false},
		"restarts":     {func(p *corev1.Pod) { p.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 3}} }, false},
		"annotations":  {func(p *corev1.Pod) { p.Annotations = map[string]string{"a": "b"} }, false},
		"readiness":    {unready, true},
		"a label":      {label("a", "b"), true},
		"an owner":     {ownedBy("apps.kruise.io/v1beta1", "b"), true},
		"a finalizer":  {hooked, true},
		"the spec":     {func(p *corev1.Pod) { p.Generation++ }, true},
		"its node":     {func(p *corev1.Pod) { p.Spec.NodeName = "other" }, true},
		"its end":      {func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, true},
		"its phase":    {func(p *corev1.Pod) { p.Status.Phase = corev1.PodUnknown }, true},
		"its containers' readiness": {func(p *corev1.Pod) {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.ContainersReady, Status: corev1.ConditionTrue})
		}, true},
		"what holds it unready": {func(p *corev1.Pod) {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: "KruisePodReady", Status: corev1.ConditionTrue})
		}, true},
		"our gate": {func(p *corev1.Pod) {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: "InPlaceUpdateReady", Status: corev1.ConditionTrue})
		}, true},
		"grace": {func(p *corev1.Pod) { p.Annotations = map[string]string{"apps.kruise.io/inplace-update-grace": "{}"} }, true},
		"an update under way": {func(p *corev1.Pod) {
			p.Annotations = map[string]string{"apps.kruise.io/inplace-update-state": `{"lastContainerStatuses":{"main":{"imageID":"x"}}}`}
		}, true},
		"an update that is complete behind a closed gate": {func(p *corev1.Pod) {
			p.Annotations = map[string]string{"apps.kruise.io/inplace-update-state": `{"lastContainerStatuses":null}`}
		}, true},
	} {
		old := podAt(v1, "p")
		updated := old.DeepCopy()
		tt.edit(updated)
		if got := matters(old, updated); got != tt.want {
			t.Errorf("%s: matters is %v", name, got)
		}
	}
	pending := func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }
	for state, want := range map[string]bool{"PreparingNormal": true, "Normal": false} {
		old := podAt(v1, "p", inState(state), pending)
		updated := old.DeepCopy()
		updated.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main"}}
		if got := matters(old, updated); got != want {
			t.Errorf("the kubelet's first report on a Pod that is %s: matters is %v", state, got)
		}
	}
	// The gate of a Pod that gets more CPU stays open: nothing but what its containers have tells of the end.
	for state, want := range map[string]bool{"Updating": true, "Normal": false} {
		old := podAt(v1, "p", inState(state), func(p *corev1.Pod) {
			p.Annotations = map[string]string{"apps.kruise.io/inplace-update-state": `{"updateResources":true,"lastContainerStatuses":null}`}
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: "InPlaceUpdateReady", Status: corev1.ConditionTrue})
			cpu := corev1.ResourceList{"cpu": resource.MustParse("2")}
			p.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: cpu}}}
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main"}}
		})
		updated := old.DeepCopy()
		updated.Status.ContainerStatuses[0].Resources = updated.Spec.Containers[0].Resources.DeepCopy()
		if got := matters(old, updated); got != want {
			t.Errorf("the resources given to a Pod that is %s: matters is %v", state, got)
		}
	}
}

// TestTheCacheKeepsWhatPlansNeed makes a plan from whole Pods and from those that the cache keeps, and their version.
func TestTheCacheKeepsWhatPlansNeed(t *testing.T) {
	v1, v2 := at(t, "web:1", 1), at(t, "web:2", 2)
	whole := podAt(v1, "a", ownedBy("apps.kruise.io/v1beta1", "web"), func(p *corev1.Pod) {
		p.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
		p.Spec.Containers = []corev1.Container{{Name: "main", Image: "web:1"}}
		p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "InPlaceUpdateReady"}}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main"}}
		p.ResourceVersion = "7"
	})
	transform := podcache.Transform(Keep)
	once, err := transform(whole.DeepCopy())
	if err != nil {
		t.Fatal(err)
	}
	kept, err := transform(once)
	if err != nil {
		t.Fatal(err)
	}
	set := newSet(image("web:2"), replicas(1), func(s *cloneSet) { s.Status.CurrentRevision = v1.Name })
	want := whole.DeepCopy()
	want.ManagedFields = nil
	if diff := cmp.Diff(want, kept.(*corev1.Pod)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(describe(planFor(t, set, start, nil, whole)), describe(planFor(t, set, start, nil, kept.(*corev1.Pod)))); diff != "" {
		t.Error(diff)
	}
	other := podAt(v2, "b")
	small, err := transform(other)
	if err != nil || small.(*corev1.Pod).Labels != nil {
		t.Errorf("of another Pod it keeps %+v (%v)", small, err)
	}
}
