package sources

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fairlead-io/fairlead/validators/userpolicy"
)

const copyName = "p.last-good"

// copyOfP is a copy of the set p as the API server sends it.
func copyOfP(in, rego string, owner types.UID, labels map[string]string) []byte {
	raw, err := json.Marshal(corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: in, Name: copyName, Labels: labels,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "p", UID: owner}},
		},
		Data: map[string]string{"a.rego": rego},
	})
	if err != nil {
		panic(err)
	}
	return raw
}

var keptLabels = map[string]string{KeptLabel: "true"}

// A process that starts while the newest version has a mistake has the copy in force, whichever of the two it hears of first.
func TestTheLastGoodVersionOutlivesTheProcess(t *testing.T) {
	good, bad := rules(`deny contains "one"`), rules(`deny contains x`)
	for name, c := range map[string]struct {
		newest  string
		copied  []byte
		inForce bool
	}{
		"the copy of it":               {bad, copyOfP(namespace, good, "u1", keptLabels), true},
		"the copy of another object":   {bad, copyOfP(namespace, good, "u0", keptLabels), false},
		"a copy in another namespace":  {bad, copyOfP("shop", good, "u1", keptLabels), false},
		"one without the label":        {bad, copyOfP(namespace, good, "u1", nil), false},
		"a copy that does not compile": {bad, copyOfP(namespace, bad, "u1", keptLabels), false},
	} {
		for _, first := range []string{"copy", "set"} {
			t.Run(name+", after the "+first, func(t *testing.T) {
				r := newRig(t)
				copies := NewKeptCopies(t.Context(), r.Keeper, namespace)
				if first == "set" {
					r.upsert(t, labelledMap(namespace, "p", c.newest, "", labelled))
				}
				if err := copies.Upsert(c.copied); err != nil {
					t.Fatal(err)
				}
				if first == "copy" {
					r.upsert(t, labelledMap(namespace, "p", c.newest, "", labelled))
				}
				if set := r.Sets.Get("p"); (set != nil) != c.inForce {
					t.Errorf("in force is %v", set)
				}
				if _, unusable := r.Unusable()["p"]; unusable == c.inForce {
					t.Errorf("requests are told that it is unusable: %v", unusable)
				}
				status := statusOf(r.States()[0], nil)
				if status.State != Invalid || (status.Revision != "") != c.inForce || !strings.Contains(status.Message, "a.rego:6") {
					t.Errorf("its status is %+v", status)
				}
			})
		}
	}
}

// A copy that does not compile either is not compiled again each time that it is told of, but one with other content is.
func TestAUselessCopyIsTriedOnce(t *testing.T) {
	good, bad := rules(`deny contains "one"`), rules(`deny contains x`)
	r := newRig(t)
	compiled := 0
	compile := r.compile
	r.compile = func(ctx context.Context, found Found) (*userpolicy.Set, error) {
		compiled++
		return compile(ctx, found)
	}
	copies := NewKeptCopies(t.Context(), r.Keeper, namespace)
	r.upsert(t, labelledMap(namespace, "p", bad, "", labelled))
	for range 3 {
		if err := copies.Upsert(copyOfP(namespace, bad, "u1", keptLabels)); err != nil {
			t.Fatal(err)
		}
	}
	if compiled != 2 {
		t.Errorf("compiled %d times, want the set and its copy once each", compiled)
	}
	if err := copies.Upsert(copyOfP(namespace, good, "u1", keptLabels)); err != nil || r.Sets.Get("p") == nil {
		t.Errorf("a copy with other content is not in force, %v", err)
	}
}

func TestTheNewestVersionComesBeforeTheCopy(t *testing.T) {
	r := newRig(t)
	copies := NewKeptCopies(t.Context(), r.Keeper, namespace)
	if err := copies.Upsert(copyOfP(namespace, rules(`deny contains "one"`), "u1", keptLabels)); err != nil {
		t.Fatal(err)
	}
	r.upsert(t, labelledMap(namespace, "p", rules(`deny contains "two"`), "", labelled))
	if state := r.States()[0]; state.Failure != nil || state.InForce.Hash != state.Found || r.kept["p"].files != nil {
		t.Errorf("%+v", state)
	}
	copies.Delete(namespace, "p"+strings.Repeat("x", len(keptSuffix)))
	if state := r.States()[0]; state.Kept == nil {
		t.Error("the copy is forgotten for another ConfigMap that is gone")
	}
	copies.Delete(namespace, copyName)
	if state := r.States()[0]; state.Kept != nil {
		t.Errorf("a copy that is gone is remembered: %+v", state.Kept)
	}
}

