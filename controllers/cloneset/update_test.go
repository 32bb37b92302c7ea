package cloneset

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// trace is old/new/available/total of the Pods that are not ending; old and new are of revision labels.
func (w *world) trace() string {
	w.Helper()
	updated, ready, total := 0, 0, 0
	revision := ""
	for _, r := range w.revisions() {
		if r.Revision == 2 {
			revision = r.Name
		}
	}
	for _, pod := range w.pods() {
		if pod.DeletionTimestamp != nil {
			continue
		}
		total++
		if pod.Labels["controller-revision-hash"] == revision {
			updated++
		}
		if pod.Labels["lifecycle.apps.kruise.io/state"] == "Normal" && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		}) {
			ready++
		}
	}
	return fmt.Sprintf("%d/%d/%d/%d", total-updated, updated, ready, total)
}

// rollout is the traces of an update to web:2, each once, with the kubelet acting between syncs.
func (w *world) rollout(edits ...setEdit) []string {
	w.Helper()
	w.edit(append(edits, image("web:2"))...)
	var all []string
	for range 60 {
		before := len(w.writes)
		w.sync()
		if got := w.trace(); len(all) == 0 || all[len(all)-1] != got {
			all = append(all, got)
		}
		if len(w.writes) == before {
			return all
		}
		w.kubelet()
		if got := w.trace(); all[len(all)-1] != got {
			all = append(all, got)
		}
	}
	w.Fatalf("it never settles: %v", all)
	return nil
}

// TestTraces are those of cloneset.md §4.4, with the steps in which Pods become available between them.
func TestTraces(t *testing.T) {
	for name, tt := range map[string]struct {
		replicas int32
		policy   v1beta1.PodUpdateStrategyType
		limits   setEdit
		want     string
	}{
		"10,0,25%,0 in place":     {10, "InPlaceIfPossible", limits("0", "25%", "0"), "7/3/7/10 7/3/10/10 4/6/7/10 4/6/10/10 1/9/7/10 1/9/10/10 0/10/9/10 0/10/10/10"},
		"10,0,25%,0 recreate":     {10, "ReCreate", limits("0", "25%", "0"), "7/0/7/7 7/3/7/10 7/3/10/10 4/3/7/7 4/6/7/10 4/6/10/10 1/6/7/7 1/9/7/10 1/9/10/10 0/9/9/9 0/10/9/10 0/10/10/10"},
		"5,3,1,1 in place":        {5, "InPlaceIfPossible", limits("3", "1", "1"), "5/1/5/6 4/2/4/6 4/2/5/6 3/2/4/5 3/2/5/5"},
		"4,0,0,1 in place":        {4, "InPlaceIfPossible", limits("0", "0", "1"), "4/1/4/5 4/1/5/5 3/2/4/5 3/2/5/5 2/3/4/5 2/3/5/5 1/4/4/5 1/4/5/5 0/4/4/4"},
		"5,3,1,1 recreate":        {5, "ReCreate", limits("3", "1", "1"), "5/1/5/6 4/1/4/5 4/1/5/5 4/2/5/6 3/2/4/5 3/2/5/5"},
		"10,4,25%,25% in place":   {10, "InPlaceIfPossible", limits("4", "25%", "25%"), "10/3/10/13 8/5/8/13 8/5/11/13 6/5/9/11 6/5/11/11 5/6/10/11 4/6/9/10 4/6/10/10"},
		"6,50%,2,50% recreate":    {6, "ReCreate", limits("50%", "2", "50%"), "6/3/6/9 4/3/4/7 4/3/7/7 3/3/6/6"},
		"3,34%,1,0 in place":      {3, "InPlaceIfPossible", limits("34%", "1", "0"), "2/1/2/3 2/1/3/3"},
		"8,6,0,50% recreate":      {8, "ReCreate", limits("6", "0", "50%"), "8/2/8/10 8/2/10/10 6/2/8/8"},
		"partition keeps all":     {3, "ReCreate", limits("100%", "1", "1"), "3/0/3/3"},
		"maxUnavailable 0 of 20%": {3, "InPlaceIfPossible", limits("0", "20%", "0"), "2/1/2/3 2/1/3/3 1/2/2/3 1/2/3/3 0/3/2/3 0/3/3/3"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, replicas(tt.replicas), policy(tt.policy))
			w.settle()
			got := strings.Join(w.rollout(tt.limits), " ")
			if got != tt.want {
				t.Errorf("it goes\n%s, want\n%s", got, tt.want)
			}
		})
	}
}

