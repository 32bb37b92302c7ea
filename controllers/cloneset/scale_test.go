package cloneset

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// live are the names of the Pods that are not ending.
func (w *world) live() []string {
	w.Helper()
	var names []string
	for _, pod := range w.pods() {
		if pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodFailed {
			names = append(names, pod.Name)
		}
	}
	return names
}

// syncs reconciles n times, with the kubelet acting before each.
func (w *world) syncs(n int) {
	w.Helper()
	for range n {
		w.kubelet()
		w.sync()
	}
}

func label(key, value string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Labels[key] = value }
}

func podsToDelete(names ...string) setEdit {
	return func(s *v1beta1.CloneSet) { s.Spec.ScaleStrategy.PodsToDelete = names }
}

func TestANewPod(t *testing.T) {
	w := newWorld(t, replicas(1), func(s *v1beta1.CloneSet) {
		s.Spec.Template.Annotations = map[string]string{"note": "x"}
		s.Spec.Template.Finalizers = []string{"example.io/f"}
	})
	w.sync()
	pod := w.pods()[0]
	revision := w.revisions()[0].Name
	hash := strings.TrimPrefix(revision, "web-")
	want := map[string]string{
		"app": "web", "apps.kruise.io/cloneset-instance-id": "id001", "controller-revision-hash": revision, "pod-template-hash": hash,
		"lifecycle.apps.kruise.io/state": "PreparingNormal",
	}
	if diff := cmp.Diff(want, pod.Labels); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"note": "x", "lifecycle.apps.kruise.io/timestamp": "2026-01-01T00:00:02Z"}, pod.Annotations); diff != "" {
		t.Error(diff)
	}
	owner := []metav1.OwnerReference{{APIVersion: "apps.kruise.io/v1beta1", Kind: "CloneSet", Name: "web", UID: "set-uid", Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true)}}
	if diff := cmp.Diff(owner, pod.OwnerReferences); diff != "" {
		t.Error(diff)
	}
	gates := []corev1.PodReadinessGate{{ConditionType: "InPlaceUpdateReady"}}
	if diff := cmp.Diff(gates, pod.Spec.ReadinessGates); diff != "" || pod.Name != "web-id001" || pod.GenerateName != "web-" || pod.Finalizers[0] != "example.io/f" {
		t.Errorf("%s the Pod is %s of %s with %v", diff, pod.Name, pod.GenerateName, pod.Finalizers)
	}
}

func TestShortHash(t *testing.T) {
	w := newWorld(t)
	w.settle()
	w.reconciler.ShortHash = true
	w.edit(replicas(4))
	w.settle()
	long, short := 0, 0
	for _, pod := range w.pods() {
		if label := pod.Labels["controller-revision-hash"]; label == pod.Labels["pod-template-hash"] {
			short++
		} else if label == "web-"+pod.Labels["pod-template-hash"] {
			long++
		}
	}
	if long != 3 || short != 1 || w.set().Status.UpdatedReplicas != 4 {
		t.Errorf("%d long and %d short labels, %d updated; want the 3 old ones left alone", long, short, w.set().Status.UpdatedReplicas)
	}
}

// TestStreamingScaleOut creates the next Pod only when the last one has been ready for a minute.
func TestStreamingScaleOut(t *testing.T) {
	w := newWorld(t, replicas(3), func(s *v1beta1.CloneSet) {
		s.Spec.MinReadySeconds = 60
		s.Spec.ScaleStrategy.MaxUnavailable = amount("1")
	})
	w.syncs(4) // 8 seconds
	if n := len(w.live()); n != 1 {
		t.Fatalf("%d Pods, want 1", n)
	}
	w.kubelet()
	w.sync()
	result := w.sync()
	if result.RequeueAfter <= 0 || result.RequeueAfter > time.Minute {
		t.Errorf("it comes again in %s", result.RequeueAfter)
	}
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	w.syncs(3)
	if n := len(w.live()); n != 2 {
		t.Errorf("%d Pods after a minute, want 2", n)
	}
	limited := slices.ContainsFunc(w.eventsNow(), func(e string) bool { return strings.HasPrefix(e, "Warning ScaleUpLimited ") })
	if !limited {
		t.Error("no event says that scaling is limited")
	}
}