func TestWriterKeepsWhatIsInForce(t *testing.T) {
	r := newRig(t)
	client := fake.NewClientset(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "p", UID: "u1"}})
	w := NewWriter(r.Keeper, client, namespace, record.NewFakeRecorder(10), clocktesting.NewFakeClock(noon))
	kept := func() *corev1.ConfigMap {
		found, err := client.CoreV1().ConfigMaps(namespace).Get(t.Context(), copyName, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	first, second := rules(`deny contains "one"`), rules(`deny contains "two"`)
	for _, step := range []struct{ newest, inForce string }{{first, first}, {rules(`deny contains x`), first}, {second, second}} {
		r.upsert(t, labelledMap(namespace, "p", step.newest, "", labelled))
		w.round(t.Context())
		found := kept()
		if !maps.Equal(found.Data, map[string]string{"a.rego": step.inForce}) || found.Labels[KeptLabel] != "true" || found.OwnerReferences[0].UID != "u1" {
			t.Errorf("kept is %+v", found)
		}
	}
	writes := len(client.Actions())
	w.round(t.Context())
	if n := len(client.Actions()); n != writes {
		t.Errorf("%d writes without news", n-writes)
	}
}

// asRefused has a patch of what has no label refused as the API server does: there the test of a patch fails as 422.
func asRefused(client *fake.Clientset) {
	client.PrependReactor("patch", "configmaps", func(action k8stesting.Action) (bool, runtime.Object, error) {
		patch := action.(k8stesting.PatchAction)
		if patch.GetPatchType() != types.JSONPatchType {
			return false, nil, nil
		}
		found, err := client.Tracker().Get(action.GetResource(), action.GetNamespace(), patch.GetName())
		if err != nil {
			return true, nil, err
		}
		if found.(*corev1.ConfigMap).Labels[KeptLabel] == "true" {
			return false, nil, nil
		}
		return true, nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "patch", action.GetResource().GroupResource(), "", "", 0, false)
	})
}

// What is called like a copy and is none stays as it is. The status of the set says so, once, until the name is free.
func TestWriterLeavesOthersAlone(t *testing.T) {
	r := newRig(t)
	theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: copyName}, Data: map[string]string{"x": "y"}}
	client := fake.NewClientset(theirs, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "p", UID: "u1"}})
	asRefused(client)
	recorder, clock := record.NewFakeRecorder(10), clocktesting.NewFakeClock(noon)
	w := NewWriter(r.Keeper, client, namespace, recorder, clock)
	r.upsert(t, labelledMap(namespace, "p", rules(`deny contains "one"`), "", labelled))
	for range 3 {
		w.round(t.Context())
	}
	status := r.States()[0].Object.Status
	if !strings.Contains(status, `"state":"Active"`) || !strings.Contains(status, copyName+", whose name is for our copy of the set, has not the label "+KeptSelector) {
		t.Errorf("its status is %s", status)
	}
	if event := <-recorder.Events; len(recorder.Events) > 0 || !strings.HasPrefix(event, "Warning "+ReasonIncomplete+" ConfigMap "+namespace+"/"+copyName) {
		t.Errorf("it is told as %s, and %d times more", event, len(recorder.Events))
	}
	if n := len(client.Actions()); n != 3 { // a creation, a patch and the status
		t.Errorf("%d writes in three rounds", n)
	}
	if found, err := client.CoreV1().ConfigMaps(namespace).Get(t.Context(), copyName, metav1.GetOptions{}); err != nil || found.Data["x"] != "y" {
		t.Errorf("%+v, %v", found, err)
	}
	if err := client.CoreV1().ConfigMaps(namespace).Delete(t.Context(), copyName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	clock.Step(takenAgain)
	w.round(t.Context())
	if status := r.States()[0].Object.Status; strings.Contains(status, "notKept") || r.States()[0].Kept == nil {
		t.Errorf("the name is free, and its status is %s", status)
	}
}

// A copy that the watch does not show yet is written over.
func TestWriterWritesOverACopyThatItDoesNotKnow(t *testing.T) {
	r := newRig(t)
	ours := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: copyName, Labels: keptLabels}, Data: map[string]string{"x": "y"}}
	client := fake.NewClientset(ours, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "p", UID: "u1"}})
	asRefused(client)
	w := NewWriter(r.Keeper, client, namespace, record.NewFakeRecorder(10), clocktesting.NewFakeClock(noon))
	r.upsert(t, labelledMap(namespace, "p", rules(`deny contains "one"`), "", labelled))
	w.round(t.Context())
	found, err := client.CoreV1().ConfigMaps(namespace).Get(t.Context(), copyName, metav1.GetOptions{})
	if err != nil || found.Data["a.rego"] == "" || found.Data["x"] != "" || strings.Contains(r.States()[0].Object.Status, "notKept") {
		t.Errorf("%+v, %v, and the status is %s", found, err, r.States()[0].Object.Status)
	}
}

// A copy that is gone without anybody telling is made anew.
func TestWriterMakesACopyAnew(t *testing.T) {
	r := newRig(t)
	client := fake.NewClientset(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "p", UID: "u1"}})
	w := NewWriter(r.Keeper, client, namespace, record.NewFakeRecorder(10), clocktesting.NewFakeClock(noon))
	r.upsert(t, labelledMap(namespace, "p", rules(`deny contains "one"`), "", labelled))
	w.round(t.Context())
	if err := client.CoreV1().ConfigMaps(namespace).Delete(t.Context(), copyName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	r.upsert(t, labelledMap(namespace, "p", rules(`deny contains "two"`), "", labelled))
	w.round(t.Context())
	w.round(t.Context())
	if _, err := client.CoreV1().ConfigMaps(namespace).Get(t.Context(), copyName, metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}
