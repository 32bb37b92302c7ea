package claim

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/utils/ptr"
)

func pod(name string, edits ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "a"}}}
	for _, e := range edits {
		e(p)
	}
	return p
}

func ref(apiVersion, kind, uid string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.OwnerReferences = append(p.OwnerReferences, metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: "set", UID: types.UID("u" + uid), Controller: ptr.To(true)})
	}
}

func ours(p *corev1.Pod)        { ref("apps.kruise.io/v1beta1", "CloneSet", "1")(p) }
func otherLabel(p *corev1.Pod)  { p.Labels = map[string]string{"app": "b"} }
func failed(p *corev1.Pod)      { p.Status.Phase = corev1.PodFailed }
func terminating(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }
func plainOwner(p *corev1.Pod) {
	ours(p)
	p.OwnerReferences[0].Controller = nil
}

func names(pods []*corev1.Pod) []string {
	var all []string
	for _, p := range pods {
		all = append(all, p.Name)
	}
	return all
}

func sorted(o Owner, pods []*corev1.Pod) (all Pods) {
	for _, p := range pods {
		all.Add(p, o.RoleOf(p))
	}
	return all
}

func TestRoles(t *testing.T) {
	owner := Owner{UID: "u1", Kind: schema.GroupKind{Group: "apps.kruise.io", Kind: "CloneSet"}, Selector: labels.SelectorFromSet(labels.Set{"app": "a"})}
	pods := []*corev1.Pod{
		pod("ours", ours), pod("of-old", ref("apps.kruise.io/v1alpha1", "CloneSet", "1")), pod("left", ours, otherLabel),
		pod("failed", ours, failed), pod("going", ours, terminating), pod("left-and-going", ours, otherLabel, terminating),
		pod("orphan"), pod("dead-orphan", failed), pod("strange-orphan", otherLabel), pod("theirs", ref("apps/v1", "ReplicaSet", "2")),
		pod("wrong-kind", ref("apps/v1", "CloneSet", "1")), pod("predecessor's", ref("apps.kruise.io/v1beta1", "CloneSet", "0")), pod("not-its-controller", plainOwner),
	}
	got := sorted(owner, pods)
	for name, tt := range map[string]struct{ got, want []string }{
		"active":   {names(got.Active), []string{"ours", "of-old"}},
		"inactive": {names(got.Inactive), []string{"failed", "going", "left-and-going"}},
		"release":  {names(got.Release), []string{"left"}},
		"adopt":    {names(got.Adopt), nil},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	owner.Adopts = func(p *corev1.Pod) bool { return p.Name == "orphan" }
	if diff := cmp.Diff([]string{"orphan"}, names(sorted(owner, pods).Adopt)); diff != "" {
		t.Error(diff)
	}
}

func TestPatchesOfOwners(t *testing.T) {
	p := pod("p", ref("v1", "Node", "9"), ours)
	p.OwnerReferences[0].Controller = nil
	p.UID, p.ResourceVersion = "p-uid", "7"
	patched := func(data []byte) []metav1.OwnerReference {
		t.Helper()
		raw, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		after, err := strategicpatch.StrategicMergePatch(raw, data, &corev1.Pod{})
		if err != nil {
			t.Fatal(err)
		}
		got := &corev1.Pod{}
		if err := json.Unmarshal(after, got); err != nil {
			t.Fatal(err)
		}
		return got.OwnerReferences
	}
	data, err := ReleasePatch(p, "u1").Data(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"uid":"p-uid"`, `"resourceVersion":"7"`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("the patch is of any Pod of its name, or any version: %s", data)
		}
	}
	both := p.OwnerReferences
	if diff := cmp.Diff(both[:1], patched(data)); diff != "" {
		t.Error(diff)
	}
	if data, err = AdoptPatch(p, both[1]).Data(p); err != nil {
		t.Fatal(err)
	}
	p.OwnerReferences = both[:1]
	if got := patched(data); len(got) != 2 || Index(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: got}})[0] != "u1" {
		t.Errorf("after adoption owners are %v", got)
	}
	if got := Index(pod("orphan")); got != nil {
		t.Errorf("an orphan is indexed as %v", got)
	}
}
