package userpolicy

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fairlead-io/fairlead/webhook/admission"
)

func handler(sets *Sets, awaited error) *Handler {
	return NewHandler(HandlerOptions{
		Installation: Installation{Namespace: "kruise-system"}, Sets: sets, Inventory: func(*Set) Inventory { return nil },
		Awaited: func(string) error { return awaited }, Metrics: NewMetrics(prometheus.NewRegistry()),
		Decisions: slog.New(slog.NewJSONHandler(io.Discard, nil)), Clock: clocktesting.NewFakePassiveClock(noon),
	})
}

func TestAnswers(t *testing.T) {
	sets := &Sets{}
	sets.Put(imageSet(t, ""))
	h := handler(sets, nil)
	response := h.For("images").Handle(t.Context(), pod("evil/x:latest"))
	want := &metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
		Message: "the policies of images forbid this: registry: spec.containers[0].image: evil/x:latest is not from registry.example.com/",
		Details: &metav1.StatusDetails{Kind: "pods", Name: "web", UID: "1", Causes: []metav1.StatusCause{{
			Type: "registry", Field: "spec.containers[0].image", Message: "evil/x:latest is not from registry.example.com/",
		}}},
	}
	if diff := cmp.Diff(want, response.Status); diff != "" || response.Allowed || response.Fault != 0 {
		t.Errorf("%+v: %s", response, diff)
	}
	if diff := cmp.Diff([]string{"images: images.warn: the tag latest moves"}, response.Warnings); diff != "" {
		t.Error(diff)
	}
	if response := h.For("images").Handle(t.Context(), deployment("registry.example.com/x:1")); !response.Allowed || len(response.Warnings) != 0 {
		t.Errorf("a dry run says %+v", response)
	}
	for action, count := range map[string]float64{"deny": 1, "dryrun": 1, "allow": 0} {
		var counted dto.Metric
		if err := h.Metrics.decisions.WithLabelValues("images", action).Write(&counted); err != nil || counted.GetCounter().GetValue() != count {
			t.Errorf("%v decisions %s are counted, %v", counted.GetCounter().GetValue(), action, err)
		}
	}
}

// A set that is gone lets its requests pass; one that a replica cannot know yet leaves them to the failure policy.
func TestSetsThatAreNotThere(t *testing.T) {
	if response := handler(&Sets{}, nil).For("gone").Handle(t.Context(), pod("x")); !response.Allowed {
		t.Errorf("gone: %+v", response)
	}
	if response := handler(&Sets{}, errors.New("not read yet")).For("images").Handle(t.Context(), pod("x")); response.Allowed || response.Fault != http.StatusServiceUnavailable || !response.Plain {
		t.Errorf("not read yet: %+v", response)
	}
}

func TestExcludedRequestsPassAnySet(t *testing.T) {
	sets := &Sets{}
	sets.Put(imageSet(t, ""))
	req := pod("evil/x")
	req.Namespace = "kube-system"
	if response := handler(sets, nil).For("images").Handle(t.Context(), req); !response.Allowed {
		t.Errorf("%+v", response)
	}
}

// Swapping a set while it is asked fails nothing: each request sees one version or the other.
func TestSwapsAreAtomic(t *testing.T) {
	sets := &Sets{}
	versions := []*Set{imageSet(t, ""), imageSet(t, "enforcement: warn\n")}
	sets.Put(versions[0])
	h := handler(sets, errors.New("it is never away"))
	done := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
				sets.Put(versions[i%2])
			}
		}
	})
	for range 300 {
		response := h.For("images").Handle(t.Context(), pod("evil/x:1"))
		if response.Fault != 0 || response.Allowed == (len(response.Warnings) == 0) {
			t.Fatalf("%+v", response)
		}
	}
	close(done)
	group.Wait()
}

// However few CPUs there are, a set that is stuck leaves a turn to others.
func TestTurnsByCPUs(t *testing.T) {
	for cpus, want := range map[int]struct{ all, each int }{1: {2, 1}, 2: {2, 1}, 3: {2, 1}, 4: {3, 1}, 5: {4, 2}, 17: {16, 8}} {
		if got := turnsOn(cpus); cap(got.free) != want.all || got.each != want.each {
			t.Errorf("%d CPUs: %d turns, %d for a set, want %v", cpus, cap(got.free), got.each, want)
		}
	}
}

