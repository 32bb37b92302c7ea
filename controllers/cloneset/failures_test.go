package cloneset

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// TestEveryFailureIsTold has one kind of write fail, and looks for the event and the condition.
func TestEveryFailureIsTold(t *testing.T) {
	refuse := func(verb, kind string) func(string, client.Object) error {
		return func(v string, obj client.Object) error {
			if v == verb && strings.HasSuffix(fmt.Sprintf("%T", obj), "."+kind) {
				return apierrors.NewForbidden(corev1.Resource("objects"), obj.GetName(), errors.New("no"))
			}
			return nil
		}
	}
	failPod := func(w *world) {
		w.editPod(w.live()[0], func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
	}
	lose := func(w *world) { w.must(w.Delete(w.Context(), w.pods()[0])) }
	for name, tt := range map[string]struct {
		do              func(*world)
		verb, kind      string
		reason, because string
	}{
		"a creation":           {func(w *world) { w.edit(replicas(4)) }, "create", "Pod", "FailedCreate", "FailedScale"},
		"a claim's creation":   {func(w *world) { w.edit(replicas(4)) }, "create", "PersistentVolumeClaim", "FailedCreate", "FailedScale"},
		"a deletion":           {func(w *world) { w.edit(replicas(2)) }, "delete", "Pod", "FailedDelete", "FailedScale"},
		"a claim's deletion":   {func(w *world) { w.edit(replicas(2)) }, "delete", "PersistentVolumeClaim", "FailedDelete", "FailedScale"},
		"an orphan's deletion": {lose, "delete", "PersistentVolumeClaim", "FailedDelete", "FailedScale"},
		"a claim's new owner":  {failPod, "patch", "PersistentVolumeClaim", "FailedUpdate", "FailedScale"},
		"an update in place":   {func(w *world) { w.edit(inPlace, image("web:2")) }, "patch", "Pod", "FailedUpdatePodInPlace", "FailedUpdate"},
		"leaving service":      {func(w *world) { w.edit(inPlace, image("web:2")) }, "status", "Pod", "FailedUpdatePodInPlace", "FailedUpdate"},
		"recreating":           {func(w *world) { w.edit(image("web:2")) }, "delete", "Pod", "FailedUpdatePodReCreate", "FailedUpdate"},
		"marking to recreate it": {func(w *world) {
			w.edit(image("web:2"), func(s *cloneSet) {
				s.Spec.Lifecycle = &v1beta1.Lifecycle{PreDelete: &v1beta1.LifecycleHook{LabelsHandler: map[string]string{"app": "web"}}}
			})
		}, "patch", "Pod", "FailedUpdatePodReCreate", "FailedUpdate"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, claims("1Gi"))
			w.settle()
			tt.do(w)
			w.eventsNow()
			w.fail = refuse(tt.verb, tt.kind)
			w.clock.SetTime(w.clock.Now().Add(2 * time.Second))
			_, err := w.reconcile()
			events, status := w.eventsNow(), w.set().Status
			c := conditionOf(&status, v1beta1.CloneSetConditionType(tt.because))
			told := slices.ContainsFunc(events, func(e string) bool { return strings.HasPrefix(e, "Warning "+tt.reason+" ") })
			if err == nil || !told || c == nil || c.Status != corev1.ConditionTrue || !strings.Contains(c.Message, "no") || len(status.Conditions) != 1 {
				t.Errorf("the error is %v, events %v, conditions %+v", err, events, status.Conditions)
			}
			w.fail = nil
			w.settle()
			status = w.set().Status
			if c := conditionOf(&status, v1beta1.CloneSetConditionType(tt.because)); c == nil || c.Status != corev1.ConditionFalse || c.Message != "" {
				t.Errorf("after a success the condition is %+v", c)
			}
		})
	}
}

// TestAScaleStepSaysNothingOfUpdates has Pods that cannot be updated while others are created.
func TestAScaleStepSaysNothingOfUpdates(t *testing.T) {
	w := newWorld(t, policy(v1beta1.InPlaceOnlyPodUpdateStrategyType))
	w.settle()
	w.edit(func(s *cloneSet) { s.Spec.Template.Spec.TerminationGracePeriodSeconds = ptr.To[int64](6) })
	_, _ = w.reconcile()
	for i := range int32(2) {
		w.edit(replicas(4 + i))
		before := len(w.writes)
		w.clock.SetTime(w.clock.Now().Add(2 * time.Second))
		if _, err := w.reconcile(); err != nil || !slices.Contains(w.writes[before:], "create Pod") {
			t.Fatalf("%v, writes %v", err, w.writes[before:])
		}
		status := w.set().Status
		if c := conditionOf(&status, "FailedUpdate"); c == nil || c.Status != corev1.ConditionTrue {
			t.Errorf("after a step of scaling the condition is %+v", c)
		}
	}
}

// TestOneFailureOfManyIsShown has an update fail at every Pod.
func TestOneFailureOfManyIsShown(t *testing.T) {
	w := newWorld(t, policy(v1beta1.InPlaceOnlyPodUpdateStrategyType), replicas(20), limits("0", "100%", "0"))
	w.settle()
	w.edit(func(s *cloneSet) { s.Spec.Template.Spec.TerminationGracePeriodSeconds = ptr.To[int64](6) })
	for range 3 {
		if _, err := w.reconcile(); err == nil {
			t.Fatal("it is no error")
		}
		status := w.set().Status
		if got := conditionOf(&status, "FailedUpdate").Message; !strings.HasPrefix(got, "updating Pod web-id001 to web-") || strings.Count(got, "updating Pod ") != 1 {
			t.Errorf("the message is %q", got)
		}
	}
}

func TestFirstFault(t *testing.T) {
	conflict := apierrors.NewConflict(corev1.Resource("pods"), "p", errors.New("changed"))
	one, two := errors.New("one"), errors.New("two")
	for name, tt := range map[string]struct{ err, want error }{
		"nothing":      {nil, nil},
		"one":          {one, one},
		"two":          {errors.Join(errors.Join(nil, one), two), one},
		"a race first": {errors.Join(conflict, errors.Join(conflict, two)), two},
		"races":        {errors.Join(conflict, conflict), nil},
	} {
		if got := firstFault(tt.err); !errors.Is(got, tt.want) || got != nil && tt.want == nil {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
