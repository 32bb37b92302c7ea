package budget

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1beta1 "github.com/fairlead-io/fairlead/api/policy/v1beta1"
)

// atOnce is how many deletions and evictions come at once.
const atOnce = 64

func TestBudgets(t *testing.T) {
	w := newWorld(t)
	w.budget("crowd", 1, nil)
	// The webhooks are registered when new Pods are told their budget.
	w.eventually(func() string {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, GenerateName: "p-", Labels: map[string]string{"app": "crowd"}}, Spec: podSpec()}
		if err := w.Create(t.Context(), pod, client.DryRunAll); err != nil {
			return err.Error()
		}
		if pod.Annotations["pub.kruise.io/related-pub"] != "crowd" {
			return fmt.Sprintf("a new Pod has annotations %v", pod.Annotations)
		}
		return ""
	})
	t.Run("what costs and what does not", func(t *testing.T) { costs(t, w) })
	t.Run("64 at once", func(t *testing.T) { crowd(t, w) })
	t.Run("deleted meanwhile", func(t *testing.T) { deletedMeanwhile(t, w) })
}

func (w *world) budget(name string, unavailable int, operations []policyv1beta1.PubOperation) {
	w.Helper()
	w.must(w.Create(w.Context(), &policyv1beta1.PodUnavailableBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		Spec: policyv1beta1.PodUnavailableBudgetSpec{
			Selector:       &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
			MaxUnavailable: ptr.To(intstr.FromInt(unavailable)), ProtectOperations: operations,
		},
	}))
}

func (w *world) named(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
}

func (w *world) evict(name string, options ...client.SubResourceCreateOption) error {
	return w.SubResource("eviction").Create(w.Context(), w.named(name), &policyv1.Eviction{}, options...)
}

func (w *world) patch(name, body string, options ...client.PatchOption) error {
	return w.Patch(w.Context(), w.named(name), client.RawPatch("application/strategic-merge-patch+json", []byte(body)), options...)
}

// denied is a 403 that names the budget.
func denied(err error, budget string) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), `"`+budget+`" is forbidden`)
}

