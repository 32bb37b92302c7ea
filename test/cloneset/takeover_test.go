package cloneset

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

const (
	// resync has everything looked at again and again, without events. Informers take no tenth less than a second.
	resync = 1200 * time.Millisecond
	// resyncs is for how many of them to look for writes.
	resyncs = 6
	// allOn are the gates that matter to Pods, all on: those of the cluster that was dumped, and the controllers that
	// default gates leave out.
	allOn = "PodWebhook=true,CloneSetShortHash=true,PreDownloadImageForInPlaceUpdate=true,PodUnavailableBudgetUpdateGate=true," +
		"InPlaceWorkloadVerticalScaling=true,CloneSetEventHandlerOptimization=true,CloneSetPartitionRollback=true," +
		"PreparingUpdateAsUpdate=true,RecreatePodWhenChangeVCTInCloneSetGate=true,KruisePodReadinessGate=true"
	defaults = "PodWebhook=true"
)

// TestTakeover loads what a running OpenKruise left, at both stages, and runs Fairlead on it, twice, with the gates of that
// cluster and with its own: it writes nothing.
func TestTakeover(t *testing.T) {
	w := newWorld(t)
	w.define("*.yaml")
	for _, stage := range []string{created, updated} {
		t.Run(stage, func(t *testing.T) {
			w := w.in(t)
			l := w.load(w.dump(stage))
			before := w.versions(l)
			if len(before) < 45 {
				t.Fatalf("only %d objects were loaded", len(before))
			}
			first := true
			for _, gates := range []string{defaults, allOn, defaults} {
				w.untouched(l, before, gates, first)
				first = false
			}
		})
	}
}

// excused are the conditions that the reference leaves behind when two of its writers meet, and that end with the first
// sync that fails in nothing.
func excused(before []v1beta1.CloneSet) (names []string) {
	for i := range before {
		for _, c := range before[i].Status.Conditions {
			if c.Type == v1beta1.CloneSetConditionFailedUpdate && c.Status == corev1.ConditionTrue {
				names = append(names, before[i].Name)
			}
		}
	}
	return names
}

// untouched runs the process for some resyncs.
func (w *world) untouched(l *loaded, before map[string]string, gates string, first bool) {
	w.Helper()
	sets := w.cloneSets(l.namespace)
	written, stop := w.start(gates, resync)
	time.Sleep(resyncs * resync)
	stop()
	want := map[string]string{}
	var wantWrites []string
	if first {
		for _, name := range excused(sets) {
			wantWrites = append(wantWrites, "PATCH /apis/apps.kruise.io/v1beta1/namespaces/"+l.namespace+"/clonesets/"+name+"/status 200")
			want["CloneSet "+name] = "its condition FailedUpdate"
		}
	}
	writes := slices.DeleteFunc(written.all(), func(line string) bool { // other tests' objects may be there
		return strings.Contains(line, "/namespaces/") && !strings.Contains(line, "/namespaces/"+l.namespace+"/")
	})
	slices.Sort(writes)
	slices.Sort(wantWrites)
	if diff := cmp.Diff(wantWrites, writes); diff != "" {
		w.Errorf("with the gates %s it writes: %s", gates, diff)
	}
	after := w.versions(l)
	for name := range want {
		if after[name] == before[name] {
			w.Errorf("%s was written and is as before", name)
		}
		before[name] = after[name]
	}
	if diff := cmp.Diff(before, after); diff != "" {
		w.Errorf("with the gates %s objects are other ones: %s", gates, diff)
	}
	withoutConditions := cmpopts.IgnoreFields(v1beta1.CloneSetStatus{}, "Conditions")
	for i, set := range w.cloneSets(l.namespace) {
		if diff := cmp.Diff(sets[i].Status, set.Status, withoutConditions); diff != "" {
			w.Errorf("the status of %s: %s", set.Name, diff)
		}
	}
}

func (w *world) cloneSets(namespace string) []v1beta1.CloneSet {
	w.Helper()
	list := &v1beta1.CloneSetList{}
	w.must(w.List(w.Context(), list, client.InNamespace(namespace)))
	return list.Items
}

