package explain

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/mutators/podview"
	"github.com/fairlead-io/fairlead/mutators/sidecarset"
)

func gated(condition string, conditions ...corev1.PodCondition) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u"}}
	p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: corev1.PodConditionType(condition)}}
	p.Status.Conditions = conditions
	return p
}

func TestGates(t *testing.T) {
	const ours = "KruisePodReady"
	cloneSet := &podview.Pod{OwnerReferences: []podview.OwnerReference{{APIVersion: "apps.kruise.io/v1alpha1", Kind: "CloneSet", Name: "web", Controller: true}}}
	for _, tt := range []struct {
		name         string
		pod          *corev1.Pod
		view         *podview.Pod
		every        bool
		added, means string
	}{
		{"not set", gated(ours), cloneSet, false, "CloneSet web of apps.kruise.io/v1alpha1", "kruise-controller-manager has not set"},
		{"true", gated(ours, corev1.PodCondition{Type: ours, Status: "True"}), cloneSet, false, "CloneSet web", "does not hold"},
		{"held", gated(ours, corev1.PodCondition{Type: ours, Status: "False", Message: `[{"userAgent":"Lifecycle","key":"preDeleteHook"}]`}), cloneSet, false, "CloneSet web",
			"held unready by Lifecycle (preDeleteHook)"},
		{"held by nobody known", gated(ours, corev1.PodCondition{Type: ours, Status: "False", Message: "x"}), cloneSet, false, "CloneSet web", "whoever set the condition"},
		{"every Pod's", gated(ours), &podview.Pod{}, true, "as to every Pod", "kruise-controller-manager"},
		{"the template's", gated(ours), &podview.Pod{}, false, "its template", "kruise-controller-manager"},
		{"another's, not set", gated("example.com/a"), cloneSet, false, "its template", "nobody has set"},
		{"another's, false", gated("example.com/a", corev1.PodCondition{Type: "example.com/a", Status: "False"}), cloneSet, false, "its template", "until the condition is True"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := gates(t.Context(), tt.pod, tt.view, tt.every)
			if len(got) != 1 || !strings.Contains(got[0].AddedBy, tt.added) || !strings.Contains(got[0].Meaning, tt.means) {
				t.Errorf("%+v, want %q and %q", got, tt.added, tt.means)
			}
		})
	}
}

func TestWhoSetAGate(t *testing.T) {
	p := gated("KruisePodReady", corev1.PodCondition{Type: "KruisePodReady", Status: "True"})
	fields := metav1.ManagedFieldsEntry{Manager: "kubelet", FieldsV1: &metav1.FieldsV1{}}
	fields.FieldsV1.SetRawBytes([]byte(`{"f:status":{"f:conditions":{"k:{\"type\":\"Ready\"}":{}}}}`))
	controller := metav1.ManagedFieldsEntry{Manager: "kruise-manager", Subresource: "status", FieldsV1: &metav1.FieldsV1{}}
	controller.FieldsV1.SetRawBytes([]byte(`{"f:status":{"f:conditions":{"k:{\"type\":\"KruisePodReady\"}":{".":{},"f:status":{}}}}}`))
	p.ManagedFields = []metav1.ManagedFieldsEntry{fields, controller}
	if got := setBy(p, "KruisePodReady"); got != "kruise-manager" {
		t.Errorf("%q", got)
	}
	if got := setBy(p, "example.com/other"); got != "" {
		t.Errorf("%q set a condition that is not there", got)
	}
}

func TestStateOf(t *testing.T) {
	version, other := &sidecarset.Version{Hash: "h", Revision: "s-1"}, &sidecarset.Version{Hash: "g"}
	for _, tt := range []struct {
		outcome  sidecarset.Outcome
		recorded *sidecarset.Version
		want     State
	}{
		{sidecarset.Injected, version, UpToDate}, {sidecarset.Injected, other, Outdated}, {sidecarset.Injected, nil, NotInPod},
		{sidecarset.Injected, &sidecarset.Version{Hash: "h", Revision: "s-0"}, Outdated},
		{sidecarset.OtherLabels, version, LeftOver}, {sidecarset.InjectionPaused, version, LeftOver}, {sidecarset.InjectionPaused, nil, KeptOut},
		{sidecarset.NameTaken, nil, KeptOut}, {sidecarset.CanaryInstead, nil, KeptOut}, {sidecarset.NoVersion, nil, KeptOut},
		{sidecarset.OtherLabels, nil, NotSelected}, {sidecarset.OtherNamespace, nil, NotSelected}, {sidecarset.NoSelector, nil, NotSelected},
		{sidecarset.Unusable, nil, NotSelected}, {sidecarset.PodIsOver, version, NotSelected}, {sidecarset.PatchesMetadata, nil, UpToDate},
	} {
		e := &sidecarset.Explanation{Outcome: tt.outcome, Version: *version, Recorded: tt.recorded}
		if got := stateOf(e); got != tt.want {
			t.Errorf("%s with %v: %s, want %s", tt.outcome, tt.recorded, got, tt.want)
		}
	}
}
