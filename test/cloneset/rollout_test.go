package cloneset

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autoscalingv1 "k8s.io/api/autoscaling/v1"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

const steady = `
metadata: {name: steady}
spec:
  replicas: 8
  updateStrategy: {type: RollingUpdate, rollingUpdate: {podUpdatePolicy: ReCreate, partition: 6, maxSurge: 50%, maxUnavailable: 0}}
  selector: {matchLabels: {app: steady}}
  template:
    metadata: {labels: {app: steady}}
    spec:
      terminationGracePeriodSeconds: 2
      containers: [{name: web, image: "web:v1"}]
`

// watcher keeps the extremes of what was there since the last reset.
type watcher struct {
	mutex           sync.Mutex
	most, fewest    int
	stop, stoppedCh chan struct{}
}

func (w *world) watch(namespace string) *watcher {
	x := &watcher{stop: make(chan struct{}), stoppedCh: make(chan struct{})}
	x.reset()
	go func() {
		defer close(x.stoppedCh)
		for {
			select {
			case <-x.stop:
				return
			case <-time.After(30 * time.Millisecond):
			}
			list := &corev1.PodList{}
			if err := w.List(w.Context(), list, client.InNamespace(namespace)); err != nil {
				continue
			}
			x.note(list.Items)
		}
	}()
	w.Cleanup(func() { close(x.stop); <-x.stoppedCh })
	return x
}

func (x *watcher) note(pods []corev1.Pod) {
	there, ready := 0, 0
	for i := range pods {
		if pods[i].DeletionTimestamp == nil {
			there++
			if isTrue(&pods[i], corev1.PodReady) {
				ready++
			}
		}
	}
	x.mutex.Lock()
	defer x.mutex.Unlock()
	x.most, x.fewest = max(x.most, there), min(x.fewest, ready)
}

func (x *watcher) reset() (most, fewest int) {
	x.mutex.Lock()
	defer x.mutex.Unlock()
	most, fewest = x.most, x.fewest
	x.most, x.fewest = 0, 1<<30
	return most, fewest
}

// surge is a rollout with surge and partition, while an autoscaler changes the replicas.
func surge(w *world) {
	ns := w.namespace("surge")
	set := w.apply(ns, steady)
	w.settled(set, 8, 8, 8)
	seen := w.watch(ns)
	counts := func(old, updated int) {
		w.Helper()
		w.eventually(func() string {
			n := map[string]int{}
			for _, pod := range w.pods(ns) {
				if pod.DeletionTimestamp == nil {
					n[pod.Spec.Containers[0].Image]++
				}
			}
			current := w.read(set)
			s := current.Status
			if n["web:v1"] == old && n["web:v2"] == updated && int(s.Replicas) == old+updated && int(s.AvailableReplicas) == old+updated &&
				int(s.UpdatedReplicas) == updated && int(s.ExpectedUpdatedReplicas) == updated && s.ObservedGeneration == current.Generation {
				return ""
			}
			return fmt.Sprintf("Pods are %v, status %+v; want %d and %d", n, s, old, updated)
		})
	}
	extremes := func(step string, most, fewest int) {
		w.Helper()
		if m, f := seen.reset(); m > most || f < fewest {
			w.Errorf("%s: at most %d Pods and at least %d ready were seen, want %d and %d", step, m, f, most, fewest)
		}
	}
	scale := func(n int32) {
		w.Helper()
		w.must(w.SubResource("scale").Update(w.Context(), set, client.WithSubResourceBody(&autoscalingv1.Scale{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: set.Name}, Spec: autoscalingv1.ScaleSpec{Replicas: n},
		})))
	}
	w.edit(set, image("web:v2"))
	counts(6, 2)
	extremes("updating", 10, 8)
	scale(10)
	counts(6, 4)
	extremes("scaling out", 10, 8)
	scale(7)
	counts(6, 1)
	extremes("scaling in", 10, 7)
	w.edit(set, func(s *v1beta1.CloneSet) {
		s.Spec.UpdateStrategy.RollingUpdate.Partition = ptr.To(intstr.FromString("50%"))
	})
	counts(4, 3)
	extremes("lowering the partition", 9, 7)
	current := &autoscalingv1.Scale{}
	w.must(w.SubResource("scale").Get(w.Context(), set, current))
	if current.Status.Selector != "app=steady" || current.Status.Replicas != 7 {
		w.Errorf("the scale is %+v", current.Status)
	}
}

