package neighbours

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
)

const spreads = "workloadspreads"

var (
	web  = Target{"apps/v1", "Deployment", "web"}
	beta = Target{"apps/v1beta2", "Deployment", "web"}
	db   = Target{"apps/v1", "Deployment", "db"}
)

func newIndex() (*Index, *clocktesting.FakePassiveClock) {
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	return NewIndex(clock), clock
}

func spread(namespace, name string, target Target, more ...string) jsontext.Value {
	return fmt.Appendf(nil, `{"metadata":{"namespace":%q,"name":%q%s},"spec":{"targetRef":{"apiVersion":%q,"kind":%q,"name":%q}}}`,
		namespace, name, fmt.Sprint(append(toAny(more), "")...), target.APIVersion, target.Kind, target.Name)
}

func toAny(of []string) (all []any) {
	for _, s := range of {
		all = append(all, s)
	}
	return all
}

func budget(name, selector string) jsontext.Value {
	return fmt.Appendf(nil, `{"metadata":{"namespace":"shop","name":%q},"spec":{"selector":%s}}`, name, selector)
}

func upsert(t *testing.T, s Sink, all ...jsontext.Value) {
	t.Helper()
	for _, raw := range all {
		if err := s.Upsert(raw); err != nil {
			t.Fatal(err)
		}
	}
}

func assert(t *testing.T, what string, want, got Candidates) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s: %s", what, diff)
	}
}

func TestTargetsOfTheWatch(t *testing.T) {
	x, _ := newIndex()
	sink := x.Sink(spreads)
	upsert(t, sink, spread("shop", "b", web), spread("shop", "a", beta), spread("bank", "c", web), spread("shop", "d", db))
	assert(t, "whatever version, in one namespace, in order", Candidates{Known: []string{"a", "b"}}, x.SameTarget(spreads, "shop", "", web))
	assert(t, "not itself", Candidates{Known: []string{"b"}}, x.SameTarget(spreads, "shop", "a", web))
	assert(t, "of one kind", Candidates{}, x.SameTarget("persistentpodstates", "shop", "", web))
	upsert(t, sink, spread("shop", "b", db))
	assert(t, "changed", Candidates{Known: []string{"b", "d"}}, x.SameTarget(spreads, "shop", "", db))
	upsert(t, sink, spread("shop", "b", db, `,"deletionTimestamp":"2026-01-01T00:00:00Z"`))
	assert(t, "ending", Candidates{Known: []string{"d"}}, x.SameTarget(spreads, "shop", "", db))
	sink.Delete("shop", "d")
	assert(t, "gone", Candidates{}, x.SameTarget(spreads, "shop", "", db))
	if err := sink.Upsert(jsontext.Value(`{"spec":1}`)); err == nil {
		t.Error("an object that cannot be read is taken")
	}
}

func TestSelectorsOfTheWatch(t *testing.T) {
	const budgets = "podunavailablebudgets"
	x, _ := newIndex()
	sink := x.Sink(budgets)
	upsert(t, sink, budget("a", `{"matchLabels":{"app":"web"}}`), budget("b", `{"matchExpressions":[{"key":"app","operator":"In","values":["web","db"]}]}`),
		budget("c", `{"matchLabels":{"tier":"x"}}`), budget("d", `{}`), budget("e", `null`))
	wanted := metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	assert(t, "alike", Candidates{Known: []string{"a", "b"}}, x.SameSelection(budgets, "shop", "", wanted))
	assert(t, "elsewhere", Candidates{}, x.SameSelection(budgets, "bank", "", wanted))
	sink.Delete("shop", "a")
	assert(t, "gone", Candidates{Known: []string{"b"}}, x.SameSelection(budgets, "shop", "", wanted))
}

// TestWhatWasAskedAboutAMomentAgo may be created already although the watch does not show it.
func TestWhatWasAskedAboutAMomentAgo(t *testing.T) {
	x, clock := newIndex()
	assert(t, "the first", Candidates{}, x.SameTarget(spreads, "shop", "a", web))
	assert(t, "the second", Candidates{Recent: []string{"a"}}, x.SameTarget(spreads, "shop", "b", beta))
	x.Retract(spreads, "shop", "b")
	assert(t, "the third, the second having been refused", Candidates{Recent: []string{"a"}}, x.SameTarget(spreads, "shop", "c", web))
	x.Retract(spreads, "shop", "c")
	upsert(t, x.Sink(spreads), spread("shop", "a", web))
	assert(t, "the watch shows it", Candidates{Known: []string{"a"}}, x.SameTarget(spreads, "shop", "d", web))
	x.Retract(spreads, "shop", "d")

	clock.SetTime(clock.Now().Add(29 * time.Second))
	assert(t, "asked about again", Candidates{Known: []string{"a"}}, x.SameTarget(spreads, "shop", "e", web))
	clock.SetTime(clock.Now().Add(2 * time.Second))
	x.Sink(spreads).Delete("shop", "a")
	assert(t, "half a minute later", Candidates{Recent: []string{"e"}}, x.SameTarget(spreads, "shop", "", web))
	clock.SetTime(clock.Now().Add(time.Minute))
	assert(t, "a minute later", Candidates{}, x.SameTarget(spreads, "shop", "", web))
	if k := x.kinds[spreads]; len(k.recent.table)+len(k.recent.queue)+len(k.recent.last)+len(k.known) > 0 {
		t.Errorf("it still remembers %+v", k)
	}
}

func TestAskingAgainCountsFromThen(t *testing.T) {
	x, clock := newIndex()
	x.SameTarget(spreads, "shop", "a", web)
	clock.SetTime(clock.Now().Add(20 * time.Second))
	x.SameTarget(spreads, "shop", "a", db)
	clock.SetTime(clock.Now().Add(20 * time.Second))
	assert(t, "its last target", Candidates{Recent: []string{"a"}}, x.SameTarget(spreads, "shop", "", db))
	assert(t, "its first target", Candidates{}, x.SameTarget(spreads, "shop", "", web))
}

func TestWhatIsRememberedIsBounded(t *testing.T) {
	x, _ := newIndex()
	for i := range 2 * maxRecent {
		x.SameTarget(spreads, "shop", fmt.Sprint("s", i), Target{"apps/v1", "Deployment", strconv.Itoa(i)})
	}
	if k := x.kinds[spreads]; len(k.recent.queue) != maxRecent || len(k.recent.table["shop"].of) != maxRecent || len(k.recent.last) != maxRecent {
		t.Errorf("it remembers %d, %d, %d", len(k.recent.queue), len(k.recent.table["shop"].of), len(k.recent.last))
	}
}
