package cloneset

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// TestBounds are of ten replicas; a half is rounded as cloneset.md §3.2 says.
func TestBounds(t *testing.T) {
	paused := rolling(func(r *v1beta1.RollingUpdateCloneSetStrategy) { r.Paused = true })
	scaling := func(most string) setEdit {
		return func(s *cloneSet) { s.Spec.ScaleStrategy.MaxUnavailable = amount(most) }
	}
	for name, tt := range map[string]struct {
		edits                         []setEdit
		surge, unavailable, scaleMost int
	}{
		"no surge: up":              {[]setEdit{limits("0", "25%", "0"), scaling("100%")}, 0, 3, 10},
		"beside a surge: down":      {[]setEdit{limits("0", "25%", "15%"), scaling("15%")}, 2, 2, 2},
		"paused: no surge, so up":   {[]setEdit{limits("0", "25%", "15%"), scaling("1"), paused}, 0, 3, 1},
		"a tenth of one percent up": {[]setEdit{limits("0", "20%", "1%"), scaling("1%")}, 1, 2, 1},
	} {
		b := boundsOf(newSet(append([]setEdit{replicas(10)}, tt.edits...)...), Settings{}, false)
		if b.MaxSurge != tt.surge || b.MaxUnavailable != tt.unavailable || b.ScaleMaxUnavailable != tt.scaleMost {
			t.Errorf("%s: surge %d, unavailable %d, in scaling %d, want %d, %d and %d", name, b.MaxSurge, b.MaxUnavailable, b.ScaleMaxUnavailable, tt.surge, tt.unavailable, tt.scaleMost)
		}
	}
	for _, gate := range []bool{false, true} {
		for _, same := range []bool{false, true} {
			if got, want := boundsOf(newSet(), Settings{PartitionRollback: gate}, same).MayRollBack, gate && !same; got != want {
				t.Errorf("gate %v, same revision %v: may roll back %v", gate, same, got)
			}
		}
	}
}

func asked(pod *corev1.Pod) { pod.Labels["apps.kruise.io/specified-delete"] = "true" }

func held(pod *corev1.Pod) { pod.Labels["example.com/hold"] = "true" }

