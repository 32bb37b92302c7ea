package cloneset

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fairlead-io/fairlead/controllers/throttle"
)

// lag makes the reconciler's cache show the Pods of now, from now on.
func (w *world) lag() (catchUp func()) {
	w.Helper()
	frozen := &corev1.PodList{}
	w.must(w.List(w.Context(), frozen, client.InNamespace("ns")))
	current := w.reconciler.Client
	w.reconciler.Client = interceptor.NewClient(w.Client.(client.WithWatch), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if pods, ok := list.(*corev1.PodList); ok {
				frozen.DeepCopyInto(pods)
				return nil
			}
			return c.List(ctx, list, opts...)
		},
	})
	return func() { w.reconciler.Client = current }
}

// TestALostAnswerIsNotRepeated lets creations succeed without an answer, and the cache not show what they made.
func TestALostAnswerIsNotRepeated(t *testing.T) {
	w := newWorld(t)
	w.settle()
	w.edit(func(s *cloneSet) { four := int32(4); s.Spec.Replicas = &four })
	catchUp := w.lag()
	lost := errors.New("http2: client connection lost")
	direct := w.reconciler.Client
	w.reconciler.Client = interceptor.NewClient(direct.(client.WithWatch), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			if err := c.Create(ctx, obj, opts...); err != nil {
				return err
			}
			return lost
		},
	})
	if _, err := w.reconcile(); !errors.Is(err, lost) {
		t.Fatalf("the error is %v", err)
	}
	for range 3 {
		result, err := w.reconcile()
		if err != nil || result.RequeueAfter <= 0 {
			t.Errorf("while the cache lags: %+v, %v", result, err)
		}
	}
	if n := len(w.pods()); n != 4 {
		t.Fatalf("%d Pods, want 4", n)
	}
	catchUp()
	w.settle()
	if n := len(w.pods()); n != 4 || !w.reconciler.memory.trusts(key(w.set())) {
		t.Errorf("%d Pods, want 4, and trust in the cache", n)
	}
}

// TestANewLeaderReadsFirst has a cache that shows none of what an older leader made.
func TestANewLeaderReadsFirst(t *testing.T) {
	w := newWorld(t)
	catchUp := w.lag()
	w.settleFor(2)
	w.reconciler = New(w.reconciler.Options)
	if _, err := w.reconcile(); err != nil {
		t.Fatal(err)
	}
	if n := len(w.pods()); n != 3 {
		t.Errorf("%d Pods, want 3", n)
	}
	catchUp()
}

func (w *world) settleFor(n int) {
	w.Helper()
	for range n {
		w.sync()
	}
}

func TestWhichErrorsLeaveOpenWhatHappened(t *testing.T) {
	pods := corev1.Resource("pods")
	for name, tt := range map[string]struct {
		err        error
		open, race bool
	}{
		"none":                  {nil, false, false},
		"connection lost":       {errors.New("connection lost"), true, false},
		"timeout":               {context.DeadlineExceeded, true, false},
		"server error":          {apierrors.NewInternalError(errors.New("x")), true, false},
		"already exists":        {apierrors.NewAlreadyExists(pods, "p"), true, false},
		"found in the plan":     {&plannedError{errors.New("x")}, false, false},
		"conflict":              {apierrors.NewConflict(pods, "p", errors.New("x")), false, true},
		"gone":                  {apierrors.NewNotFound(pods, "p"), false, true},
		"forbidden":             {apierrors.NewForbidden(pods, "p", errors.New("x")), false, false},
		"too many":              {apierrors.NewTooManyRequests("x", 1), false, false},
		"conflict and conflict": {errors.Join(apierrors.NewConflict(pods, "p", nil), apierrors.NewNotFound(pods, "q")), false, true},
		"conflict and timeout":  {errors.Join(apierrors.NewConflict(pods, "p", nil), context.DeadlineExceeded), true, false},
	} {
		if open := leavesOpen(tt.err); open != tt.open {
			t.Errorf("%s: leaves open %v", name, open)
		}
		if tt.err != nil && isRace(tt.err) != tt.race {
			t.Errorf("%s: a race %v", name, isRace(tt.err))
		}
	}
}

