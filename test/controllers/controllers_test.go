package controllers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-io/fairlead/controllers/launchpriority"
	"github.com/fairlead-io/fairlead/controllers/podreadiness"
	"github.com/fairlead-io/fairlead/test/addresses"
	"github.com/fairlead-io/fairlead/test/cluster/cluster"
	"github.com/fairlead-io/fairlead/test/inprocess"
	"github.com/fairlead-io/fairlead/webhook/table"
)

const completed = "apps.kruise.io/container-launch-priority-completed"

// TestControllers shares one API server, which has none of our CRDs. The subtests build on each other.
func TestControllers(t *testing.T) {
	s := newSuite(t)
	for _, name := range []string{"kruise-system", "kruise-daemon-config", "start", "ready", "races"} {
		s.namespace(t, name)
	}
	inprocess.World{T: t, Cluster: s.Cluster}.Grant()
	t.Run("readiness waits for admission", func(t *testing.T) { readiness(t, s) })
	service := admission(t)
	s.register(t, service, service.Listener.Addr().String())
	t.Run("leadership is awaited and given up", func(t *testing.T) { leadership(t, s) })
	p := s.run(t, "")
	eventually(t, func() string { return notReady(t, p) })
	t.Run("containers start in order", func(t *testing.T) { launch(t, s, p) })
	t.Run("a Pod of an older name starts in order too", func(t *testing.T) { relaunch(t, s, p) })
	t.Run("a gated Pod becomes ready", func(t *testing.T) { gated(t, s, p) })
	t.Run("a Pod that was replaced is not touched", func(t *testing.T) { replaced(t, s) })
	t.Run("an API server that was away finds everything going on", func(t *testing.T) { outage(t, s, p) })
}

func notReady(t *testing.T, p *process) string {
	code, body := get(t, p.health, "/readyz")
	if code == 200 {
		return ""
	}
	return fmt.Sprintf("readyz is %d: %s", code, body)
}

func waitForReason(t *testing.T, p *process, reason string) {
	t.Helper()
	eventually(t, func() string {
		code, body := get(t, p.health, "/readyz")
		if code == 503 && strings.Contains(body, reason) {
			return ""
		}
		return fmt.Sprintf("readyz is %d: %s; want 503 with %q", code, body, reason)
	})
}

func readiness(t *testing.T, s *suite) {
	p := s.run(t, "")
	waitForReason(t, p, "admission-live: kruise-mutating-webhook-configuration does not exist")
	if code, body := get(t, p.health, "/healthz"); code != 200 {
		t.Errorf("healthz is %d: %s", code, body)
	}
	service := admission(t)
	s.register(t, service, addresses.Free(t, addresses.Loopback)) // nobody listens there
	waitForReason(t, p, `failed calling webhook "mpod.kb.io"`)

	uncovered := &admissionv1.MutatingWebhookConfiguration{}
	if err := s.Get(t.Context(), client.ObjectKey{Name: table.MutatingName}, uncovered); err != nil {
		t.Fatal(err)
	}
	for i := range uncovered.Webhooks {
		uncovered.Webhooks[i].NamespaceSelector.MatchLabels = map[string]string{"covered": "no"}
	}
	if err := s.Update(t.Context(), uncovered); err != nil {
		t.Fatal(err)
	}
	waitForReason(t, p, "came back without the readiness gate KruisePodReady")

	s.register(t, service, service.Listener.Addr().String())
	eventually(t, func() string { return notReady(t, p) })
	pods := &corev1.PodList{}
	if err := s.List(t.Context(), pods); err != nil || len(pods.Items) > 0 {
		t.Errorf("the probe left Pods behind: %v %v", pods.Items, err)
	}

	if err := s.Delete(t.Context(), uncovered); err != nil {
		t.Fatal(err)
	}
	settle()
	if reason := notReady(t, p); reason != "" {
		t.Errorf("an outage of admission ended readiness: %s", reason)
	}
	if err := p.stop(); err != nil {
		t.Error(err)
	}

	off := s.run(t, "PodWebhook=false")
	eventually(t, func() string { return notReady(t, off) })
	if err := off.stop(); err != nil {
		t.Error(err)
	}
}