// TestNoPodIsMadeThatTheSelectorDoesNotMatch has a CloneSet that was stored while no webhook was there.
func TestNoPodIsMadeThatTheSelectorDoesNotMatch(t *testing.T) {
	w := newWorld(t, func(s *cloneSet) { s.Spec.Template.Labels = map[string]string{"app": "other"} })
	if _, err := w.reconcile(); err == nil || !strings.Contains(err.Error(), "does not match the labels of the template") {
		t.Errorf("the error is %v", err)
	}
	if pods := w.pods(); len(pods) != 0 {
		t.Errorf("%d Pods were made", len(pods))
	}
	status := w.set().Status
	if c := conditionOf(&status, "FailedScale"); c == nil || c.Status != corev1.ConditionTrue {
		t.Errorf("the condition is %+v", c)
	}
}

// TestNamesThatNoLabelHolds are of CloneSets that nothing forbids. Neither is a Pod tried to be made of them that the API server refuses,
// nor one deleted in whose place none can be made.
func TestNamesThatNoLabelHolds(t *testing.T) {
	long := func(s *cloneSet) { s.Name = strings.Repeat("x", 60) }
	w := newWorld(t, long)
	const cure = "turn on the feature gate CloneSetShortHash, or give the CloneSet a shorter name"
	if _, err := w.reconcile(); err == nil || !strings.Contains(err.Error(), cure) {
		t.Errorf("the error is %v", err)
	}
	w.reconciler.ShortHash = true
	w.settle()
	w.reconciler.ShortHash = false
	for how, event := range map[v1beta1.PodUpdateStrategyType]string{
		v1beta1.RecreatePodUpdateStrategyType:          "FailedUpdatePodReCreate",
		v1beta1.InPlaceIfPossiblePodUpdateStrategyType: "FailedUpdatePodInPlace",
	} {
		w.edit(image("web:2"), policy(how))
		w.eventsNow()
		before := w.live()
		w.writes = nil
		if _, err := w.reconcile(); err == nil || !strings.Contains(err.Error(), cure) {
			t.Errorf("of an update the error is %v", err)
		}
		if diff := cmp.Diff(before, w.live()); diff != "" || len(before) != 3 || slices.Contains(w.writes, "status Pod") || slices.Contains(w.writes, "patch Pod") {
			t.Errorf("%s of %v, the writes are %v", diff, before, w.writes)
		}
		if events := w.eventsNow(); !slices.ContainsFunc(events, func(e string) bool { return strings.HasPrefix(e, "Warning "+event+" updating Pod ") }) {
			t.Errorf("no event %s: %v", event, events)
		}
		if !w.reconciler.memory.trusts(w.key) {
			t.Error("an error of the plan costs the trust in the cache")
		}
	}
}

// Of two revisions one may be such that no Pod can be made at it; Pods at the other one are made.
func TestPodsThatCanBeMadeComeFirst(t *testing.T) {
	old := at(t, "web:1", 1)
	old.Data.Raw = bytes.ReplaceAll(old.Data.Raw, []byte(`"app":"web"`), []byte(`"app":"other"`))
	set := newSet(image("web:2"), replicas(4), rolling(func(r *v1beta1.RollingUpdateCloneSetStrategy) { r.Partition = amount("2") }))
	set.Status.CurrentRevision = old.Name
	made := 0
	newID := func() string { made++; return fmt.Sprintf("id%03d", made) }
	plan, err := makePlan(set, &snapshot{revisions: []*appsv1.ControllerRevision{old}}, start, Settings{}, newID)
	if err != nil {
		t.Fatal(err)
	}
	var fail []bool
	for _, made := range plan.Scale.Create {
		fail = append(fail, made.Err != nil)
	}
	if !slices.Equal(fail, []bool{false, false, true, true}) {
		t.Errorf("which cannot be made: %v", fail)
	}
}

func TestPodsToDelete(t *testing.T) {
	w := newWorld(t, replicas(4))
	w.settle()
	w.edit(podsToDelete("web-id002", "web-id003", "never-there"))
	w.sync()
	if got := w.live(); len(got) != 3 || slices.Contains(got, "web-id002") && slices.Contains(got, "web-id003") {
		t.Errorf("maxUnavailable 20%% of 4 lets one of two go at once; Pods are %v", got)
	}
	w.settle()
	got := w.live()
	if len(got) != 4 || slices.Contains(got, "web-id002") || slices.Contains(got, "web-id003") {
		t.Errorf("without fewer replicas they are replaced; Pods are %v", got)
	}
	if left := w.set().Spec.ScaleStrategy.PodsToDelete; len(left) != 0 {
		t.Errorf("podsToDelete keeps %v", left)
	}
	w.edit(podsToDelete("web-id001"), replicas(3))
	w.settle()
	if got := w.live(); len(got) != 3 || slices.Contains(got, "web-id001") {
		t.Errorf("with fewer replicas it is the one to go; Pods are %v", got)
	}
}