// crowd: never is one Pod too many let go, and what may go is let go.
func crowd(t *testing.T, w *world) {
	w.deploy("crowd", atOnce)
	unanswered := 0
	for round := range rounds {
		allowed := 1 + rand.IntN(8)
		b := &policyv1beta1.PodUnavailableBudget{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "crowd"}}
		w.must(w.Patch(t.Context(), b, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"maxUnavailable":%d}}`, allowed))))
		w.allows("crowd", int32(allowed))
		begin := time.Now()
		got := w.rush("crowd")
		// A call that the API server gave up may have taken a unit that then nobody used.
		if got.admitted > allowed || got.admitted < allowed-got.unanswered || got.conflicts > 0 {
			t.Errorf("round %d: %d allowed, of %d %+v", round, allowed, atOnce, got)
		}
		t.Logf("round %d: %d allowed, %+v in %s", round, allowed, got, time.Since(begin))
		unanswered += got.unanswered
		w.replace("crowd", atOnce)
		w.eventually(func() string {
			if s := w.status("crowd"); s.UnavailableAllowed < 1 {
				return fmt.Sprintf("with all Pods back the budget says %+v", s)
			}
			return ""
		})
		// From now on no replica may say no, whatever it knew before.
		for i := range replicas {
			if err := w.Delete(t.Context(), w.named(fmt.Sprintf("crowd-%d", i)), client.DryRunAll); err != nil {
				t.Errorf("round %d: denied although the budget allows it again: %v", round, err)
			}
		}
	}
	if most := rounds * atOnce / 20; unanswered > most {
		t.Errorf("%d of %d calls were not answered in time; on a busy machine %d may be", unanswered, rounds*atOnce, most)
	}
}

// outcomes are what became of requests: allowed, denied by a conflict, or given up by the API server, which is a denial too.
// All others were denied by an exhausted budget.
type outcomes struct{ admitted, conflicts, unanswered int }

// rush deletes and evicts all Pods at once.
func (w *world) rush(name string) outcomes {
	var went, conflicting, unanswered atomic.Int64
	var group sync.WaitGroup
	for i := range atOnce {
		group.Go(func() {
			pod := fmt.Sprintf("%s-%d", name, i)
			act := func() error { return w.Delete(w.Context(), w.named(pod)) }
			if i%2 == 0 {
				act = func() error { return w.evict(pod) }
			}
			switch err := act(); {
			case err == nil:
				went.Add(1)
			case strings.Contains(err.Error(), "failed calling webhook"):
				unanswered.Add(1)
			case !denied(err, name):
				w.Errorf("%s: %v", pod, err)
			case !strings.Contains(err.Error(), "exhausted"):
				conflicting.Add(1)
			}
		})
	}
	group.Wait()
	return outcomes{int(went.Load()), int(conflicting.Load()), int(unanswered.Load())}
}

// deletedMeanwhile: whoever asks for a budget that is gone may go on; nobody is answered otherwise than by yes and no.
func deletedMeanwhile(t *testing.T, w *world) {
	var group sync.WaitGroup
	group.Go(func() {
		time.Sleep(time.Duration(rand.IntN(100)) * time.Millisecond)
		if err := w.Delete(t.Context(), &policyv1beta1.PodUnavailableBudget{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "crowd"}}); err != nil {
			t.Error(err)
		}
	})
	got := w.rush("crowd")
	group.Wait()
	for i := range atOnce {
		pod := fmt.Sprintf("crowd-%d", i)
		if err := w.Delete(t.Context(), w.named(pod)); client.IgnoreNotFound(err) != nil {
			t.Errorf("without a budget %s cannot be deleted: %v", pod, err)
		}
	}
	t.Logf("while the budget was being deleted: %+v", got)
}

// costs: each kind of request, on one budget of which one Pod may go.
func costs(t *testing.T, w *world) {
	w.budget("web", 1, nil)
	w.deploy("web", 4)
	w.allows("web", 1)
	const image = `{"spec":{"containers":[{"name":"web","image":"bank.test/web:v2"}]}}`
	const marked = `{"metadata":{"labels":{"unavailable-pod.kruise.io/test":"true"}}}`
	for what, err := range map[string]error{
		"a dry run of a deletion":   w.Delete(t.Context(), w.named("web-0"), client.DryRunAll),
		"a dry run of an eviction":  w.evict("web-1", client.DryRunAll),
		"a dry run in the eviction": w.SubResource("eviction").Create(t.Context(), w.named("web-1"), &policyv1.Eviction{DeleteOptions: &metav1.DeleteOptions{DryRun: []string{"All"}}}),
		"a dry run of an update":    w.patch("web-2", image, client.DryRunAll),
		"an update of metadata":     w.patch("web-0", `{"metadata":{"labels":{"a":"b"},"annotations":{"c":"d"}}}`),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if s := w.status("web"); s.UnavailableAllowed != 1 || len(s.DisruptedPods)+len(s.UnavailablePods) > 0 {
		t.Errorf("what takes nothing left %+v", s)
	}
	w.must(w.patch("web-0", image))
	if s := w.status("web"); s.UnavailableAllowed != 0 || len(s.UnavailablePods) != 1 {
		t.Errorf("an update left %+v", s)
	}
	resize := func() error {
		pod := w.named("web-1")
		w.must(w.Get(t.Context(), client.ObjectKeyFromObject(pod), pod))
		pod.Spec.Containers[0].Resources.Requests = cpu("200m")
		return w.SubResource("resize").Update(t.Context(), pod)
	}
	for what, err := range map[string]error{
		"a deletion": w.Delete(t.Context(), w.named("web-1")), "an eviction": w.evict("web-1"), "an update": w.patch("web-1", image),
		"a label": w.patch("web-1", marked), "a resize": resize(), "a dry run": w.Delete(t.Context(), w.named("web-1"), client.DryRunAll),
	} {
		if !denied(err, "web") {
			t.Errorf("%s: %v, want a denial", what, err)
		}
	}
	w.eventually(func() string {
		list := &corev1.EventList{}
		w.must(w.List(t.Context(), list, client.InNamespace(w.namespace)))
		for i := range list.Items {
			e := &list.Items[i]
			if e.Reason == "PubPreventPodDeletion" && e.InvolvedObject.Name == "web-1" && e.Type == corev1.EventTypeWarning {
				return ""
			}
		}
		return "there is no event of the denial"
	})
	w.must(w.Delete(t.Context(), w.named("web-0"))) // its unit is paid for
	w.must(w.patch("web-2", `{"metadata":{"annotations":{"pub.kruise.io/no-protect":"true"}}}`))
	w.must(w.Delete(t.Context(), w.named("web-2")))
	// One that is not ready is no loss.
	pod := w.named("web-1")
	w.must(w.Get(t.Context(), client.ObjectKeyFromObject(pod), pod))
	pod.Status.Conditions[0].Status = corev1.ConditionFalse
	w.must(w.Status().Update(t.Context(), pod))
	w.must(w.Delete(t.Context(), pod))
	if err := w.Delete(t.Context(), w.named("web-3")); !denied(err, "web") {
		t.Errorf("the last one: %v", err)
	}
}