// leadership starts while another process leads, as that of OpenKruise does in an upgrade.
func leadership(t *testing.T, s *suite) {
	key := client.ObjectKey{Namespace: "kruise-system", Name: "kruise-manager"}
	lease := func() *coordinationv1.Lease {
		l := &coordinationv1.Lease{}
		if err := s.Get(t.Context(), key, l); err != nil {
			t.Fatal(err)
		}
		return l
	}
	held := lease()
	if holder := ptr.Deref(held.Spec.HolderIdentity, ""); holder != "" {
		t.Errorf("a process that was stopped still holds the lease: %s", holder)
	}
	held.Spec.HolderIdentity = ptr.To("old-manager")
	held.Spec.LeaseDurationSeconds = ptr.To[int32](60)
	held.Spec.RenewTime = ptr.To(metav1.NowMicro())
	if err := s.Update(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	s.create(t, podOf("start", "waits"))

	p := s.run(t, "")
	eventually(t, func() string { return notReady(t, p) })
	settle()
	if writes := p.writes.in("start"); len(writes) > 0 {
		t.Errorf("a process that stands by wrote %v", writes)
	}
	if _, body := get(t, p.metrics, "/metrics"); !strings.Contains(body, "\nkruise_manager_is_leader 0\n") {
		t.Error("kruise_manager_is_leader is not 0 in a process that stands by")
	} else if !strings.Contains(body, `fairlead_client_wait_seconds_total{operation="read",resource=`) {
		t.Error("what requests wait for their turn is not told")
	}
	if begun, tries := p.log.with("Attempting to acquire leader lease"), p.log.with("lease"); len(begun) == 0 || len(tries) > len(begun) {
		t.Errorf("a process that stands by writes of each try for the Lease: %q", tries)
	}

	held = lease()
	held.Spec.HolderIdentity = ptr.To("")
	held.Spec.LeaseDurationSeconds = ptr.To[int32](1)
	if err := s.Update(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() string {
		if _, body := get(t, p.metrics, "/metrics"); strings.Contains(body, "\nkruise_manager_is_leader 1\n") {
			return ""
		}
		return "it does not lead"
	})
	eventually(t, func() string { return keysAre(t, s, "start", "waits", "p_0") })
	if err := p.stop(); err != nil {
		t.Error(err)
	}
	if holder := ptr.Deref(lease().Spec.HolderIdentity, ""); holder != "" {
		t.Errorf("after a graceful stop %q holds the lease", holder)
	}
}

// podOf makes a Pod of three containers in order.
func podOf(namespace, name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, Annotations: map[string]string{"apps.kruise.io/container-launch-priority": "Ordered"},
		},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: ptr.To[int64](0),
			Containers: []corev1.Container{
				{Name: "a", Image: "bank.test/web:v1"}, {Name: "b", Image: "bank.test/web:v1"}, {Name: "c", Image: "bank.test/web:v1"},
			},
		},
	}
}

// keysAre says how the barrier's keys differ from those wanted.
func keysAre(t *testing.T, s *suite, namespace, pod string, want ...string) string {
	barrier := &corev1.ConfigMap{}
	if err := s.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: pod + "-barrier"}, barrier); err != nil {
		return err.Error()
	}
	if got := slices.Sorted(maps.Keys(barrier.Data)); !slices.Equal(got, want) {
		return fmt.Sprintf("the barrier's keys are %v, want %v", got, want)
	}
	return ""
}

// setReady is the kubelet's word on the containers of a Pod.
func setReady(t *testing.T, s *suite, pod *corev1.Pod, ready ...bool) {
	t.Helper()
	patch := pod.DeepCopy()
	patch.Status.ContainerStatuses = nil
	for i, r := range ready {
		patch.Status.ContainerStatuses = append(patch.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: pod.Spec.Containers[i].Name, Ready: r,
		})
	}
	if err := s.Status().Patch(t.Context(), patch, client.MergeFrom(pod)); err != nil {
		t.Fatal(err)
	}
}