func TestABrokenImageStopsTheRollout(t *testing.T) {
	w := newWorld(t, replicas(6), inPlace, limits("0", "2", "0"))
	w.settle()
	w.edit(image("broken:1"))
	w.settle()
	if diff := cmp.Diff(map[string]int{"web:1": 4, "broken:1": 2}, w.byImage()); diff != "" {
		t.Fatal(diff)
	}
	w.edit(image("web:3"))
	w.settle()
	if diff := cmp.Diff(map[string]int{"web:3": 6}, w.byImage()); diff != "" {
		t.Errorf("a new image mends them: %s", diff)
	}
}

func TestBrokenOldPodsGoFirst(t *testing.T) {
	w := newWorld(t, replicas(5), inPlace, limits("0", "2", "0"), image("broken:1"))
	w.settle()
	w.edit(image("web:2"))
	w.kubelet()
	w.sync()
	if got := w.byImage()["web:2"]; got != 2 {
		t.Errorf("%d of 5 broken Pods are updated at once, want 2: a broken new image must not take them all", got)
	}
}

func TestPausedAndOnDelete(t *testing.T) {
	for name, hold := range map[string]setEdit{
		"paused":    rolling(func(r *v1beta1.RollingUpdateCloneSetStrategy) { r.Paused = true; r.MaxSurge = amount("2") }),
		"on delete": func(s *cloneSet) { s.Spec.UpdateStrategy = v1beta1.CloneSetUpdateStrategy{Type: "OnDelete"} },
		"on delete with surge": func(s *cloneSet) {
			limits("0", "1", "2")(s)
			s.Spec.UpdateStrategy.Type = "OnDelete"
		},
	} {
		w := newWorld(t, hold)
		w.settle()
		if got := w.set().Status.AvailableReplicas; got != 3 {
			t.Errorf("%s: %d new Pods become available", name, got)
		}
		w.edit(image("web:2"))
		w.settle()
		if diff := cmp.Diff(map[string]int{"web:1": 3}, w.byImage()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		w.must(w.Delete(t.Context(), w.pods()[0]))
		w.settle()
		if diff := cmp.Diff(map[string]int{"web:1": 2, "web:2": 1}, w.byImage()); diff != "" {
			t.Errorf("%s, one deleted: %s", name, diff)
		}
		w.editPod(w.pods()[0].Name, label("apps.kruise.io/specified-delete", "true"))
		w.settle()
		if got := w.byImage()["web:2"]; got < 1 || len(w.live()) != 3 || slices.ContainsFunc(w.pods(), func(p *corev1.Pod) bool { return p.Labels["apps.kruise.io/specified-delete"] != "" }) {
			t.Errorf("%s: a Pod asked to be deleted stays; images are %v", name, w.byImage())
		}
	}
}

func resources(s *cloneSet) {
	s.Spec.Template.Spec.TerminationGracePeriodSeconds = ptr.To[int64](5)
}

// TestEnvFromMetadataWithoutADaemon has Pods of which no daemon reports, and then one that does.
func TestEnvFromMetadataWithoutADaemon(t *testing.T) {
	tier := func(value string) setEdit {
		return func(s *cloneSet) {
			s.Spec.Template.Labels["tier"] = value
			s.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "TIER", ValueFrom: &corev1.EnvVarSource{
				FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['tier']"},
			}}}
		}
	}
	w := newWorld(t, inPlace, tier("front"))
	w.reconciler.InPlace.EnvFromMetadata = true
	w.settle()
	before := w.live()
	w.edit(tier("back"))
	w.settle()
	for _, name := range w.live() {
		if slices.Contains(before, name) {
			t.Errorf("%s was not recreated", name)
		}
	}
	before = w.live()
	w.edit(tier("front"), policy(v1beta1.InPlaceOnlyPodUpdateStrategyType))
	w.clock.SetTime(w.clock.Now().Add(2 * time.Second))
	if _, err := w.reconcile(); err == nil || !strings.Contains(err.Error(), "no daemon of the Pod's node reports") {
		t.Errorf("with InPlaceOnly the error is %v", err)
	}
	if !slices.Equal(before, w.live()) {
		t.Error("with InPlaceOnly Pods were recreated")
	}
}