// hooks is the life of Pods whose operator lets them go: it plays the part that takes them out of a service registry.
func hooks(w *world) {
	ns := w.namespace("hooks")
	set := w.apply(ns, strings.Replace(plain, "spec:\n", `spec:
  lifecycle:
    preDelete: {markPodNotReady: true, labelsHandler: {hook-delete: "true"}}
    inPlaceUpdate: {markPodNotReady: true, finalizersHandler: [example.io/hook]}
`, 1))
	w.edit(set, func(s *v1beta1.CloneSet) {
		s.Spec.Template.Labels["hook-delete"] = "true"
		s.Spec.Template.Finalizers = []string{"example.io/hook"}
		s.Spec.Template.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "KruisePodReady"}}
	})
	w.eventually(func() string {
		pods := w.pods(ns)
		for i := range pods {
			w.consent(&pods[i]) // to the change of the template above, if it came after the first Pods
		}
		current := w.read(set)
		s := current.Status
		if s.ObservedGeneration == current.Generation && s.CurrentRevision == s.UpdateRevision && s.AvailableReplicas == 3 && s.UpdatedAvailableReplicas == 3 {
			return ""
		}
		return fmt.Sprintf("the status is %+v", s)
	})
	w.edit(set, image("web:v2"))
	var unready []string
	w.eventually(func() string {
		pods := w.pods(ns)
		for i := range pods {
			if pods[i].Labels[v1beta1.LifecycleStateLabel] == "PreparingUpdate" && !isTrue(&pods[i], corev1.PodReady) && !slices.Contains(unready, pods[i].Name) {
				unready = append(unready, pods[i].Name)
			}
			w.consent(&pods[i])
		}
		current := w.read(set)
		if s := current.Status; s.ObservedGeneration != current.Generation || s.UpdatedAvailableReplicas != 3 || s.CurrentRevision != s.UpdateRevision {
			return fmt.Sprintf("the status is %+v", s)
		}
		return ""
	})
	if len(unready) != 3 {
		w.Errorf("%v were unready before their update, want all", unready)
	}
	w.edit(set, func(s *v1beta1.CloneSet) { s.Spec.Replicas = ptr.To[int32](2) })
	w.eventually(func() string {
		for _, pod := range w.pods(ns) {
			if pod.Labels[v1beta1.LifecycleStateLabel] == "PreparingDelete" && !isTrue(&pod, corev1.PodReady) {
				return ""
			}
		}
		return "no Pod prepares for its deletion, unready"
	})
	w.eventually(func() string {
		pods := w.pods(ns)
		for i := range pods {
			w.consent(&pods[i])
		}
		if len(pods) == 2 {
			return ""
		}
		return fmt.Sprintf("%d Pods", len(pods))
	})
}

// consent is what the operator does to a Pod in its state.
func (w *world) consent(pod *corev1.Pod) {
	base := pod.DeepCopy()
	switch pod.Labels[v1beta1.LifecycleStateLabel] {
	case "PreparingUpdate":
		pod.Finalizers = nil
	case "Updated":
		pod.Finalizers = []string{"example.io/hook"}
	case "PreparingDelete":
		delete(pod.Labels, "hook-delete")
	}
	if pod.DeletionTimestamp != nil {
		pod.Finalizers = nil
	}
	if err := w.Patch(w.Context(), pod, client.MergeFrom(base)); client.IgnoreNotFound(err) != nil {
		w.Log(err) // the next look tries again
	}
}

// volumes is what becomes of claims.
func volumes(w *world) {
	ns := w.namespace("volumes")
	set := w.apply(ns, strings.Replace(plain, "spec:\n", `spec:
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`, 1))
	w.settled(set, 3, 3, 3)
	names := func() []string {
		list := &corev1.PersistentVolumeClaimList{}
		w.must(w.List(w.Context(), list, client.InNamespace(ns)))
		var all []string
		for _, c := range list.Items {
			// Nothing here takes the finalizer away that holds a claim while a Pod uses it, nor collects what a Pod owned.
			if c.DeletionTimestamp == nil && c.OwnerReferences[0].Kind != "Pod" {
				all = append(all, c.Name)
			}
		}
		return all
	}
	ofPods := func() (all []string) {
		for _, pod := range w.pods(ns) {
			if pod.DeletionTimestamp == nil {
				all = append(all, "data-"+pod.Name)
			}
		}
		return all
	}
	same := func() string { return cmp.Diff(ofPods(), names()) }
	w.eventually(same)
	gone := w.pods(ns)[0]
	w.must(w.Delete(w.Context(), &gone))
	w.eventually(func() string {
		if len(ofPods()) != 3 || slices.Contains(names(), "data-"+gone.Name) {
			return "the claim of the deleted Pod stays"
		}
		return same()
	})
	w.edit(set, func(s *v1beta1.CloneSet) { s.Spec.Replicas = ptr.To[int32](1) })
	w.eventually(func() string {
		if n := len(ofPods()); n != 1 {
			return fmt.Sprintf("%d Pods", n)
		}
		return same()
	})
}
