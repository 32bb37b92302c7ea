package podunavailablebudget

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-io/fairlead/api"
	policyv1beta1 "github.com/fairlead-io/fairlead/api/policy/v1beta1"
	pub "github.com/fairlead-io/fairlead/protection/podunavailablebudget"
)

// world is an API server with a budget, and workloads by "Kind/name" with their sizes.
type world struct {
	*testing.T
	client.Client
	r      *Reconciler
	events *record.FakeRecorder
	scales map[string]scale
	// unsized are workloads that do not say how many Pods they want.
	unsized map[string]bool
	asked   int
	// writes are those of statuses; refuse is their error.
	writes int
	refuse error
}

var followed = map[schema.GroupKind]string{deployments: "v1", replicaSets: "v1"}

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), api.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, events: record.NewFakeRecorder(100), scales: map[string]scale{}}
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{{Group: "apps", Version: "v1"}, {Group: "example.com", Version: "v2"}})
	for _, kind := range []schema.GroupVersionKind{deployments.WithVersion("v1"), replicaSets.WithVersion("v1"), {Group: "example.com", Version: "v2", Kind: "Game"}} {
		mapper.Add(kind, meta.RESTScopeNamespace)
	}
	w.Client = fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(mapper).WithObjects(objects...).
		WithStatusSubresource(&policyv1beta1.PodUnavailableBudget{}).
		WithIndex(&corev1.Pod{}, controllerField, byController).
		WithInterceptorFuncs(interceptor.Funcs{
			SubResourceUpdate: func(ctx context.Context, c client.Client, name string, obj client.Object, opts ...client.SubResourceUpdateOption) error {
				w.writes++
				if w.refuse != nil {
					return w.refuse
				}
				return c.SubResource(name).Update(ctx, obj, opts...)
			},
			SubResourceGet: func(_ context.Context, _ client.Client, _ string, obj, answer client.Object, _ ...client.SubResourceGetOption) error {
				w.asked++
				kind := obj.GetObjectKind().GroupVersionKind().Kind
				if w.unsized[kind+"/"+obj.GetName()] {
					return apierrors.NewInternalError(errors.New(`the spec replicas field ".spec.replicas" does not exist`))
				}
				s, there := w.scales[kind+"/"+obj.GetName()]
				if !there {
					return apierrors.NewNotFound(schema.GroupResource{Resource: kind}, obj.GetName())
				}
				answer.(*unstructured.Unstructured).Object = map[string]any{
					"metadata": map[string]any{"uid": string(s.uid)}, "spec": map[string]any{"replicas": int64(s.replicas)}, "status": map[string]any{"selector": s.selector},
				}
				return nil
			},
		}).Build()
	w.r = New(w.Client, w.Client, w.events, clocktesting.NewFakePassiveClock(now), followed)
	return w
}

func (w *world) reconcile() (reconcile.Result, error) {
	return w.r.Reconcile(w.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"}})
}

// status is how it is after a reconcile: allowed, current, desired, total.
func (w *world) status() string {
	w.Helper()
	if _, err := w.reconcile(); err != nil {
		w.Fatal(err)
	}
	b := &policyv1beta1.PodUnavailableBudget{}
	if err := w.Get(w.Context(), types.NamespacedName{Namespace: "shop", Name: "web"}, b); err != nil {
		w.Fatal(err)
	}
	return fmt.Sprint(b.Status.UnavailableAllowed, b.Status.CurrentAvailable, b.Status.DesiredAvailable, b.Status.TotalReplicas)
}

func (w *world) told(name string) string {
	w.Helper()
	p := &corev1.Pod{}
	if err := w.Get(w.Context(), types.NamespacedName{Namespace: "shop", Name: name}, p); err != nil {
		w.Fatal(err)
	}
	if a := p.Annotations; a["pub.kruise.io/related-pub"] == a["kruise.io/related-pub"] {
		return a["kruise.io/related-pub"]
	}
	return fmt.Sprint(p.Annotations)
}

func (w *world) happened() []string {
	var all []string
	for len(w.events.Events) > 0 {
		all = append(all, <-w.events.Events)
	}
	return all
}

// object is what is in the cache of a workload.
func object(kind, name string, change ...func(*metav1.PartialObjectMetadata)) client.Object {
	o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name), Generation: 1}}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: kind})
	for _, c := range change {
		c(o)
	}
	return o
}

