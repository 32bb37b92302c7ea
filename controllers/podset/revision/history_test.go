package revision

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
)

func template(image string) *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "a"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}},
	}
}

func owner(t *corev1.PodTemplateSpec) Owner {
	return Owner{
		Object:   &metav1.ObjectMeta{Namespace: "ns", Name: "set", UID: "u", Annotations: map[string]string{"note": "x"}},
		Kind:     kind("CloneSet"),
		Template: t, Annotations: map[string]string{"claims": "7"},
	}
}

func TestDataIsOfTheTemplateAlone(t *testing.T) {
	got, err := Data(template("nginx:1"))
	want := `{"spec":{"template":{"$patch":"replace","metadata":{"creationTimestamp":null,"labels":{"app":"a"}},` +
		`"spec":{"containers":[{"image":"nginx:1","name":"main","resources":{}}]}}}}`
	if err != nil || string(got) != want {
		t.Errorf("data is %s (%v), want %s", got, err, want)
	}
}

func TestDataOfClaimsInsideVolumes(t *testing.T) {
	spec := template("nginx:1")
	spec.Spec.Volumes = []corev1.Volume{{Name: "a"}, {Name: "e", VolumeSource: corev1.VolumeSource{
		Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{}},
	}}}
	got, err := Data(spec)
	if err != nil || !strings.Contains(string(got), `"volumeClaimTemplate":{"metadata":{"creationTimestamp":null},"spec":{"resources":{}}}`) {
		t.Errorf("data is %s (%v)", got, err)
	}
}

// TestFindInHistory plays the life of a template: A, B, back to A, C.
func TestFindInHistory(t *testing.T) {
	var history []*appsv1.ControllerRevision
	step := func(image string, want Step, number int64, length int) *appsv1.ControllerRevision {
		t.Helper()
		Sort(history)
		before := fmt.Sprint(history)
		got, err := Find(owner(template(image)), history, 0)
		if err != nil || got.Step != want || got.Revision.Revision != number {
			t.Fatalf("%s: step %v to number %d (%v), want %v to %d", image, got.Step, got.Revision.Revision, err, want, number)
		}
		if fmt.Sprint(history) != before {
			t.Fatal("the history was changed")
		}
		switch got.Step {
		case Create:
			history = append(history, got.Revision)
		case Renumber:
			for i, r := range history {
				if r.Name == got.Revision.Name {
					history[i] = got.Revision
				}
			}
		case Keep:
		}
		if len(history) != length {
			t.Fatalf("%s: %d revisions, want %d", image, len(history), length)
		}
		return got.Revision
	}
	a := step("a", Create, 1, 1)
	step("a", Keep, 1, 1)
	step("b", Create, 2, 2)
	step("b", Keep, 2, 2)
	delete(a.Annotations, "claims")
	back := step("a", Renumber, 3, 2)
	if back.Name != a.Name || back.Annotations["claims"] != "7" {
		t.Errorf("rolling back went to %s with %v", back.Name, back.Annotations)
	}
	step("a", Keep, 3, 2)
	step("c", Create, 4, 3)
}

func TestASpellingIsNotANewRevision(t *testing.T) {
	for _, spelling := range []string{
		// Without creationTimestamp, as Kubernetes 1.34 types write.
		`{"spec":{"template":{"$patch":"replace","metadata":{"labels":{"app":"a"}},"spec":{"containers":[{"image":"nginx:1","name":"main","resources":{}}]}}}}`,
		// With another order of keys, spaces and without an empty object.
		`{"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "nginx:1"}]}, "metadata": {"labels": {"app": "a"}}, "$patch": "replace"}}}`,
	} {
		stored := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: "set-x"}, Data: runtime.RawExtension{Raw: []byte(spelling)}, Revision: 1}
		got, err := Find(owner(template("nginx:1")), []*appsv1.ControllerRevision{stored}, 0)
		if err != nil || got.Step != Keep || got.Revision.Name != "set-x" {
			t.Errorf("%s: step %v to %s (%v)", spelling, got.Step, got.Revision.Name, err)
		}
	}
	broken := &appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: []byte(`{"spec":`)}, Revision: 1}
	if got, err := Find(owner(template("nginx:1")), []*appsv1.ControllerRevision{broken}, 0); err != nil || got.Step != Create {
		t.Errorf("beside an unreadable revision: step %v, %v", got.Step, err)
	}
}

func TestNames(t *testing.T) {
	data := []byte("x")
	if Hash(data, 0) == Hash(data, 1) {
		t.Error("a collision changes nothing")
	}
	long := strings.Repeat("n", 240)
	if got := Name(long, "bcd"); got != strings.Repeat("n", 223)+"-bcd" {
		t.Errorf("a long name becomes %s", got)
	}
	for _, tt := range []struct {
		label, name string
		want        bool
	}{
		{"set-bcd", "set-bcd", true}, {"bcd", "set-bcd", true}, {"set-bcd", "bcd", true}, {"bcd", "set-a-bcd", true},
		{"bcf", "set-bcd", false}, {"", "set-bcd", false}, {"", "", false}, {"set-", "set-bcd", false},
	} {
		if got := Matches(tt.label, tt.name); got != tt.want {
			t.Errorf("label %q for %q: %v", tt.label, tt.name, got)
		}
	}
}

func TestSurplusKeepsWhatLivesAndTheNewestDead(t *testing.T) {
	var sorted []*appsv1.ControllerRevision
	for i := range 6 {
		sorted = append(sorted, &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: strconv.Itoa(i)}, Revision: int64(i)})
	}
	live := func(r *appsv1.ControllerRevision) bool { return r.Name == "0" || r.Name == "5" }
	for limit, want := range map[int][]string{0: {"1", "2", "3", "4"}, 1: {"1", "2", "3"}, 3: {"1"}, 4: nil, 10: nil} {
		var got []string
		for _, r := range Surplus(sorted, live, limit) {
			got = append(got, r.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("limit %d: %s", limit, diff)
		}
	}
}

// TestDataComesBack checks that writing, reading and writing a template again is the same, whatever is in it.
func TestDataComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := template(rapid.StringN(0, 20, -1).Draw(t, "image"))
		spec.Annotations = rapid.MapOf(rapid.StringMatching(`[a-z<>&]{1,8}`), rapid.String()).Draw(t, "annotations")
		spec.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: ptr.To(rapid.Int64Range(0, 1<<52).Draw(t, "user"))}
		data, err := Data(spec)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Template(data)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Data(back)
		if err != nil || string(again) != string(data) {
			t.Errorf("%s comes back as %s (%v)", data, again, err)
		}
	})
}