func TestSpecifiedDelete(t *testing.T) {
	w := newWorld(t, replicas(5), limits("0", "0", "1"))
	w.settle()
	w.editPod("web-id001", label("apps.kruise.io/specified-delete", "false"))
	w.sync()
	if got := w.live(); len(got) != 6 {
		t.Fatalf("a surge Pod comes first; Pods are %v", got)
	}
	w.settle()
	if got := w.live(); len(got) != 5 || slices.Contains(got, "web-id001") {
		t.Errorf("Pods are %v", got)
	}
	w.editPod("web-id002", func(p *corev1.Pod) {
		p.Labels["apps.kruise.io/specified-delete"] = "true"
		p.Status.Phase = corev1.PodPending
	})
	w.edit(limits("0", "1", "0"))
	w.editPod("web-id003", label("apps.kruise.io/specified-delete", "true"))
	w.sync()
	if got := w.live(); len(got) != 4 || slices.Contains(got, "web-id002") {
		t.Errorf("one that is not ready goes first, and is the one that may be missing; Pods are %v", got)
	}
	w.edit(limits("0", "2", "0"))
	w.sync()
	w.sync()
	if got := w.live(); slices.Contains(got, "web-id003") {
		t.Errorf("where two may be missing, both go; Pods are %v", got)
	}
}

func finalizer(s *v1beta1.CloneSet) *v1beta1.LifecycleHook {
	s.Spec.Template.Finalizers = []string{"example.io/hook"}
	return &v1beta1.LifecycleHook{FinalizersHandler: []string{"example.io/hook"}}
}

func unhook(pod *corev1.Pod) { pod.Finalizers = nil }

func preDelete(s *v1beta1.CloneSet) { s.Spec.Lifecycle = &v1beta1.Lifecycle{PreDelete: finalizer(s)} }

// TestPlainDeleteAndAskedDelete deletes one Pod by hand and one by request, under the same hooks.
func TestPlainDeleteAndAskedDelete(t *testing.T) {
	w := newWorld(t, inPlace, func(s *v1beta1.CloneSet) {
		s.Spec.Lifecycle = &v1beta1.Lifecycle{PreDelete: finalizer(s), PreNormal: finalizer(s), InPlaceUpdate: finalizer(s)}
	})
	w.settle()
	status := w.set().Status
	if status.AvailableReplicas != 3 || status.UpdatedReplicas != 3 {
		t.Fatalf("the status is %+v", status)
	}
	x := w.pods()[0]
	w.must(w.Delete(t.Context(), x))
	w.settle()
	if len(w.pods()) != 4 || len(w.live()) != 3 || w.set().Status.Replicas != 3 {
		t.Fatalf("Pods are %v, the status %+v", w.live(), w.set().Status)
	}
	y := w.live()[0]
	w.editPod(y, label("apps.kruise.io/specified-delete", "true"))
	w.settle()
	for _, pod := range w.pods() {
		if state := pod.Labels["lifecycle.apps.kruise.io/state"]; pod.Name == y && (state != "PreparingDelete" || pod.DeletionTimestamp != nil) || pod.Name != y && state != "Normal" {
			t.Errorf("%s is in %s", pod.Name, state)
		}
	}
	status = w.set().Status
	if len(w.pods()) != 4 || status.Replicas != 3 || status.ReadyReplicas != 3 || status.AvailableReplicas != 2 {
		t.Fatalf("%d Pods, the status is %+v", len(w.pods()), status)
	}
	w.editPod(y, unhook)
	w.settle()
	if slices.Contains(w.live(), y) || len(w.live()) != 3 {
		t.Fatalf("Pods are %v", w.live())
	}
	w.editPod(x.Name, unhook)
	w.settle()
	status = w.set().Status
	if len(w.pods()) != 3 || status.Replicas != 3 || status.ReadyReplicas != 3 || status.AvailableReplicas != 3 {
		t.Errorf("%d Pods, the status is %+v", len(w.pods()), status)
	}
	count := map[string]int{}
	for _, e := range w.eventsNow() {
		count[strings.Fields(e)[1]]++
	}
	if diff := cmp.Diff(map[string]int{"SuccessfulCreate": 5, "SuccessfulDelete": 1}, count); diff != "" {
		t.Error(diff)
	}
}

