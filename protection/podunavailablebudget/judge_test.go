package podunavailablebudget

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func matching(key, value string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
}

// protection.md §3, steps 5 to 8 and what follows, in their order.
func TestJudge(t *testing.T) {
	exhausted := func(b *Budget) { b.Status.UnavailableAllowed = 0 }
	const message = "the budget is exhausted: 3 Pods are available and 2 must be, of 3"
	crowd := func(n int) func(*Budget) {
		return func(b *Budget) {
			b.Status.DisruptedPods = map[string]metav1.Time{}
			for i := range n {
				b.Status.DisruptedPods["p"+strconv.Itoa(i)] = metav1.NewTime(now)
			}
		}
	}
	for name, tt := range map[string]struct {
		budget    *Budget
		operation Operation
		apart     bool
		want      string
	}{
		"takes one":                      {budget(), Delete, false, "taken"},
		"takes one for an eviction":      {budget(), Evict, false, "taken"},
		"takes one for an update":        {budget(), Update, false, "taken"},
		"nothing left":                   {budget(exhausted), Delete, false, message},
		"less than nothing":              {budget(func(b *Budget) { b.Status.UnavailableAllowed = -1 }), Evict, false, message},
		"ignored":                        {budget(exhausted, func(b *Budget) { b.Spec.IgnoredPodSelector = matching("app", "web") }), Delete, false, "free"},
		"others ignored":                 {budget(exhausted, func(b *Budget) { b.Spec.IgnoredPodSelector = matching("app", "db") }), Delete, false, message},
		"ignoring nothing":               {budget(exhausted, func(b *Budget) { b.Spec.IgnoredPodSelector = &metav1.LabelSelector{} }), Delete, false, message},
		"none needed":                    {budget(exhausted, func(b *Budget) { b.Status.DesiredAvailable = 0 }), Delete, false, "free"},
		"protects other things":          {budget(exhausted, func(b *Budget) { b.Spec.ProtectOperations = []Operation{Evict} }), Delete, false, "free"},
		"protects this":                  {budget(exhausted, func(b *Budget) { b.Spec.ProtectOperations = []Operation{Evict} }), Evict, false, message},
		"by annotation":                  {budget(exhausted, annotated(" EVICT ,,UPDATE")), Delete, false, "free"},
		"by annotation, listed":          {budget(exhausted, annotated(" EVICT ,,UPDATE")), Update, false, message},
		"by an empty annotation":         {budget(exhausted, annotated(" , ")), Delete, false, message},
		"the spec before the annotation": {budget(exhausted, annotated("DELETE"), func(b *Budget) { b.Spec.ProtectOperations = []Operation{Update} }), Delete, false, "free"},
		"a resize is an update":          {budget(exhausted), Resize, false, message},
		"unless they are told apart":     {budget(exhausted), Resize, true, "free"},
		"a resize that is listed":        {budget(exhausted, func(b *Budget) { b.Spec.ProtectOperations = []Operation{Resize} }), Resize, true, message},
		"a resize, updates not":          {budget(exhausted, func(b *Budget) { b.Spec.ProtectOperations = []Operation{Delete} }), Resize, false, "free"},
		"on its way":                     {budget(exhausted, func(b *Budget) { b.Status.DisruptedPods = map[string]metav1.Time{"web-1": {}} }), Delete, false, "free"},
		"updated a moment ago":           {budget(exhausted, func(b *Budget) { b.Status.UnavailablePods = map[string]metav1.Time{"web-1": {}} }), Delete, false, "free"},
		"2000 on their way":              {budget(crowd(2000)), Delete, false, "taken"},
		"2001 on their way":              {budget(crowd(2001)), Delete, false, "more than 2000 Pods are on their way out already, try again when some are gone"},
	} {
		verdict := judge(tt.budget, Claim{Pod: "web-1", Labels: map[string]string{"app": "web"}, Operation: tt.operation}, tt.apart)
		got := [...]string{"free", "taken", verdict.Message}[verdict.Outcome]
		if got != tt.want || verdict.Allowed() != (verdict.Message == "") {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func annotated(operations string) func(*Budget) {
	return func(b *Budget) { b.Annotations = map[string]string{"kruise.io/pub-protect-operations": operations} }
}

// What is recorded where, and that a batch cannot take more than there is.
func TestSettle(t *testing.T) {
	b := budget(func(b *Budget) { b.Status.UnavailableAllowed = 3 })
	claims := []Claim{
		{Pod: "dry", Operation: Delete, DryRun: true}, {Pod: "a", Operation: Delete}, {Pod: "b", Operation: Update}, {Pod: "a", Operation: Evict},
		{Pod: "c", Operation: Resize}, {Pod: "d", Operation: Evict}, {Pod: "dry", Operation: Delete, DryRun: true},
	}
	verdicts, changed := settle(b, claims, now, false)
	var outcomes []Outcome
	for _, v := range verdicts {
		outcomes = append(outcomes, v.Outcome)
	}
	if diff := cmp.Diff([]Outcome{Taken, Taken, Taken, Free, Taken, Denied, Denied}, outcomes); diff != "" || !changed {
		t.Error(changed, diff)
	}
	at := metav1.NewTime(now)
	if diff := cmp.Diff(map[string]metav1.Time{"a": at}, b.Status.DisruptedPods); diff != "" {
		t.Error(diff)
	}
	// A resize is no deletion to be waited for: protection.md §7, trap 7.
	if diff := cmp.Diff(map[string]metav1.Time{"b": at, "c": at}, b.Status.UnavailablePods); diff != "" {
		t.Error(diff)
	}
	if b.Status.UnavailableAllowed != 0 {
		t.Errorf("%d left", b.Status.UnavailableAllowed)
	}
	if _, changed := settle(budget(), []Claim{{Pod: "a", Operation: Delete, DryRun: true}}, now, false); changed {
		t.Error("a dry run is written")
	}
}

// protection.md §3, steps 1 to 3, and §4.2.
func TestWhichPodsAreUnderABudget(t *testing.T) {
	digest := "web@sha256:" + strings.Repeat("a", 64)
	sidecar := func(now, running, before string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Annotations["kruise.io/sidecarset-inplace-update-state"] = `{"set":{"lastContainerStatuses":{"agent":{"imageID":"` + before + `"}}}}`
			pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "agent", Image: now, Env: []corev1.EnvVar{{Name: "IS_INJECTED", Value: "true"}}})
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: "agent", Image: running, ImageID: "agent@sha256:01"})
		}
	}
	for name, tt := range map[string]struct {
		pod  *corev1.Pod
		want string
	}{
		"one":              {available(), "web"},
		"by the old key":   {available(func(p *corev1.Pod) { delete(p.Annotations, "pub.kruise.io/related-pub") }), "web"},
		"the new key wins": {available(func(p *corev1.Pod) { p.Annotations["kruise.io/related-pub"] = "old" }), "web"},
		"none":             {available(func(p *corev1.Pod) { p.Annotations = nil }), ""},
		"exempt":           {available(func(p *corev1.Pod) { p.Annotations["pub.kruise.io/no-protect"] = "T" }), ""},
		"not exempt":       {available(func(p *corev1.Pod) { p.Annotations["pub.kruise.io/no-protect"] = "yes" }), "web"},
		"pending":          {available(func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }), ""},
		"not ready":        {available(func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }), ""},
		"terminating":      {available(func(p *corev1.Pod) { p.DeletionTimestamp = ptr.To(metav1.NewTime(now)) }), ""},
		"marked":           {available(func(p *corev1.Pod) { p.Labels["unavailable-pod.kruise.io/test"] = "" }), ""},
		"same digest": {available(func(p *corev1.Pod) {
			p.Spec.Containers[0].Image, p.Status.ContainerStatuses[0].ImageID = digest, "docker-pullable://mirror/"+digest
		}), "web"},
		"another digest":            {available(func(p *corev1.Pod) { p.Spec.Containers[0].Image = digest }), ""},
		"grace period of an update": {available(func(p *corev1.Pod) { p.Annotations["apps.kruise.io/inplace-update-grace"] = `{"revision":"r"}` }), ""},
		"image not changed yet": {available(func(p *corev1.Pod) {
			p.Spec.Containers[0].Image = "web:v2"
			p.Annotations["apps.kruise.io/inplace-update-state"] = `{"revision":"r","lastContainerStatuses":{"web":{"imageID":"web@sha256:aa"}}}`
		}), ""},
		"image changed": {available(func(p *corev1.Pod) {
			p.Spec.Containers[0].Image = "web:v2"
			p.Annotations["apps.kruise.io/inplace-update-state"] = `{"revision":"r","lastContainerStatuses":{"web":{"imageID":"web@sha256:00"}}}`
		}), "web"},
		"sidecar not changed yet": {available(sidecar("agent:v2", "agent:v1", "agent@sha256:01")), ""},
		"sidecar changed":         {available(sidecar("agent:v2", "agent:v2", "agent@sha256:00")), "web"},
		"sidecar of one image":    {available(sidecar("agent:v2", "agent:v2", "agent@sha256:01")), "web"},
	} {
		if got := budgetOf(tt.pod); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestFixedTotal(t *testing.T) {
	total := func(text string) func(*Budget) {
		return func(b *Budget) { b.Annotations = map[string]string{"pub.kruise.io/protect-total-replicas": text} }
	}
	for name, tt := range map[string]struct {
		budget *Budget
		want   int32
		fixed  bool
	}{
		"none":         {budget(), 0, false},
		"spec":         {budget(func(b *Budget) { b.Spec.ProtectTotalReplicas = ptr.To[int32](7) }, total("8")), 7, true},
		"annotation":   {budget(total("8")), 8, true},
		"not a number": {budget(total("many")), 0, false},
		"no int32":     {budget(total("3000000000")), 2147483647, false},
	} {
		if got, fixed := FixedTotal(tt.budget); fixed != tt.fixed || fixed && got != tt.want {
			t.Errorf("%s: %d %v", name, got, fixed)
		}
	}
}