// TestUpgradeAfterTakeover takes over at the first stage and makes the edit that led to the second there: what comes of it
// is what OpenKruise made of it. The node's reports of restarted containers are those of then.
func TestUpgradeAfterTakeover(t *testing.T) {
	w := newWorld(t)
	w.define("*.yaml")
	l := w.load(w.dump(created))
	then := w.dump(updated)
	var was corev1.PodList
	for i := range then["pods"] {
		pod := corev1.Pod{}
		w.must(runtime.DefaultUnstructuredConverter.FromUnstructured(then["pods"][i].Object, &pod))
		was.Items = append(was.Items, pod)
	}
	written, stop := w.start("CloneSetShortHash=true,PreDownloadImageForInPlaceUpdate=true", 0)
	t.Cleanup(stop)
	before := byName(w.pods(l.namespace))
	for i := range then["clonesets"] {
		wanted := v1beta1.CloneSet{}
		w.must(runtime.DefaultUnstructuredConverter.FromUnstructured(then["clonesets"][i].Object, &wanted))
		if wanted.Name == "shop" {
			w.edit(w.set(l, "shop"), func(s *v1beta1.CloneSet) { s.Spec = wanted.Spec })
		}
	}
	w.eventually(func() string {
		w.report(l, byName(was.Items))
		s := w.set(l, "shop").Status
		if s.UpdatedAvailableReplicas == 2 && s.AvailableReplicas == 3 && s.ObservedGeneration == 2 {
			return ""
		}
		return "the status is " + jsonOf(w, s)
	})
	w.sameRevision(l, then, "shop-79499558f7")
	after := byName(w.pods(l.namespace))
	moved := 0
	for name, pod := range after {
		old := before[name]
		switch {
		case pod.ResourceVersion == old.ResourceVersion:
		case pod.Labels["app"] != "shop" || pod.UID != old.UID:
			t.Errorf("Pod %s was touched, or is another one", name)
		default:
			moved++
			w.sameUpdate(pod, byName(was.Items))
		}
	}
	if moved != 2 || len(after) != len(before) {
		t.Errorf("%d Pods were updated, and there are %d where there were %d", moved, len(after), len(before))
	}
	counts := written.in(l.namespace)
	delete(counts, "PATCH clonesets/status")
	// The revision is marked as one whose images are not pulled beforehand. A Pod whose CloneSet has hooks, but none for
	// this, goes from Updating to Updated, with its gate, and then to Normal.
	want := map[string]int{"POST controllerrevisions": 1, "PATCH controllerrevisions": 1, "PATCH pods": 4, "PATCH pods/status": 4}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Errorf("writes: %s", diff)
	}
	w.scaleUp(l, written)
}

// scaleUp makes one Pod more, at the revision of the template, and touches no other.
func (w *world) scaleUp(l *loaded, written *recorder) {
	w.Helper()
	before := byName(w.pods(l.namespace))
	w.edit(w.set(l, "shop"), func(s *v1beta1.CloneSet) { s.Spec.Replicas = ptr.To[int32](4) })
	w.eventually(func() string {
		if n := len(w.pods(l.namespace)); n != len(before)+1 {
			return "there are as many Pods as before"
		}
		return ""
	})
	for name, pod := range byName(w.pods(l.namespace)) {
		if old, there := before[name]; there {
			if old.ResourceVersion != pod.ResourceVersion {
				w.Errorf("scaling touched Pod %s", name)
			}
			continue
		}
		if pod.Labels["controller-revision-hash"] != "79499558f7" || pod.Labels["version"] != "2" || pod.Spec.Containers[0].Image != "nginx:1.15.1" {
			w.Errorf("the new Pod has the labels %v", pod.Labels)
		}
	}
	counts := written.in(l.namespace)
	delete(counts, "PATCH clonesets/status")
	if diff := cmp.Diff(map[string]int{"POST pods": 1}, counts); diff != "" {
		w.Errorf("writes of scaling: %s", diff)
	}
}