func TestWhatCannotBeDoneInPlace(t *testing.T) {
	w := newWorld(t, inPlace)
	w.settle()
	before := w.live()
	w.edit(resources)
	w.settle()
	for _, name := range w.live() {
		if slices.Contains(before, name) {
			t.Errorf("%s was not recreated", name)
		}
	}
	w.edit(image("web:2"), policy(v1beta1.InPlaceOnlyPodUpdateStrategyType))
	w.settle()
	before = w.live()
	w.eventsNow()
	w.edit(func(s *cloneSet) { s.Spec.Template.Spec.TerminationGracePeriodSeconds = ptr.To[int64](6) })
	w.clock.SetTime(w.clock.Now().Add(2 * time.Second))
	if _, err := w.reconcile(); err == nil || !strings.Contains(err.Error(), "spec.terminationGracePeriodSeconds differs") {
		t.Errorf("with InPlaceOnly the error is %v", err)
	}
	status := w.set().Status
	if c := conditionOf(&status, "FailedUpdate"); c == nil || c.Status != corev1.ConditionTrue || !slices.Equal(before, w.live()) {
		t.Errorf("the condition is %+v", c)
	}
	if events := w.eventsNow(); len(events) != 1 || !strings.HasPrefix(events[0], "Warning FailedUpdatePodInPlace ") {
		t.Errorf("events are %v", events)
	}
	w.edit(func(s *cloneSet) { s.Spec.Template.Spec.TerminationGracePeriodSeconds = ptr.To[int64](5) })
	w.settle()
	status = w.set().Status
	if c := conditionOf(&status, "FailedUpdate"); c == nil || c.Status != corev1.ConditionFalse {
		t.Errorf("after the revert the condition is %+v", c)
	}
}

func inPlaceHook(unready bool) setEdit {
	return func(s *cloneSet) {
		hook := finalizer(s)
		hook.MarkPodNotReady = unready
		s.Spec.Lifecycle = &v1beta1.Lifecycle{InPlaceUpdate: hook}
	}
}

func hooked(pod *corev1.Pod) { pod.Finalizers = []string{"example.io/hook"} }

// TestInPlaceHook plays the operator of the hook: it lets go of a Pod before the update, and takes it back after.
func TestInPlaceHook(t *testing.T) {
	w := newWorld(t, replicas(1), inPlace, inPlaceHook(false))
	w.settle()
	w.edit(image("web:2"))
	w.settle()
	if got := w.inState("PreparingUpdate"); len(got) != 1 || w.byImage()["web:1"] != 1 {
		t.Fatalf("before consent: in preparation %v, images %v", got, w.byImage())
	}
	w.editPod("web-id001", unhook)
	w.settle()
	status := w.set().Status
	if got := w.inState("Updated"); len(got) != 1 || w.byImage()["web:2"] != 1 || status.ReadyReplicas != 1 || status.AvailableReplicas != 0 {
		t.Fatalf("after the update: updated %v, images %v, status %+v", got, w.byImage(), status)
	}
	// A newer template asks for consent again.
	w.edit(image("web:3"))
	w.settle()
	pod := w.pods()[0]
	if got := w.inState("PreparingUpdate"); len(got) != 1 || len(pod.Finalizers) != 1 || pod.Spec.Containers[0].Image != "web:2" {
		t.Fatalf("before the second consent: in preparation %v with %v", got, pod.Finalizers)
	}
	w.editPod("web-id001", unhook)
	w.settle()
	w.editPod("web-id001", hooked)
	w.settle()
	if got := w.inState("Normal"); len(got) != 1 || w.byImage()["web:3"] != 1 || w.set().Status.AvailableReplicas != 1 {
		t.Errorf("in the end: normal %v, images %v", got, w.byImage())
	}
}

