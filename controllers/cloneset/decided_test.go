package cloneset

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/podset/inplace"
	"github.com/fairlead-io/fairlead/controllers/podset/revision"
)

// beforeClosing has someone act when the gate of the first Pod is to be closed for a change in place.
func (w *world) beforeClosing(act func(name string)) {
	w.Helper()
	acted := false
	w.reconciler.Client = interceptor.NewClient(w.Client.(client.WithWatch), interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			if _, isPod := obj.(*corev1.Pod); isPod && !acted {
				acted = true
				act(obj.GetName())
			}
			return c.SubResource(sub).Patch(ctx, obj, patch, opts...)
		},
	})
}

// TestWhatWasDecidedMeanwhileIsNotOverwritten has somebody decide about a Pod while it is taken out of service for a change.
func TestWhatWasDecidedMeanwhileIsNotOverwritten(t *testing.T) {
	for name, act := range map[string]func(w *world, pod string){
		"deleted": func(w *world, pod string) {
			w.editPod(pod, hooked)
			for _, p := range w.pods() {
				if p.Name == pod {
					w.must(w.Delete(w.Context(), p))
				}
			}
		},
		"asked to be deleted":   func(w *world, pod string) { w.editPod(pod, asked) },
		"moved by a new leader": func(w *world, pod string) { w.editPod(pod, label("controller-revision-hash", "web-newest")) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, replicas(1), inPlace, limits("0", "1", "0"))
			w.settle()
			w.beforeClosing(func(pod string) { act(w, pod) })
			w.edit(image("web:2"))
			w.eventsNow()
			if result := w.sync(); result.RequeueAfter <= 0 {
				t.Error("it does not come again")
			}
			if got := w.pods()[0].Spec.Containers[0].Image; got != "web:1" {
				t.Errorf("its image is changed to %s", got)
			}
			if events := w.eventsNow(); len(events) > 0 || len(w.set().Status.Conditions) > 0 {
				t.Errorf("it tells of %v, %v", events, w.set().Status.Conditions)
			}
		})
	}
}

// TestAPodThatWasPutBackIsNotChanged has the change conflict, and the Pod then be in service or be another one.
func TestAPodThatWasPutBackIsNotChanged(t *testing.T) {
	for name, act := range map[string]func(*corev1.Pod){
		"put back in service": func(p *corev1.Pod) {
			for i := range p.Status.Conditions {
				if c := &p.Status.Conditions[i]; c.Type == v1beta1.InPlaceUpdateReady {
					c.Status = corev1.ConditionTrue
				}
			}
		},
		"another one": func(p *corev1.Pod) { p.UID = "another" },
	} {
		w := newWorld(t, replicas(1), inPlace, limits("0", "1", "0"))
		w.settle()
		acted := false
		w.fail = func(verb string, obj client.Object) error {
			if _, isPod := obj.(*corev1.Pod); !isPod || verb != "patch" || acted {
				return nil
			}
			acted = true
			w.editPod(obj.GetName(), act)
			return apierrors.NewConflict(corev1.Resource("pods"), obj.GetName(), errors.New("changed meanwhile"))
		}
		w.edit(image("web:2"))
		w.sync()
		if got := w.pods()[0].Spec.Containers[0].Image; got != "web:1" || !acted {
			t.Errorf("%s: its image is %s", name, got)
		}
	}
}