// TestAnEndingNamespaceIsSilent has Pods deleted with their namespace, before their CloneSet.
func TestAnEndingNamespaceIsSilent(t *testing.T) {
	w := newWorld(t, replicas(4))
	w.settle()
	for _, pod := range w.pods() {
		w.must(w.Delete(t.Context(), pod))
	}
	refused := apierrors.NewForbidden(corev1.Resource("pods"), "p", errors.New("it is being terminated"))
	refused.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause, Field: "metadata.namespace"}}
	refusals := 0
	w.fail = func(verb string, obj client.Object) error {
		if _, isPod := obj.(*corev1.Pod); isPod && verb == "create" {
			refusals++
			return refused
		}
		return nil
	}
	w.eventsNow()
	result, err := w.reconcile()
	if err != nil || result.RequeueAfter != 0 || refusals != 1 {
		t.Errorf("after %d refusals it comes again after %s with %v, want 1, never and none", refusals, result.RequeueAfter, err)
	}
	if events, conditions := w.eventsNow(), w.set().Status.Conditions; len(events)+len(conditions) > 0 {
		t.Errorf("it tells of it: %v, %v", events, conditions)
	}
}

// TestAnEndingNamespaceTakesTheCloneSet while the replacement of a revision is refused.
func TestAnEndingNamespaceTakesTheCloneSet(t *testing.T) {
	refused := apierrors.NewForbidden(corev1.Resource("controllerrevisions"), "r", errors.New("it is being terminated"))
	refused.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause, Field: "metadata.namespace"}}
	gone := apierrors.NewNotFound(corev1.Resource("clonesets"), "set")
	for name, tt := range map[string]struct {
		err    error
		silent bool
	}{
		"refused":                    {refused, true},
		"refused and gone":           {errors.Join(fmt.Errorf("creating: %w", refused), fmt.Errorf("writing: %w", gone)), true},
		"refused and forbidden":      {errors.Join(refused, apierrors.NewForbidden(corev1.Resource("pods"), "p", nil)), false},
		"refused and a server error": {errors.Join(refused, apierrors.NewInternalError(errors.New("x"))), false},
		"gone alone, a race":         {gone, false},
		"nothing":                    {nil, false},
	} {
		if got := ofEndingNamespace(tt.err); got != tt.silent {
			t.Errorf("%s: of an ending namespace %v, want %v", name, got, tt.silent)
		}
	}
}

func TestAConflictIsSilent(t *testing.T) {
	w := newWorld(t, inPlace)
	w.settle()
	w.fail = func(verb string, obj client.Object) error {
		if _, isPod := obj.(*corev1.Pod); isPod {
			return apierrors.NewConflict(corev1.Resource("pods"), obj.GetName(), errors.New("the object has been modified"))
		}
		return nil
	}
	w.edit(image("web:2"))
	w.eventsNow()
	w.clock.SetTime(w.clock.Now().Add(2 * time.Second))
	result, err := w.reconcile()
	if err != nil || result.RequeueAfter != conflictDelay || len(w.eventsNow()) != 0 || len(w.set().Status.Conditions) != 0 {
		t.Errorf("%+v, %v, conditions %v", result, err, w.set().Status.Conditions)
	}
}