func TestAPreparedPodIsReleasedByARollback(t *testing.T) {
	for name, back := range map[string]setEdit{
		"template": image("web:1"), "partition": limits("100%", "1", "0"),
		"strategy": func(s *cloneSet) { s.Spec.UpdateStrategy.Type = "OnDelete" },
	} {
		w := newWorld(t, replicas(1), inPlace, limits("0", "1", "0"), inPlaceHook(false))
		w.settle()
		w.edit(image("web:2"))
		w.settle()
		w.edit(back)
		w.settle()
		if got := w.inState("Normal"); len(got) != 1 || w.byImage()["web:1"] != 1 {
			t.Errorf("%s: normal are %v, images %v", name, got, w.byImage())
		}
	}
}

// TestADoomedPodAndAPreparedOneDoNotWaitForEachOther has the one that may be unavailable be a Pod whose update is prepared,
// and somebody ask for the deletion of one that is updated.
func TestADoomedPodAndAPreparedOneDoNotWaitForEachOther(t *testing.T) {
	w := newWorld(t, replicas(3), inPlace, limits("0", "1", "0"), inPlaceHook(false))
	w.settle()
	w.edit(image("web:2"))
	w.settle()
	w.editPod("web-id001", unhook)
	w.settle()
	w.editPod("web-id001", hooked)
	w.settle()
	if got := w.inState("PreparingUpdate"); !slices.Equal(got, []string{"web-id002"}) {
		t.Fatalf("in preparation are %v", got)
	}
	w.edit(func(s *cloneSet) { s.Spec.ScaleStrategy.PodsToDelete = []string{"web-id001"} })
	w.editPod("web-id002", unhook)
	w.settle()
	if got := w.inState("Updated"); !slices.Equal(got, []string{"web-id002"}) {
		t.Fatalf("updated are %v", got)
	}
	w.editPod("web-id002", hooked)
	w.settle()
	if got := w.live(); slices.Contains(got, "web-id001") {
		t.Errorf("Pods are %v, web-id001 should be deleted", got)
	}
}

func kruisePodReady(pod *corev1.Pod) {
	pod.Spec.ReadinessGates = append(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: "KruisePodReady"})
}

func TestAHookThatMakesUnready(t *testing.T) {
	w := newWorld(t, replicas(1), inPlace, inPlaceHook(true))
	w.sync()
	w.editPod("web-id001", kruisePodReady) // as the webhook does
	w.settle()
	if w.set().Status.ReadyReplicas != 1 {
		t.Fatalf("the status is %+v", w.set().Status)
	}
	w.edit(image("web:2"))
	w.settle()
	message := func() string {
		for _, c := range w.pods()[0].Status.Conditions {
			if c.Type == "KruisePodReady" {
				return string(c.Status) + " " + c.Message
			}
		}
		return ""
	}
	if got := message(); got != `False [{"userAgent":"Lifecycle","key":"preUpdateHook"}]` || w.set().Status.ReadyReplicas != 0 {
		t.Fatalf("while it prepares: %s, status %+v", got, w.set().Status)
	}
	w.editPod("web-id001", unhook)
	w.settle()
	if got := message(); got != "True []" || w.set().Status.ReadyReplicas != 1 || len(w.inState("Updated")) != 1 {
		t.Errorf("after the update: %s, %v", got, w.inState("Updated"))
	}
	// The hook goes from the spec while a Pod is held for it.
	w.editPod("web-id001", hooked)
	w.settle()
	w.edit(image("web:3"))
	w.settle()
	w.edit(image("web:2"), func(s *cloneSet) { s.Spec.Lifecycle = nil })
	w.settle()
	if got := message(); got != "True []" || w.set().Status.AvailableReplicas != 1 {
		t.Errorf("without the hook: %s, status %+v", got, w.set().Status)
	}
}

