package podreadiness

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-io/fairlead/controllers/podcache"
)

var (
	now     = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	request = reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "web"}}
)

func podWith(gates []string, conditions ...corev1.PodCondition) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "pod-1"}}
	for _, gate := range gates {
		pod.Spec.ReadinessGates = append(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: corev1.PodConditionType(gate)})
	}
	pod.Status.Conditions = conditions
	return pod
}

func condition(kind corev1.PodConditionType, status corev1.ConditionStatus) corev1.PodCondition {
	return corev1.PodCondition{Type: kind, Status: status, Reason: "Kept", Message: "as it was"}
}

// counted is an API server that counts status patches and fails them with err.
func counted(patches *int, err *error, objects ...client.Object) client.WithWatch {
	return fake.NewClientBuilder().WithObjects(objects...).WithStatusSubresource(&corev1.Pod{}).
		WithInterceptorFuncs(interceptor.Funcs{
			SubResourcePatch: func(ctx context.Context, c client.Client, name string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
				*patches++
				if err != nil && *err != nil {
					return *err
				}
				return c.SubResource(name).Patch(ctx, obj, patch, opts...)
			},
		}).Build()
}

func TestWhichPodsGetTheCondition(t *testing.T) {
	terminating := podWith([]string{"KruisePodReady"})
	terminating.DeletionTimestamp = &metav1.Time{Time: now}
	terminating.Finalizers = []string{"test/keep"}
	tests := []struct {
		name string
		pod  *corev1.Pod
		want bool
	}{
		{"gate, no condition", podWith([]string{"KruisePodReady"}), true},
		{"gate among others", podWith([]string{"a/b", "KruisePodReady"}, condition("a/b", "True"), condition(corev1.PodReady, "False")), true},
		{"no gate", podWith(nil), false},
		{"another gate", podWith([]string{"InPlaceUpdateReady"}), false},
		{"held unready", podWith([]string{"KruisePodReady"}, condition("KruisePodReady", "False")), false},
		{"on already", podWith([]string{"KruisePodReady"}, condition("KruisePodReady", "True")), false},
		{"terminating", terminating, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := wants(tt.pod); got != tt.want {
				t.Errorf("the event passes: %v, want %v", got, tt.want)
			}
			patches := 0
			api := counted(&patches, nil, tt.pod.DeepCopy())
			reconciler := New(api, clocktesting.NewFakePassiveClock(now))
			for range 2 { // a doubled event
				if result, err := reconciler.Reconcile(t.Context(), request); err != nil || result != (reconcile.Result{}) {
					t.Fatalf("result %+v, error %v", result, err)
				}
			}
			want := tt.pod.Status.Conditions
			if tt.want {
				want = append(want, corev1.PodCondition{Type: "KruisePodReady", Status: "True", LastTransitionTime: metav1.NewTime(now)})
			}
			var got corev1.Pod
			if err := api.Get(t.Context(), request.NamespacedName, &got); err != nil {
				t.Fatal(err)
			}
			byType := cmp.Transformer("byType", func(list []corev1.PodCondition) map[corev1.PodConditionType]corev1.PodCondition {
				m := map[corev1.PodConditionType]corev1.PodCondition{}
				for _, c := range list {
					m[c.Type] = c
				}
				return m
			})
			if diff := cmp.Diff(want, got.Status.Conditions, byType); diff != "" {
				t.Error(diff)
			}
			if wantPatches := map[bool]int{true: 1}[tt.want]; patches != wantPatches {
				t.Errorf("%d status patches, want %d", patches, wantPatches)
			}
		})
	}
}

// Between our look and our patch another writer holds the Pod unready.
func TestAnotherWritersConditionIsNotOverruled(t *testing.T) {
	patches := 0
	stale := podWith([]string{"KruisePodReady"})
	held := podWith([]string{"KruisePodReady"}, condition("KruisePodReady", "False"))
	api := counted(&patches, nil, held)
	stale.ResourceVersion = "1" // the fake gives objects version 999
	lagging := interceptor.NewClient(api, interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
			stale.DeepCopyInto(obj.(*corev1.Pod))
			return nil
		},
	})
	result, err := New(lagging, clocktesting.NewFakePassiveClock(now)).Reconcile(t.Context(), request)
	if err != nil || result.RequeueAfter != conflictDelay || patches != 1 {
		t.Errorf("result %+v, error %v, %d patches; want one, and a silent second look", result, err, patches)
	}
	var got corev1.Pod
	if err := api.Get(t.Context(), request.NamespacedName, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(held.Status.Conditions, got.Status.Conditions); diff != "" {
		t.Error(diff)
	}
}

func TestErrorsOfThePatch(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	away := errors.New("connection refused")
	for name, tt := range map[string]struct {
		err, want error
		after     time.Duration
	}{
		"deleted meanwhile":      {apierrors.NewNotFound(pods, "web"), nil, 0},
		"changed meanwhile":      {apierrors.NewConflict(pods, "web", errors.New("changed")), nil, conflictDelay},
		"the API server is away": {away, away, 0},
	} {
		t.Run(name, func(t *testing.T) {
			patches := 0
			api := counted(&patches, &tt.err, podWith([]string{"KruisePodReady"}))
			result, err := New(api, clocktesting.NewFakePassiveClock(now)).Reconcile(t.Context(), request)
			if !errors.Is(err, tt.want) || result.RequeueAfter != tt.after || patches != 1 {
				t.Errorf("result %+v, error %v, %d patches", result, err, patches)
			}
		})
	}
	t.Run("deleted before", func(t *testing.T) {
		patches := 0
		result, err := New(counted(&patches, nil), clocktesting.NewFakePassiveClock(now)).Reconcile(t.Context(), request)
		if err != nil || result != (reconcile.Result{}) || patches != 0 {
			t.Errorf("result %+v, error %v, %d patches", result, err, patches)
		}
	})
}

func TestTheCacheKeepsWhatMatters(t *testing.T) {
	transform := podcache.Transform(Keep)
	for _, gates := range [][]string{nil, {"a/b"}, {"a/b", "KruisePodReady"}} {
		for _, conditions := range [][]corev1.PodCondition{nil, {condition("a/b", "True")}, {condition("KruisePodReady", "False")}} {
			pod := podWith(gates, conditions...)
			pod.ResourceVersion = "7"
			once, err := transform(pod.DeepCopy())
			if err != nil {
				t.Fatal(err)
			}
			twice, err := transform(once)
			if err != nil {
				t.Fatal(err)
			}
			kept := twice.(*corev1.Pod)
			if wants(kept) != wants(pod) || kept.UID != pod.UID || kept.ResourceVersion != "7" {
				t.Errorf("of gates %v and conditions %v it keeps %+v", gates, conditions, kept)
			}
		}
	}
}