// What a request makes rules say is bounded, whoever is told.
func TestAnswersAreBounded(t *testing.T) {
	const rego = "# METADATA\n# scope: package\n# custom: {match: [{apiGroups: [''], resources: [pods]}]}\npackage a\n\n" +
		`deny contains sprintf("%d %s", [n, input.request.object.word]) if some n in numbers.range(1, 1000)` + "\n" +
		`warn contains sprintf("%d", [n]) if some n in numbers.range(1, 30)` + "\n"
	req := pod("x:1")
	req.Object = []byte(`{"word":"` + strings.Repeat("ä", 5000) + `"}`)
	sets := &Sets{}
	sets.Put(set(t, map[string]string{"a.rego": rego}))
	response := handler(sets, nil).For("images").Handle(t.Context(), req)
	causes := response.Status.Details.Causes
	if len(causes) != 100 || len(causes[0].Message) > 2048+3 || !utf8.ValidString(causes[0].Message) {
		t.Errorf("%d causes, the first of %d bytes", len(causes), len(causes[0].Message))
	}
	if !strings.HasSuffix(response.Status.Message, "; and 980 more") || len(response.Status.Message) > 50_000 {
		t.Errorf("%d bytes, which end with %q", len(response.Status.Message), response.Status.Message[len(response.Status.Message)-40:])
	}
	if warnings := response.Warnings; len(warnings) != 21 || warnings[20] != "images: and 10 more" {
		t.Errorf("the warnings are %q", warnings)
	}
}

// Slow rules hold neither all turns nor all requests.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := &turns{free: make(chan struct{}, 2), each: 1, sets: make(map[string]*ofSet)}
		slow, err := turns.take(t.Context(), "slow")
		if err != nil {
			t.Fatal(err)
		}
		within, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var waiting sync.WaitGroup
		refused := make(chan error, mostWaitingForOne)
		for range mostWaitingForOne {
			waiting.Go(func() {
				_, err := turns.take(within, "slow")
				refused <- err
			})
		}
		synctest.Wait()
		if _, err := turns.take(t.Context(), "slow"); !errors.Is(err, ErrBusy) {
			t.Errorf("one more is told %v", err)
		}
		fast, err := turns.take(t.Context(), "fast")
		if err != nil {
			t.Fatalf("another set is told %v", err)
		}
		fast()
		waiting.Wait()
		for range mostWaitingForOne {
			if err := <-refused; !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("who waited is told %v", err)
			}
		}
		slow()
		again, err := turns.take(t.Context(), "slow")
		if err != nil {
			t.Fatal(err)
		}
		again()
		if len(turns.sets) != 0 || turns.waiting != 0 || len(turns.free) != 0 {
			t.Errorf("left are %v, %d waiting, %d turns", turns.sets, turns.waiting, len(turns.free))
		}
	})
}

// Who is turned away leaves nothing behind.
func TestRefusedTurnsAreForgotten(t *testing.T) {
	turns := &turns{free: make(chan struct{}, 1), each: 1, sets: make(map[string]*ofSet), waiting: mostWaiting}
	if _, err := turns.take(t.Context(), "images"); !errors.Is(err, ErrBusy) || len(turns.sets) != 0 {
		t.Errorf("%v, left are %v", err, turns.sets)
	}
}

func TestARequestThatWaitsInVainIsAFault(t *testing.T) {
	sets := &Sets{}
	sets.Put(imageSet(t, ""))
	h := handler(sets, nil)
	h.turns = &turns{free: make(chan struct{}, 1), each: 1, sets: make(map[string]*ofSet)}
	h.turns.free <- struct{}{}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if response := h.For("images").Handle(ctx, pod("evil/x")); response.Fault != http.StatusServiceUnavailable || response.Allowed {
		t.Errorf("%+v", response)
	}
}

func TestUnreadableObjectsAreTheRequestsFault(t *testing.T) {
	s := imageSet(t, "")
	req := pod("x")
	req.Object = []byte(`{"a":`)
	_, err := s.Evaluate(t.Context(), Request{Request: req, Time: noon}, nil)
	if response := admission.Failed(err); response.Fault != 0 || response.Status.Code != 400 {
		t.Errorf("%+v", response)
	}
}
