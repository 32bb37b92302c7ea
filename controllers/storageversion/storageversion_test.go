package storageversion

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsfake "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/fake"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"

	"github.com/fairlead-io/fairlead/api/conversion"
)

var budgets = conversion.Resource{GroupKind: schema.GroupKind{Group: "policy.kruise.io", Kind: "PodUnavailableBudget"}, Plural: "podunavailablebudgets"}

// world is an API server with the definition of budgets, and objects of it.
type world struct {
	*testing.T
	definitions *apiextensionsfake.Clientset
	registry    *prometheus.Registry
	start       time.Time
	// log has what was patched and written, with seconds since the start.
	log []string
	// pages are what is listed, one after the other.
	pages [][]string
	// answer is the answer to a patch of an object, by default that it was done.
	answer func(name string) error
	// before runs before the status is written, and listing before a page is listed.
	before  func() error
	listing func(page int) error
}

func newWorld(t *testing.T, stored ...string) *world {
	w := &world{
		T: t, registry: prometheus.NewRegistry(), start: time.Now(), pages: [][]string{{"a", "b"}, {"c"}},
		answer: func(string) error { return nil }, before: func() error { return nil }, listing: func(int) error { return nil },
	}
	w.definitions = apiextensionsfake.NewClientset(&apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: budgets.Definition(), UID: "u", Generation: 3},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: budgets.Group, Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1alpha1"}, {Name: "v1beta1", Storage: true}},
		},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{StoredVersions: stored},
	})
	w.definitions.PrependReactor("update", "customresourcedefinitions", func(action clienttesting.Action) (bool, runtime.Object, error) {
		crd := action.(clienttesting.UpdateAction).GetObject().(*apiextensionsv1.CustomResourceDefinition)
		if action.GetSubresource() != "status" {
			t.Errorf("update of %s", action.GetSubresource())
		}
		if err := w.before(); err != nil {
			return true, nil, err
		}
		w.note("stored %s", strings.Join(crd.Status.StoredVersions, ","))
		return false, nil, nil
	})
	return w
}

func (w *world) note(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf("%d: "+format, append([]any{int(time.Since(w.start).Seconds())}, args...)...))
}

// objects are the objects of a resource, in a namespace or everywhere.
type objects struct {
	metadata.Getter
	w         *world
	resource  schema.GroupVersionResource
	namespace string
}

func (o objects) Resource(resource schema.GroupVersionResource) metadata.Getter {
	o.resource = resource
	return o
}

func (o objects) Namespace(namespace string) metadata.ResourceInterface {
	o.namespace = namespace
	return o
}

func (o objects) List(_ context.Context, options metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	w := o.w
	if want := (schema.GroupVersionResource{Group: "policy.kruise.io", Version: "v1beta1", Resource: "podunavailablebudgets"}); o.resource != want ||
		options.Limit != 500 || o.namespace != "" {
		w.Errorf("listed %d of %s in %q", options.Limit, o.resource, o.namespace)
	}
	at := 0
	if options.Continue != "" {
		at = int(options.Continue[0] - '0')
	}
	if err := w.listing(at); err != nil {
		return nil, err
	}
	list := &metav1.PartialObjectMetadataList{}
	for _, name := range w.pages[at] {
		list.Items = append(list.Items, metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}})
	}
	if at+1 < len(w.pages) {
		list.Continue = string(rune('0' + at + 1))
	}
	return list, nil
}

func (o objects) Patch(_ context.Context, name string, kind types.PatchType, patch []byte, _ metav1.PatchOptions, sub ...string) (*metav1.PartialObjectMetadata, error) {
	w := o.w
	if string(patch) != "{}" || kind != types.MergePatchType || o.namespace != "shop" || len(sub) > 0 {
		w.Errorf("patched %s/%s %v with %s %s", o.namespace, name, sub, kind, patch)
	}
	if err := w.answer(name); err != nil {
		w.note("%s fails", name)
		return nil, err
	}
	w.note("%s", name)
	return &metav1.PartialObjectMetadata{}, nil
}

// work runs a Migrator until ctx ends.
func (w *world) work(ctx context.Context) {
	w.Helper()
	m := New(Options{
		Definitions: w.definitions.ApiextensionsV1().CustomResourceDefinitions(), Objects: objects{w: w},
		Resources: []conversion.Resource{budgets, {GroupKind: schema.GroupKind{Group: "apps.kruise.io"}, Plural: "absents"}},
		Clock:     clock.RealClock{}, Log: logr.Discard(), Registerer: w.registry,
	})
	if err := m.Start(ctx); err != nil {
		w.Error(err)
	}
}

// done runs a Migrator for an hour and says what it did, whenever that was.
func (w *world) done() string {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), time.Hour)
	defer cancel()
	w.work(ctx)
	var done []string
	for _, line := range w.log {
		_, what, _ := strings.Cut(line, ": ")
		done = append(done, what)
	}
	return strings.Join(done, " ")
}