func TestGracePeriod(t *testing.T) {
	w := newWorld(t, replicas(1), inPlace, rolling(func(r *v1beta1.RollingUpdateCloneSetStrategy) {
		r.InPlaceUpdateStrategy = &v1beta1.InPlaceUpdateStrategy{GracePeriodSeconds: 30}
	}))
	w.settle()
	w.edit(image("web:2"))
	w.sync()
	w.kubelet()
	result := w.sync()
	status := w.set().Status
	if result.RequeueAfter <= 0 || result.RequeueAfter > 30*time.Second || status.ReadyReplicas != 0 || status.UpdatedReplicas != 1 || w.byImage()["web:1"] != 1 {
		t.Fatalf("in grace: %+v, status %+v, images %v", result, status, w.byImage())
	}
	w.clock.SetTime(w.clock.Now().Add(30 * time.Second))
	w.settle()
	if w.byImage()["web:2"] != 1 || w.set().Status.AvailableReplicas != 1 {
		t.Errorf("after grace images are %v", w.byImage())
	}
}

func TestRaisingThePartition(t *testing.T) {
	for back, want := range map[bool]map[string]int{false: {"web:1": 1, "web:2": 3}, true: {"web:1": 3, "web:2": 1}} {
		w := newWorld(t, replicas(4), inPlace, limits("0", "1", "0"))
		w.reconciler.PartitionRollback = back
		w.settle()
		w.edit(image("web:2"), limits("1", "1", "0"))
		w.settle()
		w.edit(limits("3", "1", "0"))
		w.settle()
		if diff := cmp.Diff(want, w.byImage()); diff != "" {
			t.Errorf("rollback %v: %s", back, diff)
		}
	}
}

func TestRollbackHasAHookToo(t *testing.T) {
	w := newWorld(t, replicas(2), inPlace, limits("0", "2", "0"), inPlaceHook(false))
	w.reconciler.PartitionRollback = true
	w.settle()
	w.edit(image("web:2"), limits("1", "2", "0"))
	w.settle()
	name := w.inState("PreparingUpdate")[0]
	w.editPod(name, unhook)
	w.settle()
	w.editPod(name, hooked)
	w.settle()
	w.edit(limits("2", "2", "0"))
	w.settle()
	if got := w.inState("PreparingUpdate"); !slices.Equal(got, []string{name}) {
		t.Fatalf("asked to go back, %v prepare, want %s", got, name)
	}
	w.editPod(name, unhook)
	w.settle()
	w.editPod(name, hooked)
	w.settle()
	if diff := cmp.Diff(map[string]int{"web:1": 2}, w.byImage()); diff != "" || len(w.inState("Normal")) != 2 {
		t.Error(diff, w.inState("Normal"))
	}
}

func TestClaimTemplatesRecreateBehindTheirGate(t *testing.T) {
	for gate, sameNames := range map[bool]bool{false: true, true: false} {
		w := newWorld(t, inPlace, claims("1Gi"))
		w.reconciler.RecreateForClaims = gate
		w.settle()
		before := w.live()
		w.edit(claims("2Gi"))
		w.settle()
		if !slices.Equal(before, w.live()) {
			t.Error("claim templates alone change Pods")
		}
		w.edit(image("web:2"))
		w.settle()
		if got := slices.Equal(before, w.live()); got != sameNames {
			t.Errorf("gate %v: Pods were %v and are %v", gate, before, w.live())
		}
	}
}

func TestPriorityAndScatter(t *testing.T) {
	w := newWorld(t, replicas(3), inPlace, limits("0", "1", "0"), rolling(func(r *v1beta1.RollingUpdateCloneSetStrategy) {
		r.PriorityStrategy = &v1beta1.UpdatePriorityStrategy{OrderPriority: []v1beta1.UpdatePriorityOrderTerm{{OrderedKey: "turn"}}}
	}))
	w.settle()
	w.editPod("web-id002", label("turn", "2"))
	w.editPod("web-id003", label("turn", "1"))
	w.edit(image("web:2"))
	var order []string
	for range 12 {
		w.kubelet()
		w.sync()
		for _, pod := range w.pods() {
			if pod.Spec.Containers[0].Image == "web:2" && !slices.Contains(order, pod.Name) {
				order = append(order, pod.Name)
			}
		}
	}
	if diff := cmp.Diff([]string{"web-id002", "web-id003", "web-id001"}, order); diff != "" {
		t.Error(diff)
	}
}
