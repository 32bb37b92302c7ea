package sources

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
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

// What is called like a copy and is none stays as it is.
func TestWriterLeavesOthersAlone(t *testing.T) {
	r := newRig(t)
	theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: copyName}, Data: map[string]string{"x": "y"}}
	client := fake.NewClientset(theirs, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "p", UID: "u1"}})
	w := NewWriter(r.Keeper, client, namespace, record.NewFakeRecorder(10), clocktesting.NewFakeClock(noon))
	r.upsert(t, labelledMap(namespace, "p", rules(`deny contains "one"`), "", labelled))
	if err := w.keep(t.Context(), r.States()[0]); err == nil || !strings.Contains(err.Error(), copyName+" is there without the label") {
		t.Errorf("%v", err)
	}
	if found, err := client.CoreV1().ConfigMaps(namespace).Get(t.Context(), copyName, metav1.GetOptions{}); err != nil || found.Data["x"] != "y" {
		t.Errorf("%+v, %v", found, errors.Join(err))
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