func (w *world) set(l *loaded, name string) *v1beta1.CloneSet {
	w.Helper()
	return w.read(&v1beta1.CloneSet{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: name}})
}

// report has the node report of updated Pods what it reported then.
func (w *world) report(l *loaded, was map[string]corev1.Pod) {
	w.Helper()
	for _, pod := range w.pods(l.namespace) {
		then := was[pod.Name]
		if then.Labels["version"] != "2" {
			then = was["shop-klpbm"] // this Pod was not updated then
		}
		if pod.Labels["app"] != "shop" || pod.Spec.Containers[0].Image != then.Spec.Containers[0].Image {
			continue
		}
		base := pod.DeepCopy()
		pod.Annotations["apps.kruise.io/runtime-containers-meta"] = then.Annotations["apps.kruise.io/runtime-containers-meta"]
		w.must(w.Patch(w.Context(), &pod, client.StrategicMergeFrom(base)))
		base = pod.DeepCopy()
		pod.Status.ContainerStatuses = then.Status.ContainerStatuses
		ready := true
		for _, gate := range pod.Spec.ReadinessGates {
			ready = ready && isTrue(&pod, gate.ConditionType)
		}
		set(&pod, corev1.PodReady, ready)
		if patch := client.StrategicMergeFrom(base); changed(patch, &pod) {
			w.must(w.Status().Patch(w.Context(), &pod, patch))
		}
	}
}

// sameRevision compares a revision that was made here with the one that was made then. Its name is a hash of its data.
func (w *world) sameRevision(l *loaded, then dump, name string) {
	w.Helper()
	got := &appsv1.ControllerRevision{}
	w.must(w.Get(w.Context(), client.ObjectKey{Namespace: l.namespace, Name: name}, got))
	for i := range then["controllerrevisions"] {
		want := &appsv1.ControllerRevision{}
		w.must(runtime.DefaultUnstructuredConverter.FromUnstructured(then["controllerrevisions"][i].Object, want))
		if want.Name != name {
			continue
		}
		compared := func(r *appsv1.ControllerRevision) []any {
			var data any
			w.must(json.Unmarshal(r.Data.Raw, &data))
			return []any{r.Labels, r.Annotations, r.Revision, data}
		}
		if diff := cmp.Diff(compared(want), compared(got)); diff != "" {
			w.Errorf("revision %s: %s", name, diff)
		}
		return
	}
	w.Fatalf("there was no revision %s", name)
}

// aTime is what differs of the annotations of two updates.
var aTime = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)

// sameUpdate compares an updated Pod with any that was updated then: which of three equal ones it is was up to their age.
func (w *world) sameUpdate(got corev1.Pod, was map[string]corev1.Pod) {
	w.Helper()
	for _, want := range was {
		if want.Labels["app"] != "shop" || want.Labels["version"] != "2" {
			continue
		}
		labels := map[string]string{}
		for k, v := range want.Labels {
			labels[k] = v
		}
		labels["apps.kruise.io/cloneset-instance-id"] = got.Labels["apps.kruise.io/cloneset-instance-id"]
		if diff := cmp.Diff(labels, got.Labels); diff != "" {
			w.Errorf("labels of %s: %s", got.Name, diff)
		}
		notes := func(pod corev1.Pod) map[string]string {
			all := map[string]string{}
			for k, v := range pod.Annotations {
				if !strings.Contains(k, "runtime-containers-meta") {
					all[k] = aTime.ReplaceAllString(v, "then")
				}
			}
			return all
		}
		if diff := cmp.Diff(notes(want), notes(got)); diff != "" {
			w.Errorf("annotations of %s: %s", got.Name, diff)
		}
		if diff := cmp.Diff(want.Spec.Containers[0].Image, got.Spec.Containers[0].Image); diff != "" {
			w.Errorf("image of %s: %s", got.Name, diff)
		}
		return
	}
}

func jsonOf(w *world, value any) string {
	w.Helper()
	data, err := json.Marshal(value)
	w.must(err)
	return string(data)
}
