package cloneset

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func claims(size string) setEdit {
	return func(s *cloneSet) {
		s.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{
			ObjectMeta: metav1.ObjectMeta{Name: "data", Labels: map[string]string{"own": "1"}},
			Spec:       corev1.PersistentVolumeClaimSpec{Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{"storage": resource.MustParse(size)}}},
		}}
	}
}

func reuse(s *cloneSet) { s.Spec.ScaleStrategy.EnablePVCReuse = true }

func (w *world) claims() []corev1.PersistentVolumeClaim {
	w.Helper()
	list := &corev1.PersistentVolumeClaimList{}
	w.must(w.List(w.Context(), list, client.InNamespace("ns")))
	return list.Items
}

// claimNames are those of claims that are not ending.
func (w *world) claimNames() []string {
	w.Helper()
	var names []string
	for _, c := range w.claims() {
		if c.DeletionTimestamp == nil {
			names = append(names, c.Name)
		}
	}
	return names
}

func TestClaimsComeAndGoWithTheirPods(t *testing.T) {
	w := newWorld(t, replicas(2), claims("1Gi"))
	w.settle()
	c := w.claims()[0]
	want := map[string]string{"own": "1", "app": "web", "apps.kruise.io/cloneset-instance-id": "id001"}
	if diff := cmp.Diff(want, c.Labels); diff != "" || !metav1.IsControlledBy(&c, w.set()) {
		t.Error(diff, c.OwnerReferences)
	}
	if got := w.pods()[0].Spec.Volumes[0]; got.Name != "data" || got.PersistentVolumeClaim.ClaimName != "data-web-id001" {
		t.Errorf("the volume is %+v", got)
	}
	w.edit(image("web:2"), claims("2Gi"))
	w.settle()
	for _, c := range w.claims() {
		if size := c.Spec.Resources.Requests["storage"]; size.String() != "2Gi" || len(w.claims()) != 2 {
			t.Errorf("of %d claims, %s has %s", len(w.claims()), c.Name, size.String())
		}
	}
	w.edit(inPlace, image("web:3"))
	before := w.claimNames()
	w.settle()
	if diff := cmp.Diff(before, w.claimNames()); diff != "" {
		t.Errorf("an update in place changed claims: %s", diff)
	}
	w.edit(replicas(1))
	w.settle()
	if diff := cmp.Diff([]string{"data-" + w.live()[0]}, w.claimNames()); diff != "" {
		t.Error(diff)
	}
}

func TestClaimsAreReused(t *testing.T) {
	w := newWorld(t, replicas(2), claims("1Gi"), reuse)
	w.settle()
	w.editPod("web-id001", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
	w.settle()
	if diff := cmp.Diff([]string{"web-id002", "web-id003"}, w.live()); diff != "" {
		t.Errorf("while the failed Pod is there, its name is not used: %s", diff)
	}
	w.must(w.Delete(t.Context(), w.pods()[0]))
	w.edit(replicas(3))
	w.settle()
	if diff := cmp.Diff([]string{"web-id001", "web-id002", "web-id003"}, w.live()); diff != "" {
		t.Errorf("then its claim is used again: %s", diff)
	}
	if diff := cmp.Diff([]string{"data-web-id001", "data-web-id002", "data-web-id003"}, w.claimNames()); diff != "" {
		t.Error(diff)
	}
}

// TestAReplacementWaitsForItsClaim has a Pod deleted whose containers take their time to end.
func TestAReplacementWaitsForItsClaim(t *testing.T) {
	byHand := func(w *world) { w.must(w.Delete(w.Context(), w.pods()[0])) }
	asked := func(w *world) {
		w.editPod("web-id001", func(p *corev1.Pod) { p.Labels["apps.kruise.io/specified-delete"] = "true" })
		w.sync()
	}
	both := []string{"web-id002", "web-id003"}
	for name, test := range map[string]struct {
		edits  []setEdit
		remove func(*world)
		scale  int32
		during []string
		stuck  bool
		want   []string
	}{
		"it ends":                     {edits: []setEdit{claims("1Gi"), reuse}, remove: byHand, scale: 2, during: both[:1], want: []string{"web-id001", "web-id002"}},
		"it does not":                 {edits: []setEdit{claims("1Gi"), reuse}, remove: byHand, scale: 2, during: both[:1], stuck: true, want: both},
		"its claim is not reused":     {edits: []setEdit{claims("1Gi")}, remove: byHand, scale: 2, during: both, want: both},
		"it has none":                 {edits: []setEdit{reuse}, remove: byHand, scale: 2, during: both, want: both},
		"one more replica is wanted":  {edits: []setEdit{claims("1Gi"), reuse}, remove: byHand, scale: 3, during: both, want: []string{"web-id001", "web-id002", "web-id003"}},
		"fewer replicas are wanted":   {edits: []setEdit{claims("1Gi"), reuse}, remove: byHand, scale: 1, during: both[:1], want: both[:1]},
		"the CloneSet has deleted it": {edits: []setEdit{claims("1Gi"), reuse}, remove: asked, scale: 2, during: both, want: both},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, append(test.edits, replicas(2), func(s *cloneSet) { s.Spec.Template.Finalizers = []string{"example.io/slow"} })...)
			w.settle()
			test.remove(w)
			deleted := w.pods()[0].DeletionTimestamp.Time
			w.clock.SetTime(deleted)
			w.edit(replicas(test.scale))
			w.settle()
			if diff := cmp.Diff(test.during, w.live()); diff != "" {
				t.Errorf("while it ends: %s", diff)
			}
			if test.stuck {
				again, left := w.sync().RequeueAfter, deleted.Add(30*time.Second).Sub(w.clock.Now())
				if again != left {
					t.Errorf("it looks again after %s, want %s", again, left)
				}
				w.clock.SetTime(w.clock.Now().Add(again))
			} else {
				w.editPod("web-id001", func(p *corev1.Pod) { p.Finalizers = nil })
			}
			w.settle()
			if diff := cmp.Diff(test.want, w.live()); diff != "" {
				t.Errorf("then: %s", diff)
			}
		})
	}
}

