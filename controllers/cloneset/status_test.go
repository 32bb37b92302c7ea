package cloneset

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/podset/claim"
	"github.com/fairlead-io/fairlead/controllers/podset/revision"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// at makes the revision that a CloneSet has with an image.
func at(t testing.TB, to string, number int64) *appsv1.ControllerRevision {
	t.Helper()
	set := newSet(image(to))
	found, err := revision.Find(revision.Owner{Object: set, Kind: kind, Template: &set.Spec.Template}, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found.Revision.Revision = number
	return found.Revision
}

// podAt is a Pod in service since the start.
func podAt(r *appsv1.ControllerRevision, name string, edits ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, UID: "u",
			Labels: map[string]string{
				"app": "web", "controller-revision-hash": r.Name, "pod-template-hash": revision.ShortHash(r.Name),
				"lifecycle.apps.kruise.io/state": "Normal", "apps.kruise.io/cloneset-instance-id": name,
			},
		},
		Spec:   corev1.PodSpec{NodeName: "n"},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(start)}}},
	}
	for _, e := range edits {
		e(pod)
	}
	return pod
}

func unready(pod *corev1.Pod) { pod.Status.Conditions[0].Status = corev1.ConditionFalse }

func inState(state string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Labels["lifecycle.apps.kruise.io/state"] = state }
}