func launch(t *testing.T, s *suite, p *process) {
	pod := podOf("start", "")
	pod.GenerateName = "web-"
	s.create(t, pod)
	if pod.Name != "web-bcdfg" {
		t.Fatalf("the Pod is called %q", pod.Name)
	}
	eventually(t, func() string { return keysAre(t, s, "start", pod.Name, "p_0") })
	setReady(t, s, pod, false)
	settle()
	if state := keysAre(t, s, "start", pod.Name, "p_0"); state != "" {
		t.Error(state)
	}
	setReady(t, s, pod, true)
	eventually(t, func() string { return keysAre(t, s, "start", pod.Name, "p_-1", "p_0") })
	setReady(t, s, pod, true, true)
	eventually(t, func() string { return keysAre(t, s, "start", pod.Name, "p_-1", "p_-2", "p_0") })
	setReady(t, s, pod, true, true, true)
	eventually(t, func() string { return annotatedAs(t, s, pod, "true") })
	settle()
	want := []string{
		"POST configmaps 201", "PATCH configmaps/web-bcdfg-barrier 200", "PATCH configmaps/web-bcdfg-barrier 200", "PATCH pods/web-bcdfg 200",
	}
	got := slices.DeleteFunc(p.writes.in("start"), func(line string) bool { return strings.Contains(line, "waits") })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	barrier := &corev1.ConfigMap{}
	if err := s.Get(t.Context(), client.ObjectKey{Namespace: "start", Name: "web-bcdfg-barrier"}, barrier); err != nil {
		t.Fatal(err)
	}
	owner := []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "web-bcdfg", UID: pod.UID}}
	if diff := cmp.Diff(owner, barrier.OwnerReferences); diff != "" {
		t.Error(diff)
	}
}

func annotatedAs(t *testing.T, s *suite, pod *corev1.Pod, want string) string {
	current := &corev1.Pod{}
	if err := s.Get(t.Context(), client.ObjectKeyFromObject(pod), current); err != nil {
		return err.Error()
	}
	if got := current.Annotations[completed]; got != want {
		return fmt.Sprintf("the mark is %q, want %q", got, want)
	}
	return ""
}

// relaunch recreates a Pod under its name, as a StatefulSet does. No garbage collector runs here, so that the barrier
// of the older Pod is there for certain.
func relaunch(t *testing.T, s *suite, p *process) {
	old := &corev1.Pod{}
	key := client.ObjectKey{Namespace: "start", Name: "web-bcdfg"}
	if err := s.Get(t.Context(), key, old); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	restored := podOf("start", key.Name)
	restored.Annotations[completed] = "true" // a backup has it
	before := len(p.writes.in("start"))
	s.create(t, restored)
	eventually(t, func() string { return keysAre(t, s, "start", key.Name, "p_0") })
	barrier := &corev1.ConfigMap{}
	if err := s.Get(t.Context(), client.ObjectKey{Namespace: "start", Name: "web-bcdfg-barrier"}, barrier); err != nil {
		t.Fatal(err)
	}
	owner := []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: key.Name, UID: restored.UID}}
	if diff := cmp.Diff(owner, barrier.OwnerReferences); diff != "" {
		t.Error(diff)
	}
	if state := annotatedAs(t, s, restored, "false"); state != "" {
		t.Error(state)
	}
	settle()
	if diff := cmp.Diff([]string{"PATCH configmaps/web-bcdfg-barrier 200"}, p.writes.in("start")[before:]); diff != "" {
		t.Error(diff)
	}
}