// TestWhichPodsMove has four Pods at the old revision, or what is done to the first one says.
func TestWhichPodsMove(t *testing.T) {
	v1, v2 := at(t, "web:1", 1), at(t, "web:2", 2)
	hook := func(s *cloneSet) {
		s.Spec.Lifecycle = &v1beta1.Lifecycle{PreDelete: &v1beta1.LifecycleHook{LabelsHandler: map[string]string{"example.com/hold": "true"}}}
	}
	updates := func(s *cloneSet) {
		s.Spec.Lifecycle = &v1beta1.Lifecycle{InPlaceUpdate: &v1beta1.LifecycleHook{LabelsHandler: map[string]string{"example.com/hold": "true"}}}
	}
	inGrace := func(pod *corev1.Pod) {
		pod.Annotations = map[string]string{
			"apps.kruise.io/inplace-update-state": `{"updateTimestamp":"2026-01-01T00:00:00Z","lastContainerStatuses":null}`,
			"apps.kruise.io/inplace-update-grace": `{"revision":"` + v1.Name + `","graceSeconds":10}`,
		}
	}
	both := func(pod *corev1.Pod) { asked(pod); unready(pod) }
	leaving := func(pod *corev1.Pod) { held(pod); inState("PreparingDelete")(pod) }
	for name, tt := range map[string]struct {
		first func(*corev1.Pod)
		edits []setEdit
		want  []string
	}{
		"all":                                 {func(*corev1.Pod) {}, []setEdit{limits("0", "100%", "0")}, []string{"a", "b", "c", "d"}},
		"one that is asked to go goes anyway": {asked, []setEdit{limits("0", "100%", "0")}, []string{"b", "c", "d"}},
		"and is one of those to be moved":     {asked, []setEdit{limits("2", "100%", "0")}, []string{"b"}},
		"one that prepares to go goes anyway": {leaving, []setEdit{limits("0", "100%", "0"), hook}, []string{"b", "c", "d"}},
		"what is gone counts as unavailable":  {both, []setEdit{limits("0", "2", "0")}, []string{"b"}},
		"one in grace waits for its end":      {inGrace, []setEdit{limits("0", "100%", "0")}, []string{"b", "c", "d"}},
		"one that is updated has no grace":    {func(pod *corev1.Pod) { inGrace(pod); inState("Updated")(pod) }, []setEdit{limits("0", "100%", "0"), updates}, []string{"a", "b", "c", "d"}},
	} {
		set := newSet(append([]setEdit{image("web:2"), replicas(4), inPlace, func(s *cloneSet) {
			s.Status.CurrentRevision, s.Status.UpdateRevision = v1.Name, v2.Name
		}}, tt.edits...)...)
		p := planFor(t, set, start, []*appsv1.ControllerRevision{v1, v2}, podAt(v1, "a", tt.first), podAt(v1, "b"), podAt(v1, "c"), podAt(v1, "d"))
		var moved []string
		for _, m := range p.Moves {
			moved = append(moved, m.Pod.Name)
		}
		slices.Sort(moved)
		if diff := cmp.Diff(tt.want, moved); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestAPodThatCannotBeMovedHoldsUpNoOther: nothing is done after an error.
func TestAPodThatCannotBeMovedHoldsUpNoOther(t *testing.T) {
	v1, v2 := at(t, "web:1", 1), at(t, "web:2", 2)
	set := newSet(image("web:2"), replicas(3), inPlace, limits("0", "100%", "0"), func(s *cloneSet) { s.Status.CurrentRevision = v1.Name })
	p := planFor(t, set, start, []*appsv1.ControllerRevision{v1, v2}, podAt(v1, "a", inState("Sleeping"), unready), podAt(v1, "b"), podAt(v1, "c"))
	var failing []bool
	for _, m := range p.Moves {
		failing = append(failing, m.Err != nil)
	}
	if diff := cmp.Diff([]bool{false, false, true}, failing); diff != "" {
		t.Errorf("which moves fail, in their order: %s", diff)
	}
}

// TestABrokenTemplateStopsAmongBrokenPods has Pods that do not work at the old revision and at the new one: a template that
// does not work must not be taken to all of them, however little is lost.
func TestABrokenTemplateStopsAmongBrokenPods(t *testing.T) {
	v1, v2 := at(t, "web:1", 1), at(t, "web:2", 2)
	set := newSet(image("web:2"), replicas(6), inPlace, limits("0", "2", "0"), func(s *cloneSet) { s.Status.CurrentRevision = v1.Name })
	for broken, want := range map[int]int{0: 2, 1: 1, 2: 0, 3: 0} {
		pods := []*corev1.Pod{podAt(v1, "a", unready), podAt(v1, "b", unready), podAt(v1, "c", unready)}
		for i := range 3 {
			pod := podAt(v2, string(rune('x'+i)))
			if i < broken {
				unready(pod)
			}
			pods = append(pods, pod)
		}
		if got := len(planFor(t, set, start, []*appsv1.ControllerRevision{v1, v2}, pods...).Moves); got != want {
			t.Errorf("with %d broken Pods at the new revision, %d more are moved there, want %d", broken, got, want)
		}
	}
}

// TestPausedSurplusGoes has more Pods than replicas when a rollout is paused that had a surge: the old ones go first.
func TestPausedSurplusGoes(t *testing.T) {
	v1, v2 := at(t, "web:1", 1), at(t, "web:2", 2)
	set := newSet(image("web:2"), replicas(3), limits("0", "1", "2"), func(s *cloneSet) { s.Status.CurrentRevision = v1.Name })
	pods := []*corev1.Pod{podAt(v1, "a"), podAt(v1, "b"), podAt(v1, "c"), podAt(v2, "x"), podAt(v2, "y")}
	for paused, want := range map[bool][]string{false: {"a"}, true: {"a", "b"}} {
		set.Spec.UpdateStrategy.RollingUpdate.Paused = paused
		var gone []string
		for _, pod := range removals(planFor(t, set, start, []*appsv1.ControllerRevision{v1, v2}, pods...)) {
			gone = append(gone, pod.Name)
		}
		if diff := cmp.Diff(want, gone); diff != "" {
			t.Errorf("paused %v: %s", paused, diff)
		}
	}
}

func TestOnlyAHookThatSaysSoTakesTrafficBeforeADeletion(t *testing.T) {
	v1 := at(t, "web:1", 1)
	for _, marks := range []bool{false, true} {
		set := newSet(func(s *cloneSet) {
			s.Spec.Lifecycle = &v1beta1.Lifecycle{PreDelete: &v1beta1.LifecycleHook{LabelsHandler: map[string]string{"example.com/hold": "true"}, MarkPodNotReady: marks}}
		})
		if p := planFor(t, set, start, []*appsv1.ControllerRevision{v1}, podAt(v1, "a", held, asked)); p.UnreadyBeforeDelete != marks {
			t.Errorf("markPodNotReady %v: it does %v", marks, p.UnreadyBeforeDelete)
		}
	}
}

// TestClaimTemplatesDoNotStopInPlaceOnly has the gate on: under InPlaceOnly nothing could be done but to fail.
func TestClaimTemplatesDoNotStopInPlaceOnly(t *testing.T) {
	w := newWorld(t, policy(v1beta1.InPlaceOnlyPodUpdateStrategyType), claims("1Gi"))
	w.reconciler.RecreateForClaims = true
	w.settle()
	before := w.live()
	w.edit(claims("2Gi"), image("web:2"))
	w.settle()
	if after := w.live(); !slices.Equal(before, after) || w.byImage()["web:2"] != 3 {
		t.Errorf("Pods were %v and are %v, %v", before, after, w.byImage())
	}
}

// TestAFailedRefreshStopsTheWave is the first error that aborts (cloneset.md §4.2).
func TestAFailedRefreshStopsTheWave(t *testing.T) {
	w := newWorld(t, inPlace, limits("0", "3", "0"))
	w.settle()
	w.editPod("web-id001", func(pod *corev1.Pod) { delete(pod.Labels, "pod-template-hash") })
	w.edit(image("web:2"))
	w.fail = func(verb string, obj client.Object) error {
		if verb == "patch" && obj.GetName() == "web-id001" {
			return errors.New("no")
		}
		return nil
	}
	if _, err := w.reconcile(); err == nil || w.byImage()["web:2"] != 0 {
		t.Errorf("%v, and %d Pods are updated", err, w.byImage()["web:2"])
	}
	w.fail = nil
	w.settle()
	if w.byImage()["web:2"] != 3 {
		t.Errorf("after it passed the images are %v", w.byImage())
	}
}

// TestARefusalIsAskedAboutAgain although nothing was written that would wake the CloneSet.
func TestARefusalIsAskedAboutAgain(t *testing.T) {
	w := newWorld(t, inPlace)
	w.settle()
	w.reconciler.Budget = func(context.Context, *corev1.Pod) (bool, string, error) { return false, "exhausted", nil }
	w.edit(image("web:2"))
	w.sync()
	before := len(w.writes)
	if result := w.sync(); result.RequeueAfter <= 0 || result.RequeueAfter > time.Second || len(w.writes) != before {
		t.Errorf("it comes again in %s after %v", result.RequeueAfter, w.writes[before:])
	}
}

// TestATakenIDIsNotTried has the random source repeat itself.
func TestATakenIDIsNotTried(t *testing.T) {
	w := newWorld(t)
	w.settle()
	random := []string{"id002", "id001", "other"}
	w.reconciler.NewID = func() string {
		next := random[0]
		random = random[1:]
		return next
	}
	w.edit(replicas(4))
	before := len(w.writes)
	w.sync()
	if created := w.writes[before:]; created[0] != "create Pod" || slices.Contains(created[1:], "create Pod") || !slices.Contains(w.live(), "web-other") {
		t.Errorf("%v, and the Pods are %v", created, w.live())
	}
}

// TestIDsOfPodsThatEndAreTaken has the random source repeat the ids of a Pod that failed and of one that was released, whose
// objects are there.
func TestIDsOfPodsThatEndAreTaken(t *testing.T) {
	v1 := at(t, "web:1", 1)
	seen := &snapshot{revisions: []*appsv1.ControllerRevision{v1}}
	seen.pods.Inactive, seen.pods.Release = []*corev1.Pod{podAt(v1, "failed")}, []*corev1.Pod{podAt(v1, "released")}
	random := []string{"failed", "released", "other"}
	plan, err := makePlan(newSet(replicas(1)), seen, start, Settings{}, func() string {
		next := random[0]
		random = random[1:]
		return next
	})
	if err != nil || len(plan.Scale.Create) != 1 || plan.Scale.Create[0].Pod.Name != "web-other" {
		t.Errorf("%v, and the plan is %v", err, describe(plan))
	}
}

// TestOldPodsAreCreatedFirst so that they are there when only a part can be created.
func TestOldPodsAreCreatedFirst(t *testing.T) {
	v1, v2 := at(t, "web:1", 1), at(t, "web:2", 2)
	set := newSet(image("web:2"), replicas(3), limits("1", "1", "0"), func(s *cloneSet) { s.Status.CurrentRevision = v1.Name })
	var order []string
	for _, made := range planFor(t, set, start, []*appsv1.ControllerRevision{v1, v2}).Scale.Create {
		order = append(order, made.Pod.Labels["controller-revision-hash"])
	}
	if diff := cmp.Diff([]string{v1.Name, v2.Name, v2.Name}, order); diff != "" {
		t.Error(diff)
	}
}

// TestARevisionWithPodsIsKept although the history may have none but those in use.
func TestARevisionWithPodsIsKept(t *testing.T) {
	v1, v2, v3, v4 := at(t, "web:1", 1), at(t, "web:2", 2), at(t, "web:3", 3), at(t, "web:4", 4)
	set := newSet(image("web:4"), replicas(3), func(s *cloneSet) {
		s.Spec.RevisionHistoryLimit, s.Status.CurrentRevision = ptr.To[int32](0), v1.Name
	})
	var gone []string
	for _, r := range planFor(t, set, start, []*appsv1.ControllerRevision{v1, v2, v3, v4}, podAt(v1, "a"), podAt(v3, "b"), podAt(v4, "c")).Surplus {
		gone = append(gone, r.Name)
	}
	if diff := cmp.Diff([]string{v2.Name}, gone); diff != "" {
		t.Error(diff)
	}
}

// TestWhatIsRefreshedIsMovedLater has a Pod whose labels are to be mended, and one whose annotation nobody can read.
func TestWhatIsRefreshedIsMovedLater(t *testing.T) {
	v1, v2 := at(t, "web:1", 1), at(t, "web:2", 2)
	set := newSet(image("web:2"), inPlace, limits("0", "100%", "0"), func(s *cloneSet) { s.Status.CurrentRevision = v1.Name })
	mended := podAt(v1, "a", func(pod *corev1.Pod) { delete(pod.Labels, "pod-template-hash") })
	unreadable := podAt(v1, "b", func(pod *corev1.Pod) { pod.Annotations = map[string]string{"apps.kruise.io/inplace-update-state": "{"} })
	p := planFor(t, set, start, []*appsv1.ControllerRevision{v1, v2}, mended, unreadable, podAt(v1, "c"))
	if got := describe(p); !slices.Equal(got, []string{"refresh a", "refresh b", "move c" + v2.Name + "3"}) || p.Refresh[1].Err == nil {
		t.Errorf("the plan is %v", got)
	}
}

// TestNoMorePodsAreKeptThanAreMissing has two prepare for their deletion, of which one is needed after all.
func TestNoMorePodsAreKeptThanAreMissing(t *testing.T) {
	v1 := at(t, "web:1", 1)
	leaving := func(pod *corev1.Pod) { held(pod); inState("PreparingDelete")(pod) }
	hook := func(s *cloneSet) {
		s.Spec.Lifecycle = &v1beta1.Lifecycle{PreDelete: &v1beta1.LifecycleHook{LabelsHandler: map[string]string{"example.com/hold": "true"}}}
	}
	for n, want := range map[int32][]string{2: nil, 3: {"c"}, 4: {"c", "d"}} {
		var kept []string
		for _, pod := range planFor(t, newSet(replicas(n), hook), start, []*appsv1.ControllerRevision{v1}, podAt(v1, "a"), podAt(v1, "b"), podAt(v1, "c", leaving), podAt(v1, "d", leaving)).Scale.Undelete {
			kept = append(kept, pod.Name)
		}
		if diff := cmp.Diff(want, kept); diff != "" {
			t.Errorf("%d replicas: %s", n, diff)
		}
	}
}

// Pods that are there are brought into service before others are created, which takes a while: by then their kubelets would have
// reported, and the gates could not be opened for the version of the Pod that was looked at.
func TestGatesAreOpenedBeforeMorePodsAreMade(t *testing.T) {
	w := newWorld(t, replicas(2))
	w.sync()
	w.kubelet()
	w.edit(replicas(5))
	w.writes = nil
	w.sync()
	opened, created := slices.Index(w.writes, "status Pod"), slices.Index(w.writes, "create Pod")
	if opened < 0 || created < opened {
		t.Errorf("the writes are %v", w.writes)
	}
}
