package cloneset

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/test/perturb"
	"github.com/fairlead-io/fairlead/test/perturb/apiserver"
)

// wrapped changes single calls of a client.
func wrapped(funcs interceptor.Funcs) func(client.Client) client.Client {
	return func(c client.Client) client.Client { return interceptor.NewClient(unwatched{c}, funcs) }
}

// unwatched is a client whose Watch nobody calls.
type unwatched struct{ client.Client }

func (unwatched) Watch(context.Context, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
	return nil, context.Canceled
}

// known are mistakes that controllers of this sort have had, in miniature, each with the scenario and the faults among
// which it has to show.
var known = map[string]struct {
	mistake  mistake
	scenario perturb.Scenario
	faults   string
	// by is what has to notice it.
	by string
}{
	"it does not wait for its own writes, and reads a cache that lags": {
		mistake:  mistake{client: wrapped(interceptor.Funcs{List: unawaited}), live: wrapped(interceptor.Funcs{List: unawaited})},
		scenario: perturb.Scenario{Given: "replicas=1", Stages: "replicas=3"}, faults: "P5", by: "I2",
	},
	"its expectation of a creation leaks when the answer is lost": {
		mistake:  mistake{reconciler: leakingExpectation},
		scenario: perturb.Scenario{Given: "replicas=1", Stages: "replicas=3"}, faults: "P2", by: "at rest",
	},
	"its filter passes on only Pods that turn ready": {
		mistake:  mistake{watches: edgeTriggered},
		scenario: perturb.Scenario{Given: "replicas=2", Stages: "kill-pod=0"}, by: "at rest",
	},
	"a percentage is rounded to zero": {
		mistake:  mistake{client: wrapped(interceptor.Funcs{Get: roundedToZero}), live: wrapped(interceptor.Funcs{Get: roundedToZero})},
		scenario: perturb.Scenario{Given: "replicas=3 max-unavailable=20%", Stages: "image=2"}, by: "at rest",
	},
	"owners are compared with their whole apiVersion": {
		mistake:  mistake{client: wrapped(interceptor.Funcs{List: exactOwners}), live: wrapped(interceptor.Funcs{List: exactOwners})},
		scenario: perturb.Scenario{Given: "replicas=2", Stages: "replicas=3"}, faults: "P19", by: "I2",
	},
	"it stops at a Pod that does not end": {
		mistake:  mistake{reconciler: stopsAtStuck},
		scenario: perturb.Scenario{Given: "replicas=3 max-unavailable=1", Stages: "image=2"}, faults: "P13", by: "rest",
	},
	"deletions do not say which object of a name they mean": {
		mistake:  mistake{client: wrapped(interceptor.Funcs{Delete: withoutUID})},
		scenario: perturb.Scenario{Given: "replicas=3", Stages: "replicas=2"}, by: "UID",
	},
	"patches overwrite what others wrote meanwhile": {
		mistake:  mistake{client: wrapped(interceptor.Funcs{Patch: unguarded})},
		scenario: perturb.Scenario{Given: "replicas=3 policy=InPlaceIfPossible max-unavailable=1", Stages: "image=2"}, faults: "P9.pod", by: "somebody else",
	},
}

// TestKnownMistakesAreSeen puts each mistake into the controller.
func TestKnownMistakesAreSeen(t *testing.T) {
	for name, tt := range known {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				seen := seenBy(t, tt.mistake, tt.scenario, tt.faults)
				if seen == nil || !strings.Contains(seen.Error(), tt.by) {
					t.Errorf("it is seen by %v, want by %q", seen, tt.by)
				}
			})
		})
	}
}

// seenBy is the first error of the runs of a scenario with a mistake, by faults whose name begins like that.
func seenBy(t *testing.T, m mistake, s perturb.Scenario, faults string) error {
	t.Helper()
	sound, err := newWorkload(mistake{}).Prepare(s)
	if err != nil {
		t.Fatalf("without the mistake: %v", err)
	}
	wrong := sound.With(newWorkload(m))
	if faults == "" {
		return wrong.Do(sound.Calm.Plan).Err
	}
	for _, plan := range sound.Points(allFaults()) {
		if !strings.HasPrefix(plan.Faults[0].ID, faults) {
			continue
		}
		if result := sound.Do(plan); result.Err != nil {
			t.Fatal(result.Explain("without the mistake"))
		}
		if result := wrong.Do(plan); result.Err != nil {
			return result.Err
		}
	}
	return nil
}