func TestPreparedDeletionIsTakenBack(t *testing.T) {
	for name, tt := range map[string]struct {
		unready bool
		want    string
	}{"plain": {false, "Normal"}, "made unready": {true, "PreparingDelete"}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, replicas(3), preDelete, func(s *v1beta1.CloneSet) { s.Spec.Lifecycle.PreDelete.MarkPodNotReady = tt.unready })
			w.settle()
			w.edit(replicas(2))
			w.settle()
			prepared := w.inState("PreparingDelete")
			if len(prepared) != 1 || len(w.live()) != 3 {
				t.Fatalf("in preparation are %v of %v", prepared, w.live())
			}
			w.edit(replicas(3))
			w.settle()
			if got := w.inState(tt.want); !slices.Contains(got, prepared[0]) {
				t.Errorf("%s are %v, want %s among them", tt.want, got, prepared[0])
			}
		})
	}
}

func (w *world) inState(state string) []string {
	w.Helper()
	var names []string
	for _, pod := range w.pods() {
		if pod.Labels["lifecycle.apps.kruise.io/state"] == state {
			names = append(names, pod.Name)
		}
	}
	return names
}

func TestExcludePreparingDelete(t *testing.T) {
	for name, tt := range map[string]struct {
		edit setEdit
		want int
	}{
		"counted":  {func(*v1beta1.CloneSet) {}, 3},
		"by field": {func(s *v1beta1.CloneSet) { s.Spec.ScaleStrategy.ExcludePreparingDelete = true }, 4},
		"by label": {func(s *v1beta1.CloneSet) {
			s.Labels = map[string]string{"apps.kruise.io/cloneset-scaling-exclude-preparing-delete": "true"}
		}, 4},
	} {
		w := newWorld(t, preDelete, tt.edit)
		w.settle()
		w.editPod("web-id001", label("apps.kruise.io/specified-delete", "true"))
		w.settle()
		if got := len(w.live()); got != tt.want || int(w.set().Status.Replicas) != tt.want {
			t.Errorf("%s: %d Pods, want %d", name, got, tt.want)
		}
	}
}

// TestAReleasedHookIsSeenWhileScalingIsThrottled has a Pod whose deletion holds the only quota for new ones.
func TestAReleasedHookIsSeenWhileScalingIsThrottled(t *testing.T) {
	w := newWorld(t, preDelete, func(s *v1beta1.CloneSet) { s.Spec.ScaleStrategy.MaxUnavailable = amount("1") })
	w.settle()
	w.editPod("web-id001", label("apps.kruise.io/specified-delete", "true"))
	w.settle()
	w.edit(replicas(4))
	w.settle()
	w.editPod("web-id001", unhook)
	w.settle()
	if got := w.live(); len(got) != 4 || slices.Contains(got, "web-id001") {
		t.Errorf("Pods are %v", got)
	}
}

