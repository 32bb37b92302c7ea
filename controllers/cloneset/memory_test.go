package cloneset

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/controllers/podset/claim"
)

func ownerBy(selector string) claim.Owner {
	parsed, err := labels.Parse(selector)
	if err != nil {
		panic(err)
	}
	return claim.Owner{UID: "set-uid", Kind: groupKind, Selector: parsed}
}

// version is a version of a Pod of the CloneSet.
func version(t *testing.T, name, number string) *corev1.Pod {
	pod := podAt(at(t, "web:1", 1), name)
	pod.UID, pod.ResourceVersion = types.UID("uid-of-"+name), number
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(newSet(), kind)}
	return pod
}

func namesOf(pods []*corev1.Pod) string {
	var names []string
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	return strings.Join(names, " ")
}

// TestOnlyWhatChangedIsReadAgain lets a Pod change, one go, some come and one be made anew between two syncs.
func TestOnlyWhatChangedIsReadAgain(t *testing.T) {
	m, key, owner := newMemory(), types.NamespacedName{Name: "web"}, ownerBy("app=web")
	pods, first := m.read(key, owner, []*corev1.Pod{version(t, "f", "1"), version(t, "b", "1"), version(t, "d", "1"), version(t, "e", "1")})
	if got := namesOf(pods.Active); got != "b d e f" {
		t.Fatalf("the order is %s", got)
	}
	changed, anew := version(t, "d", "2"), version(t, "f", "1")
	changed.Annotations = map[string]string{"apps.kruise.io/inplace-update-state": "no state"}
	anew.UID = "another"
	pods, second := m.read(key, owner, []*corev1.Pod{anew, version(t, "g", "3"), version(t, "b", "1"), version(t, "a", "3"), changed, version(t, "c", "3")})
	if got := namesOf(pods.Active); got != "a b c d f g" {
		t.Fatalf("the order is %s", got)
	}
	if second[1] != first[0] {
		t.Error("what has not changed is read again")
	}
	if !first[1].progress.Complete() || second[3].progress.Complete() {
		t.Error("what d has become is not read")
	}
	if second[4] == first[3] {
		t.Error("another Pod of a name is taken for the one before")
	}
	if n := len(m.sets[key].roster.known); n != 6 {
		t.Errorf("%d Pods are remembered", n)
	}
	m.forget(key)
	if _, third := m.read(key, owner, []*corev1.Pod{version(t, "b", "1")}); third[0] == first[0] {
		t.Error("a CloneSet that is gone is remembered")
	}
}

// TestRolesChangeWithTheSelector changes it, which changes no version of a Pod.
func TestRolesChangeWithTheSelector(t *testing.T) {
	m, key := newMemory(), types.NamespacedName{Name: "web"}
	all := []*corev1.Pod{version(t, "a", "1")}
	if pods, _ := m.read(key, ownerBy("app=web"), all); len(pods.Active) != 1 {
		t.Fatal("it is not the CloneSet's")
	}
	if pods, _ := m.read(key, ownerBy("app=other"), all); len(pods.Active) > 0 || len(pods.Release) != 1 {
		t.Error("it is still the CloneSet's")
	}
	predecessor := ownerBy("app=other")
	predecessor.UID = "of before"
	if pods, _ := m.read(key, predecessor, all); len(pods.Release) > 0 {
		t.Error("it is another CloneSet's too")
	}
}

// TestOrdersOfAListAreOne turns a list that grows.
func TestOrdersOfAListAreOne(t *testing.T) {
	m, key := newMemory(), types.NamespacedName{Name: "web"}
	var all []*corev1.Pod
	for _, name := range strings.Split("e b k a i c", " ") {
		all = append(all, version(t, name, "1"))
		for range all {
			all = append(all[1:], all[0])
			pods, _ := m.read(key, ownerBy("app=web"), all)
			if !slices.IsSortedFunc(pods.Active, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) }) || len(pods.Active) != len(all) {
				t.Fatalf("of %s it makes %s", namesOf(all), namesOf(pods.Active))
			}
		}
	}
}
