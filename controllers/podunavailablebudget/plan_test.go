package podunavailablebudget

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	pub "github.com/fairlead-io/fairlead/protection/podunavailablebudget"
)

var now = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func budget(change ...func(*pub.Budget)) *pub.Budget {
	b := &pub.Budget{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Generation: 4}}
	for _, c := range change {
		c(b)
	}
	return b
}

func maxUnavailable(v string) func(*pub.Budget) {
	return func(b *pub.Budget) { b.Spec.MaxUnavailable = ptr.To(intstr.Parse(v)) }
}

func minAvailable(v string) func(*pub.Budget) {
	return func(b *pub.Budget) { b.Spec.MinAvailable = ptr.To(intstr.Parse(v)) }
}

// pod is available, and told that it is under the budget web.
func pod(name string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{"app": "web"},
			Annotations: map[string]string{"pub.kruise.io/related-pub": "web", "kruise.io/related-pub": "web"},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
	for _, c := range change {
		c(p)
	}
	return p
}

func unready(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }

func nowhere(*corev1.Pod) bool { return false }

// protection.md §4.2: desired, by the total.
func TestDesiredAvailable(t *testing.T) {
	for name, tt := range map[string]struct {
		budget *pub.Budget
		total  int
		want   string
	}{
		"one may go":                    {budget(maxUnavailable("1")), 3, "2"},
		"more may go than there are":    {budget(maxUnavailable("5")), 3, "0"},
		"10% of 3 is one":               {budget(maxUnavailable("10%")), 3, "2"},
		"10% of 5 is one":               {budget(maxUnavailable("10%")), 5, "4"},
		"10% of 11 are two":             {budget(maxUnavailable("10%")), 11, "9"},
		"70% of 10 are seven":           {budget(maxUnavailable("70%")), 10, "3"},
		"0% is none":                    {budget(maxUnavailable("0%")), 3, "3"},
		"100% are all":                  {budget(maxUnavailable("100%")), 3, "0"},
		"10% of none":                   {budget(maxUnavailable("10%")), 0, "0"},
		"two must stay":                 {budget(minAvailable("2")), 5, "2"},
		"a floor does not shrink":       {budget(minAvailable("2")), 1, "2"},
		"a floor stays without anybody": {budget(minAvailable("2")), 0, "2"},
		"half of 5 are three":           {budget(minAvailable("50%")), 5, "3"},
		"half of none":                  {budget(minAvailable("50%")), 0, "0"},
		"both":                          {budget(minAvailable("3"), maxUnavailable("1")), 3, "2"},
		"neither":                       {budget(), 3, "neither spec.maxUnavailable nor spec.minAvailable is set"},
		"nonsense":                      {budget(maxUnavailable("many")), 3, `reading amount "many"`},
	} {
		n, err := desiredAvailable(tt.budget, tt.total)
		got := strconv.Itoa(n)
		if err != nil {
			got = err.Error()
		}
		if err == nil && got != tt.want || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

func TestCountsAreThoseOfAvailablePods(t *testing.T) {
	ago := func(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }
	b := budget(maxUnavailable("2"), func(b *pub.Budget) {
		b.Status.DisruptedPods = map[string]metav1.Time{
			"a": ago(19 * time.Second), "stayed": ago(20 * time.Second), "gone": ago(3 * time.Second), "unseen": ago(time.Second), "ending": ago(time.Second),
		}
		b.Status.UnavailablePods = map[string]metav1.Time{"b": ago(4 * time.Second), "updated": ago(10 * time.Second)}
	})
	ending := pod("ending", func(p *corev1.Pod) { p.DeletionTimestamp = ptr.To(metav1.NewTime(now)) })
	s := snapshot{
		budget: b, total: 5, elsewhere: nowhere,
		pods:   []*corev1.Pod{pod("a"), pod("b"), pod("stayed"), pod("updated"), pod("well"), pod("ill", unready)},
		listed: map[string]*corev1.Pod{"a": pod("a"), "b": pod("b"), "stayed": pod("stayed"), "updated": pod("updated"), "ending": ending},
	}
	p := decide(s, now)
	want := b.Status
	want.ObservedGeneration, want.TotalReplicas, want.DesiredAvailable, want.CurrentAvailable, want.UnavailableAllowed = 4, 5, 3, 3, 0
	want.DisruptedPods = map[string]metav1.Time{"a": ago(19 * time.Second), "unseen": ago(time.Second)}
	want.UnavailablePods = map[string]metav1.Time{"b": ago(4 * time.Second)}
	if diff := cmp.Diff(want, p.status); diff != "" || !p.changed {
		t.Error(p.changed, diff)
	}
	if len(p.stayed) != 1 || p.stayed[0].Name != "stayed" {
		t.Errorf("events for %v", p.stayed)
	}
	if p.wake != time.Second {
		t.Errorf("looks again after %s, want that of the earliest entry, 1s", p.wake)
	}
	// Nothing differs: nothing is written, and the entries still have an end.
	b.Status = p.status
	if p := decide(s, now); p.changed || p.wake != time.Second {
		t.Errorf("%+v", p)
	}
}

func TestTheTotalOfTheSpecWins(t *testing.T) {
	for name, b := range map[string]*pub.Budget{
		"spec":       budget(maxUnavailable("10%"), func(b *pub.Budget) { b.Spec.ProtectTotalReplicas = ptr.To[int32](20) }),
		"annotation": budget(maxUnavailable("10%"), func(b *pub.Budget) { b.Annotations = map[string]string{"pub.kruise.io/protect-total-replicas": "20"} }),
	} {
		if got := decide(snapshot{budget: b, total: 3, elsewhere: nowhere}, now).status; got.TotalReplicas != 20 || got.DesiredAvailable != 18 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestAProblemLeavesTheStatusAlone(t *testing.T) {
	untold := pod("a", func(p *corev1.Pod) { p.Annotations = nil })
	p := decide(snapshot{budget: budget(), pods: []*corev1.Pod{untold}, elsewhere: nowhere}, now)
	if p.problem == nil || p.changed || len(p.relate) != 1 {
		t.Errorf("%+v", p)
	}
}

// protection.md §4.4, with both keys written wherever one is missing.
func TestWhichPodsAreTold(t *testing.T) {
	told := func(annotations map[string]string) *corev1.Pod {
		return pod("a", func(p *corev1.Pod) { p.Annotations = annotations })
	}
	for name, tt := range map[string]struct {
		pod       *corev1.Pod
		elsewhere bool
		want      int
	}{
		"told":                    {pod("a"), false, 0},
		"not told":                {told(nil), false, 1},
		"told by the old key":     {told(map[string]string{"kruise.io/related-pub": "web"}), false, 1},
		"under one that went":     {told(map[string]string{"pub.kruise.io/related-pub": "old", "kruise.io/related-pub": "old"}), false, 1},
		"under one that is there": {told(map[string]string{"pub.kruise.io/related-pub": "old", "kruise.io/related-pub": "old"}), true, 0},
	} {
		p := decide(snapshot{
			budget: budget(maxUnavailable("1")), total: 1, pods: []*corev1.Pod{tt.pod}, elsewhere: func(*corev1.Pod) bool { return tt.elsewhere },
		}, now)
		if len(p.relate) != tt.want {
			t.Errorf("%s: tells %d Pods", name, len(p.relate))
		}
	}
}

// However Pods are, and whatever was recorded: what may go is never more than what is available beyond what must be, nor
// does an entry stay beyond its time.
func TestPlansNeverGiveTooMuch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := budget(maxUnavailable(rapid.SampledFrom([]string{"0", "1", "3", "10%", "50%"}).Draw(t, "max")))
		b.Status.DisruptedPods, b.Status.UnavailablePods = map[string]metav1.Time{}, map[string]metav1.Time{}
		s := snapshot{budget: b, total: rapid.IntRange(0, 12).Draw(t, "total"), elsewhere: nowhere, listed: map[string]*corev1.Pod{}}
		free := 0
		for i := range rapid.IntRange(0, 12).Draw(t, "pods") {
			p := pod(strconv.Itoa(i))
			ready := rapid.Bool().Draw(t, "ready")
			if !ready {
				unready(p)
			}
			s.pods = append(s.pods, p)
			s.listed[p.Name] = p
			age := time.Duration(rapid.IntRange(0, 30).Draw(t, "age")) * time.Second
			kept := false
			switch rapid.IntRange(0, 2).Draw(t, "recorded") {
			case 1:
				b.Status.DisruptedPods[p.Name] = metav1.NewTime(now.Add(-age))
				kept = age < 20*time.Second
			case 2:
				b.Status.UnavailablePods[p.Name] = metav1.NewTime(now.Add(-age))
				kept = age < 10*time.Second
			}
			if ready && !kept {
				free++
			}
		}
		p := decide(s, now)
		if int(p.status.CurrentAvailable) != free || p.status.UnavailableAllowed < 0 ||
			p.status.UnavailableAllowed > 0 && p.status.CurrentAvailable-p.status.UnavailableAllowed < p.status.DesiredAvailable {
			t.Errorf("%d are available: %+v", free, p.status)
		}
		if later := decide(snapshot{budget: &pub.Budget{Spec: b.Spec, Status: p.status}, pods: s.pods, listed: s.listed, total: s.total, elsewhere: nowhere},
			now.Add(20*time.Second)); len(later.status.DisruptedPods)+len(later.status.UnavailablePods) > 0 {
			t.Errorf("after 20 s there are entries: %+v", later.status)
		}
	})
}