// TestWhichGatesStayClosed looks at a Pod whose gate is closed and that is to be changed: it is opened if the change lets the
// Pod serve.
func TestWhichGatesStayClosed(t *testing.T) {
	cpu := func(amount string) setEdit {
		return func(s *cloneSet) {
			s.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse(amount)}
		}
	}
	none := func(*cloneSet) {}
	for name, tt := range map[string]struct {
		edit, more setEdit
		opens      bool
	}{
		"an image":                         {image("web:2"), none, false},
		"CPU alone":                        {cpu("2"), none, true},
		"CPU and an image":                 {cpu("2"), image("web:2"), false},
		"what cannot be changed":           {resources, policy(v1beta1.InPlaceOnlyPodUpdateStrategyType), true},
		"an image, after the hook's word":  {image("web:2"), inPlaceHook(false), true},
		"an image, when the set is paused": {image("web:2"), rolling(func(r *v1beta1.RollingUpdateCloneSetStrategy) { r.Paused = true }), true},
	} {
		set := newSet(replicas(1), inPlace, limits("0", "1", "0"), cpu("1"))
		found, err := revision.Find(revision.Owner{Object: set, Kind: kind, Template: &set.Spec.Template}, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		old := found.Revision
		set.Status.CurrentRevision = old.Name
		tt.edit(set)
		tt.more(set)
		pod := podAt(old, "a", hooked, func(p *corev1.Pod) {
			p.Spec.Containers = []corev1.Container{{Name: "main", Image: "web:1"}}
			p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: v1beta1.InPlaceUpdateReady}}
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: v1beta1.InPlaceUpdateReady, Status: corev1.ConditionFalse})
		})
		seen := &snapshot{revisions: []*appsv1.ControllerRevision{old}}
		seen.pods.Active = []*corev1.Pod{pod}
		plan, err := makePlan(set, seen, start, Settings{InPlace: inplace.Options{Resources: true}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		opens := slices.ContainsFunc(plan.Refresh, func(r Refresh) bool { return len(r.Conditions) > 0 })
		if opens != tt.opens || len(plan.Refresh) > 0 != opens {
			t.Errorf("%s: the gate is opened: %v; the plan is %v", name, opens, describe(plan))
		}
	}
}

// TestAFailureInPlaceIsNoReasonToRecreate has the API server refuse the change.
func TestAFailureInPlaceIsNoReasonToRecreate(t *testing.T) {
	w := newWorld(t, inPlace)
	w.settle()
	before := w.live()
	w.fail = func(verb string, obj client.Object) error {
		if _, isPod := obj.(*corev1.Pod); isPod && verb == "patch" {
			return apierrors.NewForbidden(corev1.Resource("pods"), obj.GetName(), errors.New("not today"))
		}
		return nil
	}
	w.edit(image("web:2"))
	w.eventsNow()
	for range 5 {
		w.kubelet()
		if _, err := w.reconcile(); err == nil {
			t.Error("a refusal is no error")
		}
	}
	if events := w.eventsNow(); !slices.Equal(w.live(), before) || !strings.HasPrefix(events[0], "Warning FailedUpdatePodInPlace ") {
		t.Errorf("Pods were %v and are %v; events are %v", before, w.live(), events)
	}
	w.fail = nil
	w.settle()
	if !slices.Equal(w.live(), before) || w.byImage()["web:2"] != 3 {
		t.Errorf("Pods were %v and are %v; images are %v", before, w.live(), w.byImage())
	}
}

// TestAPodOfAnUnknownRevision cannot be updated in place: nobody knows what would have to change.
func TestAPodOfAnUnknownRevision(t *testing.T) {
	v2 := at(t, "web:2", 2)
	for to, want := range map[v1beta1.PodUpdateStrategyType]bool{v1beta1.InPlaceIfPossiblePodUpdateStrategyType: true, v1beta1.InPlaceOnlyPodUpdateStrategyType: false} {
		set := newSet(image("web:2"), replicas(1), policy(to), limits("0", "1", "0"))
		p := planFor(t, set, start, []*appsv1.ControllerRevision{v2}, podAt(at(t, "web:0", 0), "a"))
		if len(p.Moves) != 1 || p.Moves[0].How != Recreate || (p.Moves[0].Removal != nil) != want || (p.Moves[0].Err == nil) != want {
			t.Errorf("%s: the plan is %v, %+v", to, describe(p), p.Moves)
		}
	}
}
