package cloneset

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/test/installation"
)

// TestTakeover has the CloneSets, revisions, Pods and claims that a running OpenKruise left, in the middle of a rollout
// that a partition holds. Starting Fairlead writes nothing but statuses.
func TestTakeover(t *testing.T) {
	w := newWorld(t)
	uids := map[types.UID]types.UID{}
	ns := w.namespace("takeover")
	w.loadCloneSets(ns, uids)
	w.loadOwned(ns, uids)
	before := w.pods(ns)
	if len(before) != 7 {
		t.Fatalf("there are %d Pods", len(before))
	}
	written := w.run("")
	w.eventually(func() string {
		list := &v1beta1.CloneSetList{}
		w.must(w.List(t.Context(), list, client.InNamespace(ns)))
		for _, set := range list.Items {
			if set.Status.ObservedGeneration != set.Generation {
				return "CloneSet " + set.Name + " was not looked at"
			}
		}
		return ""
	})
	time.Sleep(5 * time.Second)
	got := written.in(ns)
	delete(got, "PATCH clonesets/status")
	if diff := cmp.Diff(map[string]int{}, got); diff != "" {
		t.Errorf("it wrote: %s", diff)
	}
	if diff := cmp.Diff(before, w.pods(ns)); diff != "" {
		t.Error(diff)
	}
	shop := w.read(&v1beta1.CloneSet{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "shop"}})
	want := v1beta1.CloneSetStatus{
		ObservedGeneration: shop.Generation, Replicas: 3, ReadyReplicas: 3, AvailableReplicas: 3, UpdatedReplicas: 2, UpdatedReadyReplicas: 2,
		UpdatedAvailableReplicas: 2, ExpectedUpdatedReplicas: 2, UpdateRevision: "shop-79499558f7", CurrentRevision: "shop-66c7d96cfb",
		CollisionCount: new(int32), LabelSelector: "app=shop",
	}
	if diff := cmp.Diff(want, shop.Status); diff != "" {
		t.Error(diff)
	}
}

func (w *world) fixture(name string, list any) {
	w.Helper()
	root, err := installation.Root(w.Context())
	w.must(err)
	data, err := os.ReadFile(filepath.Join(root, "controllers", "podset", "testdata", "takeover", "2-updated", name))
	w.must(err)
	w.must(yaml.Unmarshal(data, list))
}

// own prepares an object to be created here, owned by whom it was owned there.
func own(obj client.Object, namespace string, uids map[types.UID]types.UID) bool {
	ref := metav1.GetControllerOf(obj)
	if ref == nil || uids[ref.UID] == "" {
		return false
	}
	ref.UID = uids[ref.UID]
	obj.SetOwnerReferences([]metav1.OwnerReference{*ref})
	fresh(obj, namespace)
	return true
}

func fresh(obj client.Object, namespace string) {
	obj.SetNamespace(namespace)
	obj.SetUID("")
	obj.SetResourceVersion("")
	obj.SetManagedFields(nil)
}

func (w *world) loadCloneSets(namespace string, uids map[types.UID]types.UID) {
	w.Helper()
	list := &v1beta1.CloneSetList{}
	w.fixture("clonesets.v1beta1.apps.kruise.io.yaml", list)
	for i := range list.Items {
		set := &list.Items[i]
		old, status := set.UID, set.Status
		fresh(set, namespace)
		set.OwnerReferences = nil
		w.must(w.Create(w.Context(), set))
		status.ObservedGeneration = 0 // the generation starts anew
		set.Status = status
		w.must(w.Status().Update(w.Context(), set))
		uids[old] = set.UID
	}
}

func (w *world) loadOwned(namespace string, uids map[types.UID]types.UID) {
	w.Helper()
	revisions, claims, pods := &appsv1.ControllerRevisionList{}, &corev1.PersistentVolumeClaimList{}, &corev1.PodList{}
	w.fixture("controllerrevisions.yaml", revisions)
	w.fixture("persistentvolumeclaims.yaml", claims)
	w.fixture("pods.yaml", pods)
	for i := range revisions.Items {
		if own(&revisions.Items[i], namespace, uids) {
			w.must(w.Create(w.Context(), &revisions.Items[i]))
		}
	}
	for i := range claims.Items {
		if own(&claims.Items[i], namespace, uids) {
			w.must(w.Create(w.Context(), &claims.Items[i]))
		}
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if !own(pod, namespace, uids) {
			continue
		}
		status := pod.Status
		w.must(w.Create(w.Context(), pod))
		pod.Status = status
		w.must(w.Status().Update(w.Context(), pod))
	}
}