func TestPodsThatLeaveAndPodsThatFail(t *testing.T) {
	w := newWorld(t)
	w.settle()
	w.editPod("web-id001", label("app", "mine"))
	w.editPod("web-id002", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
	w.settle()
	pods := w.pods()
	if len(pods) != 5 || len(pods[0].OwnerReferences) != 0 || len(pods[1].OwnerReferences) != 1 || w.set().Status.Replicas != 3 {
		t.Errorf("%d Pods, the released one is owned by %v; status %+v", len(pods), pods[0].OwnerReferences, w.set().Status)
	}
}

func TestPartitionDecidesTheRevisionOfNewPods(t *testing.T) {
	w := newWorld(t, replicas(4))
	w.settle()
	w.edit(image("web:2"), limits("50%", "20%", "0"))
	w.settle()
	if diff := cmp.Diff(map[string]int{"web:1": 2, "web:2": 2}, w.byImage()); diff != "" {
		t.Fatal(diff)
	}
	w.edit(replicas(8))
	w.settle()
	if diff := cmp.Diff(map[string]int{"web:1": 4, "web:2": 4}, w.byImage()); diff != "" {
		t.Error(diff)
	}
	w.edit(replicas(3), limits("2", "100%", "0"))
	w.settle()
	if diff := cmp.Diff(map[string]int{"web:1": 2, "web:2": 1}, w.byImage()); diff != "" {
		t.Error(diff)
	}
}

// refused lets no Pod be created, as a quota does.
func refused(verb string, obj client.Object) error {
	if _, isPod := obj.(*corev1.Pod); isPod && verb == "create" {
		return apierrors.NewForbidden(corev1.Resource("pods"), obj.GetName(), errors.New("exceeded quota"))
	}
	return nil
}

func TestUpdatesGoOnWhileScalingFails(t *testing.T) {
	w := newWorld(t, inPlace, limits("0", "100%", "0"))
	w.settle()
	w.fail = refused
	w.edit(image("web:2"), replicas(5))
	for range 20 {
		w.kubelet()
		w.clock.SetTime(w.clock.Now().Add(2 * time.Second))
		if _, err := w.reconcile(); err == nil {
			t.Fatal("the quota is no error")
		}
	}
	status := w.set().Status
	if w.byImage()["web:2"] != 3 || conditionOf(&status, "FailedScale") == nil || !strings.Contains(conditionOf(&status, "FailedScale").Message, "exceeded quota") {
		t.Errorf("images are %v, conditions %+v", w.byImage(), status.Conditions)
	}
	tries := 0
	for _, write := range w.writes {
		if write == "create Pod" {
			tries++
		}
	}
	if tries != 3+20 {
		t.Errorf("%d attempts in 20 syncs, want one in each", tries-3)
	}
	w.fail = nil
	w.settle()
	status = w.set().Status
	if c := conditionOf(&status, "FailedScale"); c == nil || c.Status != corev1.ConditionFalse || c.Message != "" {
		t.Errorf("after success the condition is %+v", c)
	}
}

func TestHistory(t *testing.T) {
	w := newWorld(t, inPlace, limits("0", "100%", "0"), func(s *v1beta1.CloneSet) { s.Spec.RevisionHistoryLimit = ptr.To[int32](1) })
	for _, to := range []string{"web:1", "web:2", "web:3", "web:4"} {
		w.edit(image(to))
		w.settle()
	}
	revisions := w.revisions()
	if len(revisions) != 2 {
		t.Fatalf("%d revisions, want the present one and one more", len(revisions))
	}
	w.edit(image("web:3"))
	w.settle()
	revisions = w.revisions()
	slices.SortFunc(revisions, func(a, b appsv1.ControllerRevision) int { return int(a.Revision - b.Revision) })
	if len(revisions) != 2 || revisions[1].Revision != 5 || w.set().Status.UpdateRevision != revisions[1].Name || w.byImage()["web:3"] != 3 {
		t.Errorf("after the rollback revisions are %d, the newest %s with number %d", len(revisions), revisions[1].Name, revisions[1].Revision)
	}
}

func TestACollisionOfNames(t *testing.T) {
	w := newWorld(t)
	w.sync()
	name := w.revisions()[0].Name
	taken := w.revisions()[0]
	w2 := newWorld(t)
	taken.ResourceVersion, taken.OwnerReferences = "", nil
	taken.Data.Raw = []byte(`{"spec":{"template":{"spec":{"containers":[]}}}}`)
	w2.must(w2.Create(t.Context(), &taken))
	w2.settle()
	status := w2.set().Status
	if ptr.Deref(status.CollisionCount, 0) != 1 || status.UpdateRevision == name || status.AvailableReplicas != 3 {
		t.Errorf("the status is %+v", status)
	}
}

func TestADeletedCloneSetIsOnlyReported(t *testing.T) {
	w := newWorld(t, func(s *v1beta1.CloneSet) { s.Finalizers = []string{"example.io/wait"} })
	w.settle()
	w.must(w.Delete(t.Context(), w.set()))
	w.editPod("web-id001", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
	w.writes = nil
	w.sync()
	if diff := cmp.Diff([]string{"status CloneSet"}, w.writes); diff != "" || w.set().Status.Replicas != 2 {
		t.Errorf("%s status %+v", diff, w.set().Status)
	}
}