func TestClaimsAreNotReused(t *testing.T) {
	w := newWorld(t, replicas(2), claims("1Gi"))
	w.settle()
	w.editPod("web-id001", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
	w.settle()
	i := slices.IndexFunc(w.claims(), func(c corev1.PersistentVolumeClaim) bool { return c.Name == "data-web-id001" })
	want := []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "web-id001", UID: "uid-of-web-id001"}}
	if diff := cmp.Diff(want, w.claims()[i].OwnerReferences); diff != "" {
		t.Errorf("the claim of the failed Pod is owned by: %s", diff)
	}
	w.must(w.Delete(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web-id002"}}))
	w.settle()
	if diff := cmp.Diff([]string{"data-web-id001", "data-web-id003", "data-web-id004"}, w.claimNames()); diff != "" {
		t.Errorf("the claim of the deleted Pod is deleted: %s", diff)
	}
}

// TestClaimsThatAreThereAreNotMadeAgain has a claim to be used again, and a Pod that waits for a node with the claim that it
// has. A Pod at the old revision gets the claims of now.
func TestClaimsThatAreThereAreNotMadeAgain(t *testing.T) {
	v1, v2 := at(t, "web:1", 1), at(t, "web:2", 2)
	both := func(s *cloneSet) {
		claims("2Gi")(s)
		s.Spec.VolumeClaimTemplates = append(s.Spec.VolumeClaimTemplates, corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "logs"}})
	}
	set := newSet(image("web:2"), replicas(2), both, reuse, limits("2", "1", "0"), func(s *cloneSet) { s.Status.CurrentRevision = v1.Name })
	there := func(id string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data-web-" + id, Labels: map[string]string{"apps.kruise.io/cloneset-instance-id": id}}}
	}
	waiting := podAt(v1, "web-a", func(p *corev1.Pod) {
		p.Labels["apps.kruise.io/cloneset-instance-id"] = "a"
		p.Spec.NodeName = ""
		p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-web-a"}}}}
	})
	seen := &snapshot{revisions: []*appsv1.ControllerRevision{v1, v2}, claims: []*corev1.PersistentVolumeClaim{there("a"), there("b")}}
	seen.pods.Active = []*corev1.Pod{waiting}
	plan, err := makePlan(set, seen, start, Settings{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Missing) > 0 {
		t.Errorf("%s is made again under a Pod that waits", plan.Missing[0].Name)
	}
	if len(plan.Scale.Create) != 1 {
		t.Fatalf("%d Pods are created, want one", len(plan.Scale.Create))
	}
	made := plan.Scale.Create[0]
	if made.Pod.Name != "web-b" || made.Pod.Labels["controller-revision-hash"] != v1.Name || len(made.Claims) != 1 || made.Claims[0].Name != "logs-web-b" || len(made.Pod.Spec.Volumes) != 2 {
		t.Errorf("%s is created at %s with claims %v and volumes %v", made.Pod.Name, made.Pod.Labels["controller-revision-hash"], made.Claims, made.Pod.Spec.Volumes)
	}
}

// TestAnEndingClaimIsNotMounted has a claim that is to go while its name is to be used again.
func TestAnEndingClaimIsNotMounted(t *testing.T) {
	w := newWorld(t, replicas(1), claims("1Gi"), reuse)
	w.settle()
	c := w.claims()[0]
	c.Finalizers = []string{"kubernetes.io/pvc-protection"}
	w.must(w.Update(t.Context(), &c))
	w.must(w.Delete(t.Context(), &c))
	w.must(w.Delete(t.Context(), w.pods()[0]))
	w.settle()
	if diff := cmp.Diff([]string{"web-id002"}, w.live()); diff != "" {
		t.Error(diff)
	}
}