func of(apiVersion, kind, name string) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: name, UID: types.UID(name), Controller: ptr.To(true)}}
}

func owned(apiVersion, kind, name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.OwnerReferences, p.Annotations = of(apiVersion, kind, name), nil }
}

func set(name, deployment string) client.Object {
	return object("ReplicaSet", name, func(o *metav1.PartialObjectMetadata) { o.OwnerReferences = of("apps/v1", "Deployment", deployment) })
}

func selecting(b *pub.Budget) {
	b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
}

func targeting(apiVersion, kind, name string) func(*pub.Budget) {
	return func(b *pub.Budget) {
		b.Spec.TargetReference = &policyv1beta1.TargetReference{APIVersion: apiVersion, Kind: kind, Name: name}
	}
}

// protection.md §4.1.
func TestPodsAndTotals(t *testing.T) {
	ofSet := owned("apps/v1", "ReplicaSet", "rs1")
	ofOld := owned("apps/v1", "ReplicaSet", "rs0")
	scales := map[string]scale{"Deployment/api": {"api", 4, ""}, "Deployment/db": {"db", 2, ""}, "Game/g": {"g", 3, "app=web"}, "ReplicaSet/alone": {"alone", 5, ""}}
	for name, tt := range map[string]struct {
		budget  *pub.Budget
		objects []client.Object
		want    string
	}{
		"a Deployment counts once, with Pods of every ReplicaSet": {
			budget(selecting, maxUnavailable("1")),
			[]client.Object{object("Deployment", "api"), set("rs1", "api"), set("rs0", "api"), pod("a", ofSet), pod("b", ofSet), pod("c", ofOld), pod("d", ofSet, unready)}, "0 3 3 4",
		},
		"two workloads": {
			budget(selecting, maxUnavailable("50%")),
			[]client.Object{object("Deployment", "api"), object("Deployment", "db"), set("rs1", "api"), set("rs0", "db"), pod("a", ofSet), pod("b", ofSet), pod("c", ofSet), pod("e", ofOld)}, "1 4 3 6",
		},
		"a ReplicaSet of its own": {
			budget(selecting, maxUnavailable("4")), []client.Object{object("ReplicaSet", "alone"), pod("a", owned("apps/v1", "ReplicaSet", "alone"))}, "0 1 1 5",
		},
		"nobody's Pods": {budget(selecting, maxUnavailable("1")), []client.Object{pod("a"), pod("b")}, "2 2 0 0"},
		"an owner without a size": {
			budget(selecting, maxUnavailable("1")), []client.Object{pod("a", owned("batch/v1", "Job", "j"))}, "1 1 0 0",
		},
		"a floor stays when the workload goes": {
			budget(selecting, minAvailable("2")), []client.Object{set("rs1", "api"), pod("a", ofSet), pod("b", ofSet), pod("c", ofSet)}, "1 3 2 0",
		},
		"a percentage goes with it": {
			budget(selecting, minAvailable("50%")), []client.Object{set("rs1", "api"), pod("a", ofSet), pod("b", ofSet)}, "2 2 0 0",
		},
		"a workload that ends is none": {
			budget(selecting, maxUnavailable("1")),
			[]client.Object{object("Deployment", "api", func(o *metav1.PartialObjectMetadata) {
				o.DeletionTimestamp, o.Finalizers = ptr.To(metav1.NewTime(now)), []string{"a/b"}
			}), set("rs1", "api"), pod("a", ofSet)}, "1 1 0 0",
		},
		"other labels do not count": {
			budget(selecting, maxUnavailable("1")), []client.Object{object("Deployment", "api"), set("rs1", "api"), pod("a", ofSet), pod("b", ofSet, func(p *corev1.Pod) { p.Labels = nil })}, "0 1 3 4",
		},
		"an empty selector selects none": {
			budget(maxUnavailable("1"), func(b *pub.Budget) { b.Spec.Selector = &metav1.LabelSelector{} }), []client.Object{object("Deployment", "api"), set("rs1", "api"), pod("a", ofSet)}, "0 0 0 0",
		},
		"a target": {
			budget(targeting("apps/v1", "Deployment", "api"), maxUnavailable("1")),
			[]client.Object{object("Deployment", "api"), set("rs1", "api"), set("rs0", "db"), pod("a", ofSet), pod("b", ofOld)}, "0 1 3 4",
		},
		"no target": {budget(targeting("apps/v1", "Deployment", "api"), maxUnavailable("1")), []client.Object{set("rs1", "api"), pod("a", ofSet)}, "0 0 0 0"},
		"a target of any kind, in a version that is not served any more": {
			budget(targeting("example.com/v1", "Game", "g"), maxUnavailable("1")), []client.Object{pod("a", owned("example.com/v1", "Game", "g")), pod("b")}, "0 1 2 3",
		},
		"a target that owns no Pod": {budget(targeting("example.com/v1", "Game", "g"), maxUnavailable("1")), []client.Object{pod("a"), pod("b"), pod("c")}, "1 3 2 3"},
		"a target of no kind":       {budget(targeting("example.com/v1", "None", "g"), maxUnavailable("1")), []client.Object{pod("a")}, "0 0 0 0"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, append(tt.objects, tt.budget)...)
			w.scales = scales
			if got := w.status(); got != tt.want {
				t.Errorf("allowed, current, desired, total are %s, want %s", got, tt.want)
			}
			writes := w.writes
			if got := w.status(); got != tt.want || w.writes != writes || writes > 1 {
				t.Errorf("then %s, after %d writes and %d more", got, writes, w.writes-writes)
			}
		})
	}
}