func planFor(t testing.TB, set *cloneSet, now time.Time, revisions []*appsv1.ControllerRevision, pods ...*corev1.Pod) *Plan {
	t.Helper()
	ids := 0
	p, err := makePlan(set, &snapshot{pods: claim.Pods{Active: pods}, revisions: revisions}, now, Settings{}, func() string {
		ids++
		return string(rune('a' + ids))
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestCounts(t *testing.T) {
	v1, v2 := at(t, "web:1", 1), at(t, "web:2", 2)
	set := newSet(image("web:2"), replicas(8), limits("50%", "20%", "0"), func(s *cloneSet) {
		s.Spec.MinReadySeconds = 60
		s.Generation = 7
		s.Status.CurrentRevision, s.Status.UpdateRevision = v1.Name, v2.Name
	})
	justReady := func(pod *corev1.Pod) {
		pod.Status.Conditions[0].LastTransitionTime = metav1.NewTime(start.Add(50 * time.Second))
	}
	p := planFor(t, set, start.Add(time.Minute), []*appsv1.ControllerRevision{v1, v2},
		podAt(v1, "a"), podAt(v1, "b", unready), podAt(v1, "c", inState("PreparingDelete")),
		podAt(v2, "d"), podAt(v2, "e", justReady), podAt(v2, "f", inState("Updating")))
	want := v1beta1.CloneSetStatus{
		ObservedGeneration: 7, Replicas: 6, ReadyReplicas: 5, AvailableReplicas: 2, UpdatedReplicas: 3, UpdatedReadyReplicas: 3,
		UpdatedAvailableReplicas: 1, ExpectedUpdatedReplicas: 4, UpdateRevision: v2.Name, CurrentRevision: v1.Name,
		CollisionCount: ptr.To[int32](0), LabelSelector: "app=web",
	}
	if diff := cmp.Diff(want, p.Status); diff != "" {
		t.Error(diff)
	}
	if p.Wake.after != 50*time.Second {
		t.Errorf("it wakes in %s, want when the youngest Pod is available", p.Wake.after)
	}
}

func TestCurrentRevision(t *testing.T) {
	v1, v2 := at(t, "web:1", 1), at(t, "web:2", 2)
	both := []*appsv1.ControllerRevision{v1, v2}
	for name, tt := range map[string]struct {
		replicas  int32
		recorded  string
		revisions []*appsv1.ControllerRevision
		pods      []*corev1.Pod
		want      string
	}{
		"new":                      {2, "", nil, nil, v2.Name},
		"under way":                {2, v1.Name, both, []*corev1.Pod{podAt(v1, "a"), podAt(v2, "b")}, v1.Name},
		"all updated, none ready":  {2, v1.Name, both, []*corev1.Pod{podAt(v2, "a", unready), podAt(v2, "b", unready)}, v2.Name},
		"a part that is all new":   {2, v1.Name, both, []*corev1.Pod{podAt(v2, "a")}, v1.Name},
		"no Pods where there be 2": {2, v1.Name, both, nil, v1.Name},
		"no Pods where none is":    {0, v1.Name, both, nil, v2.Name},
		"surge Pods are there":     {1, v1.Name, both, []*corev1.Pod{podAt(v2, "a"), podAt(v2, "b")}, v1.Name},
		"it is gone":               {2, v1.Name, []*appsv1.ControllerRevision{v2}, []*corev1.Pod{podAt(v2, "b")}, v2.Name},
	} {
		set := newSet(image("web:2"), replicas(tt.replicas), func(s *cloneSet) { s.Status.CurrentRevision = tt.recorded })
		if got := planFor(t, set, start, tt.revisions, tt.pods...).Status.CurrentRevision; got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

func TestProgress(t *testing.T) {
	v1, v2 := at(t, "web:1", 1), at(t, "web:2", 2)
	both := []*appsv1.ControllerRevision{v1, v2}
	now := start.Add(time.Hour)
	condition := func(reason string, ago time.Duration) *v1beta1.CloneSetCondition {
		return &v1beta1.CloneSetCondition{Type: "Progressing", Status: "True", Reason: reason, LastUpdateTime: metav1.NewTime(now.Add(-ago)), LastTransitionTime: metav1.NewTime(start)}
	}
	paused := rolling(func(r *v1beta1.RollingUpdateCloneSetStrategy) { r.Paused = true })
	keep := func(*cloneSet) {}
	old, updated := podAt(v1, "a"), podAt(v2, "b")
	for name, tt := range map[string]struct {
		before  *v1beta1.CloneSetCondition
		edit    setEdit
		pods    []*corev1.Pod
		want    string
		moved   bool
		wake    time.Duration
		another bool // the revision in the status is another one
	}{
		"available":                    {condition("CloneSetUpdated", 90*time.Second), keep, []*corev1.Pod{updated, podAt(v2, "c")}, "True CloneSetAvailable", true, 0, false},
		"paused":                       {nil, paused, []*corev1.Pod{old, updated}, "True CloneSetPaused", true, 0, false},
		"paused for long":              {condition("CloneSetPaused", 30*time.Minute), paused, []*corev1.Pod{old, updated}, "True CloneSetPaused", false, 0, false},
		"partition reached":            {condition("CloneSetUpdated", time.Second), limits("1", "1", "0"), []*corev1.Pod{old, updated}, "True ProgressPartitionAvailable", true, 0, false},
		"begins":                       {nil, keep, []*corev1.Pod{old, updated}, "True CloneSetUpdated", true, 61 * time.Second, false},
		"begins long after rest":       {condition("CloneSetAvailable", 30*time.Minute), keep, []*corev1.Pod{old, updated}, "True CloneSetUpdated", true, 61 * time.Second, false},
		"goes on":                      {condition("CloneSetUpdated", 20*time.Second), keep, []*corev1.Pod{old, updated}, "True CloneSetUpdated", false, 41 * time.Second, false},
		"too long":                     {condition("CloneSetUpdated", 61*time.Second), keep, []*corev1.Pod{old, updated}, "False ProgressDeadlineExceeded", true, 0, false},
		"has been too long":            {condition("ProgressDeadlineExceeded", time.Second), keep, []*corev1.Pod{old, updated}, "False ProgressDeadlineExceeded", false, 0, false},
		"too long, then newer":         {condition("ProgressDeadlineExceeded", 30*time.Minute), keep, []*corev1.Pod{old, updated}, "True CloneSetUpdated", true, 61 * time.Second, true},
		"available after too long":     {condition("ProgressDeadlineExceeded", time.Second), keep, []*corev1.Pod{updated, podAt(v2, "c")}, "True CloneSetAvailable", true, 0, false},
		"updated but not ready":        {condition("CloneSetUpdated", time.Second), keep, []*corev1.Pod{updated, podAt(v2, "c", unready)}, "True CloneSetUpdated", false, time.Minute, false},
		"a Pod too many":               {condition("CloneSetUpdated", time.Second), keep, []*corev1.Pod{old, updated, podAt(v2, "c")}, "True CloneSetUpdated", false, time.Minute, false},
		"at the deadline":              {condition("CloneSetUpdated", 60*time.Second), keep, []*corev1.Pod{old, updated}, "True CloneSetUpdated", false, time.Second, false},
		"partition, but not ready yet": {condition("CloneSetUpdated", time.Second), limits("1", "1", "0"), []*corev1.Pod{old, podAt(v2, "c", unready)}, "True CloneSetUpdated", false, time.Minute, false},
	} {
		set := newSet(image("web:2"), replicas(2), tt.edit, func(s *cloneSet) {
			s.Spec.ProgressDeadlineSeconds = ptr.To[int32](60)
			s.Status.CurrentRevision, s.Status.UpdateRevision = v1.Name, v2.Name
			if tt.another {
				s.Status.UpdateRevision = v1.Name
			}
			if tt.before != nil {
				if tt.before.Reason == "ProgressDeadlineExceeded" {
					tt.before.Status = "False"
				}
				s.Status.Conditions = []v1beta1.CloneSetCondition{*tt.before}
			}
		})
		p := planFor(t, set, now, both, tt.pods...)
		c := conditionOf(&p.Status, "Progressing")
		if c == nil || string(c.Status)+" "+c.Reason != tt.want || c.LastUpdateTime.Time.Equal(now) != tt.moved || p.Wake.after != tt.wake {
			t.Errorf("%s: %+v, wakes in %s", name, c, p.Wake.after)
		}
		if tt.before != nil && c != nil && (c.Status == tt.before.Status) != c.LastTransitionTime.Time.Equal(start) {
			t.Errorf("%s: the status was %s and is %s, its transition was at %s", name, tt.before.Status, c.Status, c.LastTransitionTime)
		}
	}
	for _, off := range []*int32{nil, ptr.To[int32](math.MaxInt32)} {
		set := newSet(image("web:2"), func(s *cloneSet) {
			s.Spec.ProgressDeadlineSeconds, s.Status.Conditions = off, []v1beta1.CloneSetCondition{*condition("CloneSetUpdated", 0), {Type: "FailedScale"}}
		})
		got := planFor(t, set, now, both).Status.Conditions
		if diff := cmp.Diff([]v1beta1.CloneSetCondition{{Type: "FailedScale"}}, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("without a deadline: %s", diff)
		}
	}
}

// TestCountsAreReportedAfterTheClockWentBack does not wait for the time of the last report to come again.
func TestCountsAreReportedAfterTheClockWentBack(t *testing.T) {
	w := newWorld(t)
	w.settle()
	w.edit(replicas(4))
	w.sync()
	w.clock.SetTime(w.clock.Now().Add(-time.Hour))
	w.writes = nil
	result, err := w.reconcile()
	if err != nil || w.set().Status.Replicas != 4 || result.RequeueAfter > time.Second {
		t.Errorf("it reports %d Pods and comes again in %s, %v", w.set().Status.Replicas, result.RequeueAfter, err)
	}
}

func TestCountsAloneAreNotReportedEachTime(t *testing.T) {
	w := newWorld(t)
	w.settle()
	w.kubelet()
	w.must(w.Delete(t.Context(), w.pods()[0]))
	for range 3 { // within one second
		w.clock.SetTime(w.clock.Now().Add(100 * time.Millisecond))
		if _, err := w.reconcile(); err != nil {
			t.Fatal(err)
		}
	}
	w.writes = nil
	w.kubelet()
	w.clock.SetTime(w.clock.Now().Add(100 * time.Millisecond))
	result, err := w.reconcile()
	if err != nil || result.RequeueAfter <= 0 || result.RequeueAfter > time.Second {
		t.Errorf("%+v, %v", result, err)
	}
	for _, write := range w.writes {
		if write == "status CloneSet" {
			t.Error("counts are written again within a second")
		}
	}
	w.edit(replicas(4)) // a new generation is
	if _, err := w.reconcile(); err != nil || w.set().Status.ObservedGeneration != w.set().Generation {
		t.Errorf("%v, status %+v", err, w.set().Status)
	}
}