func TestAClaimIsNotDeletedUnderARunningPod(t *testing.T) {
	w := newWorld(t, replicas(1), claims("1Gi"))
	w.settle()
	orphan := w.claims()[0]
	w.writes = nil
	if err := w.reconciler.deleteOrphan(t.Context(), w.set(), &orphan); err == nil || len(w.writes) > 0 {
		t.Errorf("%v, writes %v", err, w.writes)
	}
}

// TestClaimsGoAlthoughTheControllerStopped scales in, and stops when the Pod is deleted and its claim is not.
func TestClaimsGoAlthoughTheControllerStopped(t *testing.T) {
	w := newWorld(t, replicas(2), claims("1Gi"), reuse, func(s *cloneSet) { s.Spec.Template.Finalizers = []string{"example.io/slow"} })
	w.settle()
	w.edit(replicas(1))
	w.fail = func(verb string, obj client.Object) error {
		if _, isClaim := obj.(*corev1.PersistentVolumeClaim); isClaim && verb == "delete" {
			return errors.New("killed")
		}
		return nil
	}
	w.clock.SetTime(w.clock.Now().Add(2 * time.Second))
	if _, err := w.reconcile(); err == nil || len(w.live()) != 1 || len(w.claimNames()) != 2 {
		t.Fatalf("%v; Pods are %v, claims %v", err, w.live(), w.claimNames())
	}
	w.fail = nil
	w.reconciler = New(w.reconciler.Options)
	w.settle()
	if diff := cmp.Diff([]string{"data-" + w.live()[0]}, w.claimNames()); diff != "" {
		t.Error(diff)
	}
}

// TestClaimsOfAPodThatFailedBeforeItsDeletion has one be asked to be deleted and evicted: the CloneSet did not delete it, so
// that its claims are kept to be used again.
func TestClaimsOfAPodThatFailedBeforeItsDeletion(t *testing.T) {
	w := newWorld(t, replicas(1), claims("1Gi"), reuse)
	w.settle()
	w.editPod("web-id001", func(p *corev1.Pod) {
		asked(p)
		p.Status.Phase = corev1.PodFailed
	})
	w.settle()
	if diff := cmp.Diff([]string{"data-web-id001", "data-web-id002"}, w.claimNames()); diff != "" {
		t.Error(diff)
	}
}

// TestOnlyClaimsToBeReusedTakeAMark counts the writes of a deletion: the mark is for claims that would be used again.
func TestOnlyClaimsToBeReusedTakeAMark(t *testing.T) {
	for name, tt := range map[string]struct {
		edits []setEdit
		want  []string
	}{
		"no claims":    {[]setEdit{reuse}, []string{"delete Pod"}},
		"not reused":   {[]setEdit{claims("1Gi")}, []string{"delete Pod", "delete PersistentVolumeClaim"}},
		"to be reused": {[]setEdit{claims("1Gi"), reuse}, []string{"patch Pod", "delete Pod", "delete PersistentVolumeClaim"}},
	} {
		w := newWorld(t, tt.edits...)
		w.settle()
		w.edit(replicas(2))
		w.writes = nil
		w.sync()
		if got := slices.DeleteFunc(w.writes, func(s string) bool { return strings.HasSuffix(s, " CloneSet") }); !slices.Equal(got, tt.want) {
			t.Errorf("%s: it writes %v, want %v", name, got, tt.want)
		}
	}
}

// TestAClaimThatEndsIsNotForANewPod has the cache not show the claim, and a Pod be made under its id.
func TestAClaimThatEndsIsNotForANewPod(t *testing.T) {
	w := newWorld(t, replicas(0), claims("1Gi"))
	w.settle()
	ending := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "data-web-id001", Finalizers: []string{"kubernetes.io/pvc-protection"}}}
	w.must(w.Create(t.Context(), ending))
	w.must(w.Delete(t.Context(), ending))
	w.edit(replicas(1))
	if _, err := w.reconcile(); !errors.Is(err, errClaimEnds) || len(w.pods()) > 0 {
		t.Errorf("%v, and Pods are %v", err, w.live())
	}
	w.settle()
	if diff := cmp.Diff([]string{"web-id002"}, w.live()); diff != "" {
		t.Error(diff)
	}
}

// TestClaimsOfAPodThatIsGoneAlreadyGoToo has the cache still show a Pod that is to go.
func TestClaimsOfAPodThatIsGoneAlreadyGoToo(t *testing.T) {
	w := newWorld(t, replicas(2), claims("1Gi"), reuse, podsToDelete("web-id001"))
	w.settle()
	w.edit(podsToDelete("web-id002"), replicas(1))
	pod := w.pods()[0]
	w.editPod(pod.Name, asked) // by a leader that stopped after it deleted the Pod
	w.stale()
	w.must(w.Delete(t.Context(), pod))
	w.sync()
	if got := w.claimNames(); slices.Contains(got, "data-"+pod.Name) {
		t.Errorf("claims are %v, of Pods %v", got, w.live())
	}
}