func TestASizeIsAskedForAgainWhenTheGenerationChanges(t *testing.T) {
	d := object("Deployment", "api")
	w := newWorld(t, budget(selecting, maxUnavailable("1")), d, set("rs1", "api"), pod("a", owned("apps/v1", "ReplicaSet", "rs1")))
	w.scales["Deployment/api"] = scale{"api", 4, ""}
	if got := w.status() + w.status(); got != "0 1 3 40 1 3 4" || w.asked != 1 {
		t.Errorf("%s, asked %d times", got, w.asked)
	}
	w.scales["Deployment/api"] = scale{"api", 2, ""}
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(d), d); err != nil {
		t.Fatal(err)
	}
	d.SetGeneration(2)
	d.GetObjectKind().SetGroupVersionKind(deployments.WithVersion("v1"))
	if err := w.Update(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if got := w.status(); got != "0 1 1 2" || w.asked != 2 {
		t.Errorf("%s, asked %d times", got, w.asked)
	}
}

func TestPodsAreToldAndToldAnew(t *testing.T) {
	named := func(name string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Annotations = map[string]string{"pub.kruise.io/related-pub": name, "kruise.io/related-pub": name}
		}
	}
	beside := func(name, label string) *pub.Budget {
		return &pub.Budget{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: policyv1beta1.PodUnavailableBudgetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{label: "web"}},
		}}
	}
	tier := func(p *corev1.Pod) { p.Labels["tier"] = "web" }
	w := newWorld(t, budget(selecting, maxUnavailable("1")), beside("later", "tier"), beside("nobody", "nothing"), beside("aaa", "first"),
		pod("new", func(p *corev1.Pod) { p.Annotations = nil }), pod("dead", named("renamed")), pod("left", named("nobody")),
		pod("theirs", named("later"), tier), pod("both", tier, func(p *corev1.Pod) { p.Annotations = nil }),
		pod("first", func(p *corev1.Pod) { p.Annotations, p.Labels["first"] = nil, "web" }))
	if _, err := w.reconcile(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"new": "web", "dead": "web", "left": "web", "theirs": "later", "both": "", "first": ""} {
		if got := w.told(name); got != want {
			t.Errorf("%s is told %q, want %q", name, got, want)
		}
	}
}

