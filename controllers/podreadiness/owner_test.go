package podreadiness

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/fairlead-io/fairlead/controllers/podcache"
)

func TestThePodsOfCloneSetsAreLeftToThemForAWhile(t *testing.T) {
	gates := []string{"InPlaceUpdateReady", "KruisePodReady"}
	of := func(apiVersion, kind string, pod *corev1.Pod) *corev1.Pod {
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: "o", UID: "o", Controller: ptr.To(true)}}
		pod.CreationTimestamp = metav1.NewTime(now.Add(2*time.Second - ownerPatience))
		pod.Spec.NodeName = "node"
		return pod
	}
	transform := podcache.Transform(Keep)
	for name, tt := range map[string]struct {
		pod  *corev1.Pod
		want time.Duration
	}{
		"new": {of("apps.kruise.io/v1alpha1", "CloneSet", podWith(gates)), 2 * time.Second},
		"scheduled late": {
			of("apps.kruise.io/v1beta1", "CloneSet", podWith(gates, corev1.PodCondition{
				Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now.Add(3*time.Second - ownerPatience)),
			})), 3 * time.Second,
		},
		"of another kind":        {of("apps.kruise.io/v1beta1", "StatefulSet", podWith(gates)), 0},
		"of another group":       {of("example.com/v1", "CloneSet", podWith(gates)), 0},
		"without the other gate": {of("apps.kruise.io/v1beta1", "CloneSet", podWith(gates[1:])), 0},
		"other gate is open":     {of("apps.kruise.io/v1beta1", "CloneSet", podWith(gates, condition("InPlaceUpdateReady", "True"))), 0},
		"nobody's":               {podWith(gates), 0},
	} {
		kept, err := transform(tt.pod.DeepCopy())
		if err != nil {
			t.Fatal(err)
		}
		if got := leftToOwner(kept.(*corev1.Pod), now); got != tt.want {
			t.Errorf("%s: left for %s, want %s", name, got, tt.want)
		}
		if got := leftToOwner(tt.pod, now.Add(3*time.Second)); got != 0 {
			t.Errorf("%s: after that it is left for %s", name, got)
		}
	}
	unscheduled := of("apps.kruise.io/v1beta1", "CloneSet", podWith(gates))
	unscheduled.Spec.NodeName = ""
	if got := leftToOwner(unscheduled, now.Add(time.Hour)); got != notYet {
		t.Errorf("without a node: left for %s", got)
	}
	patches := 0
	pod := of("apps.kruise.io/v1beta1", "CloneSet", podWith(gates))
	api := counted(&patches, nil, pod)
	result, err := New(api, clocktesting.NewFakePassiveClock(now)).Reconcile(t.Context(), request)
	if err != nil || result.RequeueAfter != 2*time.Second || patches != 0 {
		t.Errorf("%+v, %v, %d patches", result, err, patches)
	}
	if _, err := New(api, clocktesting.NewFakePassiveClock(now.Add(3*time.Second))).Reconcile(t.Context(), request); err != nil || patches != 1 {
		t.Errorf("%v, %d patches", err, patches)
	}
}