func gated(t *testing.T, s *suite, p *process) {
	pod := podOf("ready", "pool-x")
	pod.Annotations = nil
	pod.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "apps.kruise.io/v1alpha1", Kind: "CloneSet", Name: "pool", UID: "u", Controller: ptr.To(true),
	}}
	s.create(t, pod)
	other := pod.DeepCopy()
	other.Status.Conditions = []corev1.PodCondition{{Type: "InPlaceUpdateReady", Status: "False", Reason: "Kept"}}
	if err := s.Status().Patch(t.Context(), other, client.StrategicMergeFrom(pod)); err != nil {
		t.Fatal(err)
	}
	conditions := func() map[corev1.PodConditionType]string {
		current := &corev1.Pod{}
		if err := s.Get(t.Context(), client.ObjectKeyFromObject(pod), current); err != nil {
			t.Fatal(err)
		}
		all := map[corev1.PodConditionType]string{}
		for _, c := range current.Status.Conditions {
			all[c.Type] = string(c.Status) + c.Reason
		}
		return all
	}
	want := map[corev1.PodConditionType]string{"InPlaceUpdateReady": "FalseKept", "KruisePodReady": "True"}
	eventually(t, func() string { return cmp.Diff(want, conditions()) })
	// Another writer holds it unready, and many events come; nobody turns it on again.
	held := pod.DeepCopy()
	held.Status.Conditions = []corev1.PodCondition{{Type: "KruisePodReady", Status: "False"}}
	if err := s.Status().Patch(t.Context(), held, client.StrategicMergeFrom(pod)); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		labelled := held.DeepCopy()
		labelled.Labels = map[string]string{"n": strconv.Itoa(i)}
		if err := s.Patch(t.Context(), labelled, client.MergeFrom(held)); err != nil {
			t.Fatal(err)
		}
	}
	settle()
	want["KruisePodReady"] = "False"
	if diff := cmp.Diff(want, conditions()); diff != "" {
		t.Error(diff)
	}
	applied := slices.DeleteFunc(p.writes.in("ready"), func(line string) bool { return strings.HasSuffix(line, "409") })
	if diff := cmp.Diff([]string{"PATCH pods/pool-x/status 200"}, applied); diff != "" {
		t.Error(diff)
	}
}

// replaced lets reconcilers see a Pod that has been replaced by one of the same name.
func replaced(t *testing.T, s *suite) {
	now := podOf("races", "db-0")
	now.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "KruisePodReady"}}
	s.create(t, now.DeepCopy())
	eventually(t, func() string { return keysAre(t, s, "races", "db-0", "p_0") })
	current := func() *corev1.Pod {
		pod := &corev1.Pod{}
		if err := s.Get(t.Context(), client.ObjectKeyFromObject(now), pod); err != nil {
			t.Fatal(err)
		}
		return pod
	}
	eventually(t, func() string {
		if len(current().Status.Conditions) == 1 {
			return ""
		}
		return "the Pod has no condition"
	})
	before := current()
	stale := before.DeepCopy()
	stale.UID, stale.ResourceVersion = "00000000-0000-0000-0000-000000000001", "1"
	stale.Status.Conditions = nil
	lagging := s.lagging(t, stale)
	request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(now)}
	look := func(what string, r reconcile.Reconciler) {
		t.Helper()
		if result, err := r.Reconcile(t.Context(), request); err != nil || result.RequeueAfter <= 0 || result.RequeueAfter > time.Second {
			t.Errorf("%s: result %+v, error %v; want a silent second look", what, result, err)
		}
	}
	look("taking over", launchpriority.New(lagging, s))
	for _, c := range stale.Spec.Containers {
		stale.Status.ContainerStatuses = append(stale.Status.ContainerStatuses, corev1.ContainerStatus{Name: c.Name, Ready: true})
	}
	look("marking", launchpriority.New(lagging, s))
	look("turning on the condition", podreadiness.New(lagging, clock.RealClock{}))
	if diff := cmp.Diff(before, current()); diff != "" {
		t.Errorf("the Pod that is there now was changed: %s", diff)
	}
	if state := keysAre(t, s, "races", "db-0", "p_0"); state != "" {
		t.Error(state)
	}
}

// outage is shorter than the leader may be silent, and ends with a Pod that the controllers have not seen.
func outage(t *testing.T, s *suite, p *process) {
	if err := s.KillProcess(cluster.APIServer); err != nil {
		t.Fatal(err)
	}
	time.Sleep(3 * time.Second)
	if err := s.StartProcess(t.Context(), cluster.APIServer); err != nil {
		t.Fatal(err)
	}
	if reason := notReady(t, p); reason != "" {
		t.Errorf("an outage of the API server ended readiness: %s", reason)
	}
	pod := podOf("start", "after")
	eventually(t, func() string {
		if err := s.Create(t.Context(), pod.DeepCopy()); err != nil {
			return err.Error()
		}
		return ""
	})
	eventually(t, func() string { return keysAre(t, s, "start", "after", "p_0") })
}

// lagging is a client that reads one Pod as it was.
func (s *suite) lagging(t *testing.T, stale *corev1.Pod) client.Client {
	t.Helper()
	watching, err := client.NewWithWatch(s.RESTConfig(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return interceptor.NewClient(watching, interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
			stale.DeepCopyInto(obj.(*corev1.Pod))
			return nil
		},
	})
}