// TestRecreatedAfterOrphaning has what is left of a CloneSet that was deleted without its dependents.
// Within the limit of requests not all Pods may get their turn in one sync: nothing failed, and nothing is in doubt.
func TestRequestsThatWereNotSentAreNoFailure(t *testing.T) {
	w := newWorld(t, inPlace)
	w.settle()
	unsent := &url.Error{Op: "Patch", Err: &throttle.NotSentError{Resource: "pods", Err: errors.New("rate: Wait(n=1) would exceed context deadline")}}
	w.fail = func(verb string, obj client.Object) error {
		if _, isPod := obj.(*corev1.Pod); isPod && verb == "patch" {
			return unsent
		}
		return nil
	}
	w.edit(image("web:2"))
	w.eventsNow()
	for range 3 {
		w.clock.SetTime(w.clock.Now().Add(2 * time.Second))
		result, err := w.reconcile()
		if err != nil || result.RequeueAfter == 0 || result.RequeueAfter > lookAgain {
			t.Errorf("it comes again after %s with %v", result.RequeueAfter, err)
		}
		if events, conditions := w.eventsNow(), w.set().Status.Conditions; len(events)+len(conditions) > 0 {
			t.Errorf("it tells of it: %v, %v", events, conditions)
		}
		if !w.reconciler.memory.trusts(key(w.set())) {
			t.Error("it trusts the cache no more")
		}
	}
	w.fail = nil
	w.settle()
	if updated := w.set().Status.UpdatedAvailableReplicas; updated != 3 {
		t.Errorf("then %d Pods are updated, want 3", updated)
	}
}

func TestRecreatedAfterOrphaning(t *testing.T) {
	w := newWorld(t)
	w.settle()
	orphan := w.revisions()[0]
	orphan.OwnerReferences = nil
	w.must(w.Update(t.Context(), &orphan))
	w.settle()
	if owners := w.revisions()[0].OwnerReferences; len(w.revisions()) != 1 || len(owners) != 1 || owners[0].UID != "set-uid" {
		t.Errorf("of %d revisions the first is owned by %v", len(w.revisions()), owners)
	}
	writes := len(w.writes)
	w.sync()
	if len(w.writes) != writes {
		t.Errorf("at rest it writes %v", w.writes[writes:])
	}
}

func TestAPodThatCannotBeReadStopsNoOther(t *testing.T) {
	w := newWorld(t)
	w.sync()
	w.editPod("web-id001", func(p *corev1.Pod) { p.Annotations["apps.kruise.io/inplace-update-state"] = "{" })
	for range 3 {
		w.kubelet()
		w.clock.SetTime(w.clock.Now().Add(2 * time.Second))
		if _, err := w.reconcile(); err == nil {
			t.Error("an annotation that cannot be read is no error")
		}
	}
	w.kubelet()
	if ready := w.trace(); ready != "3/0/2/3" {
		t.Errorf("the traces are %s, want two Pods available", ready)
	}
}

func TestABusyCloneSetIsTrustedAgain(t *testing.T) {
	v1 := at(t, "web:1", 1)
	pod := func(name, version string) corev1.Pod {
		p := podAt(v1, name, ownedBy("apps.kruise.io/v1beta1", "set-uid"))
		p.ResourceVersion = version
		return *p
	}
	set := newSet()
	floor := map[string]string{"a": "99", "b": "100"}
	for name, tt := range map[string]struct {
		cached, live []corev1.Pod
		want         bool
	}{
		"it shows what was there":   {[]corev1.Pod{pod("a", "99"), pod("b", "101")}, []corev1.Pod{pod("a", "205"), pod("b", "204")}, true},
		"it shows an older one":     {[]corev1.Pod{pod("a", "99"), pod("b", "99")}, []corev1.Pod{pod("a", "99"), pod("b", "100")}, false},
		"it lacks one":              {[]corev1.Pod{pod("a", "99")}, []corev1.Pod{pod("a", "99"), pod("b", "100")}, false},
		"it shows one that is gone": {[]corev1.Pod{pod("a", "99"), pod("b", "100")}, []corev1.Pod{pod("a", "99")}, false},
		"one is gone from both":     {[]corev1.Pod{pod("a", "99")}, []corev1.Pod{pod("a", "99")}, true},
		"it lacks a later one":      {[]corev1.Pod{pod("a", "99"), pod("b", "100")}, []corev1.Pod{pod("a", "99"), pod("b", "100"), pod("c", "300")}, false},
		"it shows a later one":      {[]corev1.Pod{pod("a", "99"), pod("b", "100"), pod("c", "299")}, []corev1.Pod{pod("a", "99"), pod("b", "100"), pod("c", "300")}, true},
	} {
		if got := caughtUp(set, pointers(tt.cached), pointers(tt.live), floor); got != tt.want {
			t.Errorf("%s: caught up %v", name, got)
		}
	}
}

