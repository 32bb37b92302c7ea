package explain

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	policyv1beta1 "github.com/fairlead-io/fairlead/api/policy/v1beta1"
)

func budget(change func(*policyv1beta1.PodUnavailableBudget)) *policyv1beta1.PodUnavailableBudget {
	b := &policyv1beta1.PodUnavailableBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "b"},
		Spec: policyv1beta1.PodUnavailableBudgetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, MaxUnavailable: ptr.To(intstr.FromInt32(1)),
		},
		Status: policyv1beta1.PodUnavailableBudgetStatus{TotalReplicas: 3, DesiredAvailable: 2, CurrentAvailable: 3, UnavailableAllowed: 1},
	}
	if change != nil {
		change(b)
	}
	return b
}

func readyPod(change func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web-0", Labels: map[string]string{"app": "web"}, Annotations: map[string]string{}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
	if change != nil {
		change(p)
	}
	return p
}

// What decides, in the order of protection.md §3.
func TestDecides(t *testing.T) {
	now := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	for _, tt := range []struct {
		name   string
		budget func(*policyv1beta1.PodUnavailableBudget)
		pod    func(*corev1.Pod)
		want   string
	}{
		{"some are left", nil, nil, "1 more may become unavailable: 3 are available, 2 must be"},
		{"none is left", func(b *policyv1beta1.PodUnavailableBudget) {
			b.Status.UnavailableAllowed, b.Status.CurrentAvailable = 0, 2
		}, nil,
			"the budget is exhausted: 2 are available, 2 must be"},
		{"exempt", func(b *policyv1beta1.PodUnavailableBudget) { b.Status.UnavailableAllowed = 0 },
			func(p *corev1.Pod) { p.Annotations["pub.kruise.io/no-protect"] = "1" }, "pub.kruise.io/no-protect exempts"},
		{"not exempt", nil, func(p *corev1.Pod) { p.Annotations["pub.kruise.io/no-protect"] = "no" }, "1 more"},
		{"not ready", nil, func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }, "losing it is free"},
		{"not running", nil, func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }, "losing it is free"},
		{"terminating", nil, func(p *corev1.Pod) { p.DeletionTimestamp = &now }, "losing it is free"},
		{"unavailable by label", nil, func(p *corev1.Pod) { p.Labels["unavailable-pod.kruise.io/x"] = "" }, "losing it is free"},
		{"ignored", func(b *policyv1beta1.PodUnavailableBudget) {
			b.Spec.IgnoredPodSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
		}, nil, "ignoredPodSelector exempts"},
		{"an empty selector ignores nothing", func(b *policyv1beta1.PodUnavailableBudget) { b.Spec.IgnoredPodSelector = &metav1.LabelSelector{} }, nil, "1 more"},
		{"nothing desired", func(b *policyv1beta1.PodUnavailableBudget) { b.Status.DesiredAvailable = 0 }, nil, "no Pod must be available"},
		{"given leave", func(b *policyv1beta1.PodUnavailableBudget) {
			b.Status.DisruptedPods = map[string]metav1.Time{"web-0": now}
		}, nil, "given leave"},
		{"given leave to update", func(b *policyv1beta1.PodUnavailableBudget) {
			b.Status.UnavailablePods = map[string]metav1.Time{"web-0": now}
		}, nil, "given leave"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := decides(budget(tt.budget), readyPod(tt.pod)); !strings.Contains(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestSelectedBy(t *testing.T) {
	target := func(group, kind, name string) func(*policyv1beta1.PodUnavailableBudget) {
		return func(b *policyv1beta1.PodUnavailableBudget) {
			b.Spec.Selector = nil
			b.Spec.TargetReference = &policyv1beta1.TargetReference{APIVersion: group + "/v1", Kind: kind, Name: name}
		}
	}
	owners := []owner{{"apps", "ReplicaSet", "web-1"}, {"apps", "Deployment", "web"}}
	for _, tt := range []struct {
		name   string
		budget func(*policyv1beta1.PodUnavailableBudget)
		pod    func(*corev1.Pod)
		want   string
	}{
		{"selector", nil, nil, "its selector"},
		{"other labels", nil, func(p *corev1.Pod) { p.Labels["app"] = "api" }, ""},
		{"the workload above", target("apps", "Deployment", "web"), nil, "its targetRef Deployment web"},
		{"another workload", target("apps", "Deployment", "api"), nil, ""},
		{"another group", target("apps.kruise.io", "Deployment", "web"), nil, ""},
		{"the annotation", target("apps", "Deployment", "api"), func(p *corev1.Pod) { p.Annotations["pub.kruise.io/related-pub"] = "b" }, "annotation pub.kruise.io/related-pub"},
		{"the former annotation", nil, func(p *corev1.Pod) { p.Annotations["kruise.io/related-pub"] = "b" }, "annotation"},
		{"the annotation names another", nil, func(p *corev1.Pod) { p.Annotations["pub.kruise.io/related-pub"] = "c" }, ""},
		{"nothing", func(b *policyv1beta1.PodUnavailableBudget) { b.Spec.Selector = nil }, nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := selectedBy(budget(tt.budget), readyPod(tt.pod), owners)
			if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestBudgetNotes(t *testing.T) {
	absolute := func(b *policyv1beta1.PodUnavailableBudget) {
		b.Spec.MaxUnavailable, b.Spec.MinAvailable = nil, ptr.To(intstr.FromInt32(2))
		b.Generation = 2
		b.Status.ObservedGeneration = 1
	}
	notes := strings.Join(explainBudget(budget(absolute), readyPod(nil), "x", nil).Notes, "\n")
	for _, want := range []string{"keeps its floor", "no controller has looked", "nothing enforces it"} {
		if !strings.Contains(notes, want) {
			t.Errorf("%q lacks %q", notes, want)
		}
	}
	percent := func(b *policyv1beta1.PodUnavailableBudget) {
		b.Spec.MaxUnavailable, b.Spec.MinAvailable = nil, ptr.To(intstr.FromString("50%"))
	}
	if notes := explainBudget(budget(percent), readyPod(nil), "x", []string{"vpod.kb.io"}).Notes; len(notes) != 1 || notes[0] != "enforced by vpod.kb.io" {
		t.Errorf("%q", notes)
	}
}

// The annotation that v1alpha1 has counts where the spec says nothing.
func TestProtects(t *testing.T) {
	for want, change := range map[string]func(*policyv1beta1.PodUnavailableBudget){
		"DELETE UPDATE EVICT": nil,
		"RESIZE": func(b *policyv1beta1.PodUnavailableBudget) {
			b.Spec.ProtectOperations = []policyv1beta1.PubOperation{policyv1beta1.PubResizeOperation}
		},
		"EVICT": func(b *policyv1beta1.PodUnavailableBudget) {
			b.Annotations = map[string]string{"kruise.io/pub-protect-operations": "EVICT"}
		},
	} {
		if got := strings.Join(protects(budget(change)), " "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