func unawaited(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
	return c.List(ctx, list, append(opts, client.DisableReadYourWritesConsistency)...)
}

// roundedToZero reads maxUnavailable as a controller does that rounds its percentage down.
func roundedToZero(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	err := c.Get(ctx, key, obj, opts...)
	if set, is := obj.(*v1beta1.CloneSet); is && err == nil {
		rolling := set.Spec.UpdateStrategy.RollingUpdate
		rolling.MaxUnavailable = amount(strings.Replace(rolling.MaxUnavailable.String(), "20%", "0", 1))
	}
	return err
}

func exactOwners(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
	if err := c.List(ctx, list, opts...); err != nil {
		return err
	}
	if pods, is := list.(*corev1.PodList); is {
		kept := pods.Items[:0]
		for _, pod := range pods.Items {
			if owner := metav1.GetControllerOf(&pod); owner != nil && owner.APIVersion == v1beta1.GroupVersion.String() {
				kept = append(kept, pod)
			}
		}
		pods.Items = kept
	}
	return nil
}

func withoutUID(ctx context.Context, c client.WithWatch, obj client.Object, _ ...client.DeleteOption) error {
	return c.Delete(ctx, obj)
}

// unguarded sends patches that apply to whatever object has the name now.
func unguarded(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if _, isPod := obj.(*corev1.Pod); !isPod {
		return c.Patch(ctx, obj, patch, opts...)
	}
	data, err := patch.Data(obj)
	if err != nil {
		return err
	}
	text := string(data)
	for _, field := range []string{`"uid":"` + string(obj.GetUID()) + `"`, `"resourceVersion":"` + obj.GetResourceVersion() + `"`} {
		text = strings.NewReplacer(","+field, "", field+",", "", field, "").Replace(text)
	}
	return c.Patch(ctx, obj, client.RawPatch(types.StrategicMergePatchType, []byte(text)), opts...)
}

// edgeTriggered wakes the controller only by Pods that turn ready.
func edgeTriggered(watches []perturb.Watch) []perturb.Watch {
	ready := func(obj client.Object) bool { return serves(obj.(*corev1.Pod)) }
	for i := range watches {
		if watches[i].Kind == apiserver.PodKind {
			watches[i].Predicates = append(watches[i].Predicates, predicate.Funcs{
				CreateFunc: func(event.CreateEvent) bool { return true },
				UpdateFunc: func(e event.UpdateEvent) bool { return !ready(e.ObjectOld) && ready(e.ObjectNew) },
				DeleteFunc: func(event.DeleteEvent) bool { return false },
			})
		}
	}
	return watches
}

// expecting is a controller that notes each creation before it is sent, and does nothing until the note is taken back,
// which it forgets when there is no answer.
type expecting struct {
	reconcile.Reconciler
	leaked bool
}

func leakingExpectation(_ *perturb.Process, inner reconcile.Reconciler) reconcile.Reconciler {
	return &expecting{Reconciler: inner}
}

func (e *expecting) Reconcile(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	if e.leaked {
		return reconcile.Result{}, nil
	}
	result, err := e.Reconciler.Reconcile(ctx, r)
	e.leaked = err != nil && strings.Contains(err.Error(), "creating Pod")
	return result, err
}

// patient is a controller that goes on only when no Pod is ending.
type patient struct {
	reconcile.Reconciler
	pods client.Reader
}

func stopsAtStuck(p *perturb.Process, inner reconcile.Reconciler) reconcile.Reconciler {
	return patient{inner, p.Live}
}

func (p patient) Reconcile(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	pods := &corev1.PodList{}
	if err := p.pods.List(ctx, pods, client.InNamespace(r.Namespace)); err != nil {
		return reconcile.Result{}, err
	}
	for i := range pods.Items {
		if pods.Items[i].DeletionTimestamp != nil {
			return reconcile.Result{RequeueAfter: 10 * time.Second}, nil
		}
	}
	return p.Reconciler.Reconcile(ctx, r)
}