// A Pod goes between the reads of one look: it must not count without its entry.
func TestAPodThatGoesBetweenTwoReadsDoesNotCount(t *testing.T) {
	w := newWorld(t, budget(selecting, maxUnavailable("1"), func(b *pub.Budget) {
		b.Status.DisruptedPods = map[string]metav1.Time{"a": metav1.NewTime(now.Add(-10 * time.Second))}
	}), pod("a"), pod("b"))
	step := func(ctx context.Context) {
		_ = w.Delete(ctx, pod("a")) // it may be gone already
	}
	cached := interceptor.NewClient(w.Client.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			err := c.Get(ctx, key, obj, opts...)
			if _, isPod := obj.(*corev1.Pod); isPod {
				step(ctx)
			}
			return err
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			err := c.List(ctx, list, opts...)
			if _, arePods := list.(*corev1.PodList); arePods {
				step(ctx)
			}
			return err
		},
	})
	r := New(cached, cached, w.events, clocktesting.NewFakePassiveClock(now), followed)
	if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"}}); err != nil {
		t.Fatal(err)
	}
	b := &policyv1beta1.PodUnavailableBudget{}
	if err := w.Get(t.Context(), types.NamespacedName{Namespace: "shop", Name: "web"}, b); err != nil {
		t.Fatal(err)
	}
	if b.Status.CurrentAvailable != 1 {
		t.Errorf("of one Pod that stays and one that goes %d are available", b.Status.CurrentAvailable)
	}
}

func TestEventsFollowWrites(t *testing.T) {
	w := newWorld(t, budget(selecting, maxUnavailable("1"), func(b *pub.Budget) {
		b.Status.DisruptedPods = map[string]metav1.Time{"a": metav1.NewTime(now.Add(-20 * time.Second))}
	}), pod("a"))
	w.refuse = apierrors.NewConflict(schema.GroupResource{}, "web", errors.New("changed"))
	if result, err := w.reconcile(); err != nil || result.RequeueAfter != conflictDelay {
		t.Errorf("after a conflict: %+v, %v", result, err)
	}
	if got := w.happened(); len(got) != 0 {
		t.Errorf("events of a void plan: %q", got)
	}
	w.refuse = nil
	w.status()
	if got := w.happened(); len(got) != 1 || !strings.HasPrefix(got[0], "Warning NotDeleted ") {
		t.Errorf("%q", got)
	}
	w.status()
	if got := w.happened(); len(got) != 0 {
		t.Errorf("once more: %q", got)
	}
	empty := newWorld(t, budget(selecting, maxUnavailable("1")))
	empty.status()
	if got := empty.happened(); len(got) != 1 || !strings.HasPrefix(got[0], "Normal NoPods ") {
		t.Errorf("%q", got)
	}
	broken := newWorld(t, budget(selecting, maxUnavailable("many")))
	broken.status()
	if got := broken.happened(); broken.writes != 0 || !slices.ContainsFunc(got, func(e string) bool { return strings.HasPrefix(e, "Warning CalculateExpectedPodCountFailed ") }) {
		t.Errorf("%d writes, %q", broken.writes, got)
	}
}

func TestWhatIsGoneIsLeftAlone(t *testing.T) {
	if result, err := newWorld(t).reconcile(); err != nil || result != (reconcile.Result{}) {
		t.Errorf("%+v %v", result, err)
	}
	w := newWorld(t, budget(selecting, maxUnavailable("1")), pod("a"))
	w.refuse = apierrors.NewNotFound(schema.GroupResource{}, "web")
	if result, err := w.reconcile(); err != nil || result != (reconcile.Result{}) {
		t.Errorf("%+v %v", result, err)
	}
	w.refuse = errors.New("away")
	if _, err := w.reconcile(); !errors.Is(err, w.refuse) {
		t.Error(err)
	}
}