// TestOtherPodsDoNotTellHowOldTheCacheIs has the cache show a predecessor of a Pod's name, and Pods of other CloneSets.
func TestOtherPodsDoNotTellHowOldTheCacheIs(t *testing.T) {
	v1 := at(t, "web:1", 1)
	ours := *podAt(v1, "a", ownedBy("apps.kruise.io/v1beta1", "set-uid"))
	predecessor, theirs := *ours.DeepCopy(), *podAt(v1, "theirs", ownedBy("apps.kruise.io/v1beta1", "other"))
	predecessor.UID = "before"
	for name, tt := range map[string]struct {
		cached, live []corev1.Pod
		want         bool
	}{
		"the same":            {[]corev1.Pod{ours}, []corev1.Pod{ours}, true},
		"a predecessor":       {[]corev1.Pod{predecessor}, []corev1.Pod{ours}, false},
		"others in the cache": {[]corev1.Pod{ours, theirs}, []corev1.Pod{ours}, true},
		"others not in it":    {[]corev1.Pod{ours}, []corev1.Pod{ours, theirs}, true},
	} {
		if got := caughtUp(newSet(), pointers(tt.cached), pointers(tt.live), nil); got != tt.want {
			t.Errorf("%s: caught up %v", name, got)
		}
	}
}

// TestANewLeaderReleasesWhatHasLeft although what is read at the API server are Pods that match the selector.
func TestANewLeaderReleasesWhatHasLeft(t *testing.T) {
	w := newWorld(t)
	w.settle()
	w.editPod("web-id001", label("app", "mine"))
	w.reconciler = New(w.reconciler.Options)
	w.sync()
	if owners := w.pods()[0].OwnerReferences; len(owners) > 0 || len(w.live()) != 4 {
		t.Errorf("the Pod that left is owned by %v; Pods are %v", owners, w.live())
	}
}

// TestOnlyRacesInARowAreTheCachesFault has one now and then, as any kubelet causes them.
func TestOnlyRacesInARowAreTheCachesFault(t *testing.T) {
	w := newWorld(t, inPlace, replicas(1), limits("0", "1", "0"))
	w.settle()
	for i := range 3 {
		conflicts := 0
		w.fail = func(verb string, obj client.Object) error {
			if _, isPod := obj.(*corev1.Pod); isPod && verb == "status" && conflicts == 0 {
				conflicts++
				return apierrors.NewConflict(corev1.Resource("pods"), obj.GetName(), errors.New("changed meanwhile"))
			}
			return nil
		}
		w.edit(image(fmt.Sprint("web:", i+2)))
		w.settle()
		if conflicts != 1 || !w.reconciler.memory.trusts(key(w.set())) {
			t.Errorf("after %d races with successes between them, it trusts the cache: %v", i+1, w.reconciler.memory.trusts(key(w.set())))
		}
	}
}

func TestWhatIsGoneIsForgotten(t *testing.T) {
	w := newWorld(t)
	w.settle()
	w.must(w.Delete(t.Context(), w.set()))
	w.sync()
	if n := len(w.reconciler.memory.sets); n > 0 {
		t.Errorf("%d CloneSets are remembered", n)
	}
}

// TestARevisionOfAPredecessorIsLeftToIt has a CloneSet of the same name be collected.
func TestARevisionOfAPredecessorIsLeftToIt(t *testing.T) {
	w := newWorld(t)
	w.settle()
	w.must(w.Delete(t.Context(), w.set()))
	w.must(w.Create(t.Context(), newSet(replicas(1), func(s *cloneSet) { s.UID = "another" })))
	w.sync()
	if owners := w.revisions()[0].OwnerReferences; len(w.revisions()) != 1 || len(owners) != 1 || owners[0].UID != "set-uid" {
		t.Errorf("of %d revisions the first is owned by %v", len(w.revisions()), owners)
	}
}
