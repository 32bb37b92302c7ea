package podunavailablebudget

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"pgregory.net/rapid"
)

func checker(s *server) *Checker {
	return NewChecker(Options{Store: s, Clock: clock.RealClock{}, Random: half})
}

func TestCheckTakesOneUnitByOneWrite(t *testing.T) {
	s := &server{budget: budget()}
	c := checker(s)
	for i, want := range []Outcome{Taken, Free, Denied} {
		name := []string{"web-1", "web-1", "web-2"}[i]
		verdict, err := c.Check(t.Context(), available(func(p *corev1.Pod) { p.Name = name }), Delete, false)
		if err != nil || verdict.Outcome != want {
			t.Errorf("%d: %+v %v, want %v", i, verdict, err, want)
		}
	}
	if s.writes != 1 {
		t.Errorf("%d writes", s.writes)
	}
	if verdict, err := c.Check(t.Context(), available(func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }), Delete, false); err != nil || verdict.Outcome != Free {
		t.Errorf("%+v %v", verdict, err)
	}
}

func TestCheckWithoutABudgetOrAServer(t *testing.T) {
	gone := &server{}
	if verdict, err := checker(gone).Check(t.Context(), available(), Evict, false); err != nil || verdict.Outcome != Free {
		t.Errorf("a budget that is gone: %+v %v", verdict, err)
	}
	goes := &server{budget: budget()}
	goes.conflicts = 1
	goes.read = func() {
		if goes.writes == 1 {
			goes.budget = nil
		}
	}
	if verdict, err := checker(goes).Check(t.Context(), available(), Evict, false); err != nil || verdict.Outcome != Free {
		t.Errorf("a budget that goes meanwhile: %+v %v", verdict, err)
	}
	away := &server{failure: errors.New("connection refused")}
	if _, err := checker(away).Check(t.Context(), available(), Evict, false); !errors.Is(err, away.failure) {
		t.Errorf("a server that is away: %v", err)
	}
}

func TestConflictsAreTriedAgainForAWhile(t *testing.T) {
	for conflicts, want := range map[int]Outcome{0: Taken, 1: Taken, tries - 1: Taken, tries: Denied} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{budget: budget(), conflicts: conflicts}
			begin := time.Now()
			verdict, err := checker(s).Check(t.Context(), available(), Delete, false)
			if err != nil || verdict.Outcome != want || want == Denied && verdict.Reason != Conflict {
				t.Errorf("%d conflicts: %+v %v, want %v", conflicts, verdict, err, want)
			}
			if took := time.Since(begin); took > 2500*time.Millisecond {
				t.Errorf("%d conflicts take %s, half of the 5 s that a request has", conflicts, took)
			}
			synctest.Wait()
		})
	}
}

// A unit is not for those who have left.
func TestWhoDoesNotWaitTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{budget: budget(), conflicts: 1}
		c := checker(s)
		ctx, cancel := context.WithCancel(t.Context())
		s.read = func() { cancel() }
		if _, err := c.Check(ctx, available(), Delete, false); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		time.Sleep(time.Second)
		if len(s.budget.Status.DisruptedPods) != 0 || len(c.queues) != 0 {
			t.Errorf("%+v, %d queues", s.budget.Status, len(c.queues))
		}
	})
}

// Those who come while a write is on its way share the next one.
func TestWhoWaitsSharesAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{budget: budget(func(b *Budget) { b.Status.UnavailableAllowed = 40 })}
		s.read = func() { time.Sleep(10 * time.Millisecond) }
		c := checker(s)
		var group sync.WaitGroup
		for i := range 64 {
			group.Go(func() {
				if _, err := c.Check(t.Context(), available(func(p *corev1.Pod) { p.Name = strconv.Itoa(i) }), Delete, false); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if got := len(s.budget.Status.DisruptedPods); got != 40 || s.writes > 3 {
			t.Errorf("%d went by %d writes", got, s.writes)
		}
	})
}

// Invariant: over any interleaving of replicas and of the controller, admitted − recovered ≤ allowed; and nobody is denied
// by a conflict while units are left.
func TestNoInterleavingAdmitsTooMany(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		allowed := rapid.Int32Range(0, 6).Draw(rt, "allowed")
		replicas := rapid.IntRange(1, 4).Draw(rt, "replicas")
		claims := rapid.SliceOfN(rapid.IntRange(0, 9), 1, 40).Draw(rt, "pods")
		delays := rapid.SliceOfN(rapid.IntRange(0, 5), 1, 20).Draw(rt, "delays")
		recovers := rapid.IntRange(0, 3).Draw(rt, "recovered")
		synctest.Test(t, func(t *testing.T) {
			s := &server{budget: budget(func(b *Budget) { b.Status.UnavailableAllowed = allowed })}
			var mu sync.Mutex
			reads, admitted := 0, map[string]bool{}
			s.read = func() {
				mu.Lock()
				reads++
				delay := delays[reads%len(delays)]
				mu.Unlock()
				time.Sleep(time.Duration(delay) * time.Millisecond)
			}
			var group sync.WaitGroup
			for r := range replicas {
				c := checker(s)
				for i, pod := range claims {
					if i%replicas != r {
						continue
					}
					group.Go(func() {
						time.Sleep(time.Duration(i%7) * time.Millisecond)
						name := strconv.Itoa(pod)
						verdict, err := c.Check(t.Context(), available(func(p *corev1.Pod) { p.Name = name }), Delete, false)
						if err != nil {
							rt.Errorf("%v", err)
						}
						if verdict.Allowed() {
							mu.Lock()
							admitted[name] = true
							mu.Unlock()
						}
					})
				}
			}
			group.Go(func() { // the controller gives units back while others take some
				for range recovers {
					for {
						b, _ := s.Get(t.Context(), shopWeb)
						b.Status.UnavailableAllowed++
						if s.UpdateStatus(t.Context(), b) == nil {
							break
						}
					}
				}
			})
			group.Wait()
			left := s.budget.Status.UnavailableAllowed
			if len(admitted) > int(allowed)+recovers || left < 0 || len(admitted) != len(s.budget.Status.DisruptedPods) ||
				int(left) != int(allowed)+recovers-len(admitted) {
				rt.Errorf("%d of %d+%d admitted, %d left, %d recorded", len(admitted), allowed, recovers, left, len(s.budget.Status.DisruptedPods))
			}
		})
	})
}