// run runs a Migrator for an hour and checks what it did.
func (w *world) run(want ...string) {
	w.Helper()
	w.done()
	if diff := cmp.Diff(want, w.log); diff != "" {
		w.Errorf("done, by second (-want +got):\n%s", diff)
	}
	w.log = nil
}

func (w *world) stored(want ...string) {
	w.Helper()
	crd, err := w.definitions.ApiextensionsV1().CustomResourceDefinitions().Get(w.Context(), budgets.Definition(), metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	if !slices.Equal(crd.Status.StoredVersions, want) {
		w.Errorf("stored are %v, want %v", crd.Status.StoredVersions, want)
	}
}

func inBubble(t *testing.T, test func(*testing.T)) { t.Helper(); synctest.Test(t, test) }

func TestObjectsAreStoredAnewOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld(t, "v1alpha1", "v1beta1")
		w.run("30: a", "30: b", "30: c", "30: stored v1beta1")
		w.stored("v1beta1")
		w.run()
	})
}

func TestNothingIsDoneWhereNothingIsOld(t *testing.T) {
	inBubble(t, func(t *testing.T) { newWorld(t, "v1beta1").run() })
}

func TestTheRateIsLimited(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld(t, "v1alpha1", "v1beta1")
		w.pages = [][]string{slices.Repeat([]string{"a"}, 100)}
		w.done()
		if last := w.log[len(w.log)-1]; last != "34: stored v1beta1" { // 20 at once, then 20 a second
			t.Errorf("the end is %q", last)
		}
	})
}

// TestAnObjectThatIsRefusedHoldsUpNoOther, and only it is tried again.
func TestAnObjectThatIsRefusedHoldsUpNoOther(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld(t, "v1alpha1", "v1beta1")
		w.answer = func(name string) error {
			if name == "b" && time.Since(w.start) < 33*time.Second {
				return apierrors.NewForbidden(schema.GroupResource{}, name, errors.New("by some policy"))
			}
			return nil
		}
		if got := w.done(); !strings.HasPrefix(got, "a b fails c b fails ") || !strings.HasSuffix(got, " b stored v1beta1") || strings.Count(got, "a ") != 1 {
			t.Errorf("done: %s", got)
		}
	})
}

func TestAnObjectThatIsGoneNeedsNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld(t, "v1alpha1")
		w.answer = func(name string) error { return apierrors.NewNotFound(schema.GroupResource{}, name) }
		w.run("30: a fails", "30: b fails", "30: c fails", "30: stored v1beta1")
	})
}

// TestADefinitionThatChangesMeanwhileIsBegunAnew: another version may have been written in between.
func TestADefinitionThatChangesMeanwhileIsBegunAnew(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld(t, "v1alpha1", "v1beta1")
		w.answer = func(name string) error {
			if name == "c" && time.Since(w.start) < 31*time.Second {
				crd, err := w.definitions.Tracker().Get(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"), "", budgets.Definition())
				if err != nil {
					t.Fatal(err)
				}
				crd.(*apiextensionsv1.CustomResourceDefinition).Generation++
				if err := w.definitions.Tracker().Update(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"), crd, ""); err != nil {
					t.Fatal(err)
				}
			}
			return nil
		}
		w.run("30: a", "30: b", "30: c", "61: a", "61: b", "61: c", "61: stored v1beta1")
	})
}

func TestAConflictIsTriedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld(t, "v1alpha1", "v1beta1")
		conflicts := 0
		w.before = func() error {
			if conflicts++; conflicts < 3 {
				return apierrors.NewConflict(schema.GroupResource{}, budgets.Definition(), errors.New("written by another"))
			}
			return nil
		}
		w.done()
		if len(w.log) != 4 {
			t.Errorf("objects are stored anew again for a conflict: %v", w.log)
		}
		w.stored("v1beta1")
	})
}

// TestAnExpiredListBeginsAnew, one that only fails goes on.
func TestAnExpiredListBeginsAnew(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld(t, "v1alpha1", "v1beta1")
		failures := []error{errors.New("away"), apierrors.NewResourceExpired("too old")}
		w.listing = func(page int) error {
			if page == 0 || len(failures) == 0 {
				return nil
			}
			err := failures[0]
			failures = failures[1:]
			return err
		}
		if diff := cmp.Diff("a b a b c stored v1beta1", w.done()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestTheMetricSaysWhatIsPending(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld(t, "v1alpha1", "v1beta1")
		var during float64
		w.answer = func(string) error { during = w.pending(); return nil }
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go w.work(ctx)
		time.Sleep(time.Minute)
		synctest.Wait()
		if after := w.pending(); during != 1 || after != 0 {
			t.Errorf("pending is %v, then %v", during, after)
		}
	})
}

func (w *world) pending() float64 {
	families, err := w.registry.Gather()
	if err != nil || len(families) != 1 {
		w.Errorf("%d metrics: %v", len(families), err)
		return -1
	}
	for _, metric := range families[0].GetMetric() {
		if metric.GetLabel()[0].GetValue() == budgets.Definition() {
			return metric.GetGauge().GetValue()
		}
	}
	return -1
}
