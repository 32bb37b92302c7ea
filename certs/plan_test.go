package certs

import (
	"crypto/x509"
	"errors"
	"slices"
	"testing"
	"time"
)

// Each case is a state, what the replica knows, and what the Secret must say after it. CAs are named by letters; new
// ones are called N.
func TestPlan(t *testing.T) {
	cas := map[string]*ca{
		"C": caEnding(t, start.Add(9*year)), "D": caEnding(t, start.Add(8*year)),
		"aging":   caEnding(t, start.Add(year-time.Second)),
		"old":     caEnding(t, start.Add(20*24*time.Hour)), // half of its rest is 10 days
		"expired": caEnding(t, start),
		"N":       caEnding(t, start.Add(10*year)),
	}
	type given struct {
		current, next string
		promoteAfter  time.Duration
		previous      string
		dropAfter     time.Duration
	}
	for name, c := range map[string]struct {
		given       given
		own         string
		unpublished bool
		want        given
	}{
		"nothing there":                         {given{}, "", false, given{current: "N"}},
		"in order":                              {given{current: "C"}, "C", false, given{current: "C"}},
		"in order, starting":                    {given{current: "C"}, "", false, given{current: "C"}},
		"expired, and nobody signs with it":     {given{current: "expired"}, "expired", false, given{current: "N"}},
		"less than a year left":                 {given{current: "aging"}, "aging", false, given{current: "aging", next: "N", promoteAfter: 30 * 24 * time.Hour}},
		"little left: staged for half of it":    {given{current: "old"}, "", false, given{current: "old", next: "N", promoteAfter: 10 * 24 * time.Hour}},
		"staged, not due":                       {given{current: "C", next: "D", promoteAfter: time.Second}, "C", false, given{current: "C", next: "D", promoteAfter: time.Second}},
		"staged, due":                           {given{current: "C", next: "D", promoteAfter: -time.Second}, "C", false, given{current: "D", previous: "C", dropAfter: 25 * time.Hour}},
		"staged, due, not published":            {given{current: "C", next: "D", promoteAfter: -time.Second}, "C", true, given{current: "C", next: "D", promoteAfter: -time.Second}},
		"staged, current expires unpublished":   {given{current: "expired", next: "D", promoteAfter: -time.Second}, "expired", true, given{current: "D"}},
		"promoted by another replica":           {given{current: "D", previous: "C", dropAfter: time.Hour}, "C", false, given{current: "D", previous: "C", dropAfter: time.Hour}},
		"previous has had its day":              {given{current: "D", previous: "C", dropAfter: -time.Second}, "D", false, given{current: "D"}},
		"previous expired":                      {given{current: "D", previous: "expired", dropAfter: time.Hour}, "D", false, given{current: "D"}},
		"deleted while serving":                 {given{}, "C", false, given{current: "C", next: "N", promoteAfter: time.Hour}},
		"deleted while serving one nearly over": {given{}, "old", false, given{current: "old", next: "N", promoteAfter: time.Hour}},
		"current damaged, next not":             {given{next: "D", promoteAfter: 5 * time.Hour}, "C", false, given{current: "C", next: "D", promoteAfter: 5 * time.Hour}},
		"current damaged, starting":             {given{next: "D", promoteAfter: 5 * time.Hour}, "", false, given{current: "D"}},
		"current damaged, we sign with next":    {given{next: "D", promoteAfter: 5 * time.Hour}, "D", false, given{current: "D"}},
		"replaced without staging":              {given{current: "D"}, "C", false, given{current: "C", next: "D", promoteAfter: time.Hour}},
		"replaced while another was staged":     {given{current: "D", next: "N", promoteAfter: time.Minute}, "C", false, given{current: "C", next: "D", promoteAfter: time.Hour, previous: "N", dropAfter: 25 * time.Hour}},
		"replaced, starting":                    {given{current: "D"}, "", false, given{current: "D"}},
		"replaced, staged by another":           {given{current: "C", next: "D", promoteAfter: time.Hour}, "D", false, given{current: "C", next: "D", promoteAfter: time.Hour}},
		"replaced, ours expired":                {given{current: "D"}, "expired", false, given{current: "D"}},
		"time of promotion lost":                {given{current: "C", next: "D", promoteAfter: lost}, "C", false, given{current: "C", next: "D", promoteAfter: time.Hour}},
		"time of dropping lost":                 {given{current: "C", previous: "D", dropAfter: lost}, "C", false, given{current: "C", previous: "D", dropAfter: 25 * time.Hour}},
	} {
		t.Run(name, func(t *testing.T) {
			s := state{current: cas[c.given.current], next: cas[c.given.next]}
			s.promoteAfter, s.dropAfter = at(c.given.promoteAfter), at(c.given.dropAfter)
			if c.given.previous != "" {
				s.previous = []*x509.Certificate{cas[c.given.previous].cert}
			}
			got, err := plan(s, state{current: cas[c.own]}, !c.unpublished, start, func(time.Time) (*ca, error) { return cas["N"], nil })
			if err != nil {
				t.Fatal(err)
			}
			if !got.current.equal(cas[c.want.current]) || !got.next.equal(cas[c.want.next]) {
				t.Errorf("current %s, next %s; want %s, %s", nameOf(cas, got.current), nameOf(cas, got.next), c.want.current, c.want.next)
			}
			if c.want.next != "" && !got.promoteAfter.Equal(at(c.want.promoteAfter)) {
				t.Errorf("promotion after %v, want %v", got.promoteAfter.Sub(start), c.want.promoteAfter)
			}
			switch {
			case c.want.previous == "" && len(got.previous) > 0:
				t.Errorf("previous is kept")
			case c.want.previous != "":
				if len(got.previous) != 1 || !sameCert(got.previous[0], cas[c.want.previous].cert) {
					t.Errorf("previous is not just %s", c.want.previous)
				}
				if !got.dropAfter.Equal(at(c.want.dropAfter)) {
					t.Errorf("dropped after %v, want %v", got.dropAfter.Sub(start), c.want.dropAfter)
				}
			}
		})
	}
}

// A replica that has not noticed the last promotion signs with a CA that only others' memory may still have.
func TestPlanPutsLostTrustBack(t *testing.T) {
	c, d, e, f := caEnding(t, start.Add(2*year)), caEnding(t, start.Add(3*year)), caEnding(t, start.Add(4*year)), caEnding(t, start.Add(5*year))
	for name, tc := range map[string]struct {
		found     state
		dropAfter time.Duration
		want      []*ca // previous
	}{
		"all gone":                  {state{}, 2 * time.Hour, []*ca{d, c}},
		"previous gone":             {state{current: e, next: d, promoteAfter: at(time.Hour)}, 2 * time.Hour, []*ca{c}},
		"next gone":                 {state{current: e, previous: []*x509.Certificate{c.cert}, dropAfter: at(2 * time.Hour)}, 2 * time.Hour, []*ca{c, d}},
		"dropped by a faster clock": {state{current: e, next: d, promoteAfter: at(time.Hour)}, time.Hour, nil},
	} {
		t.Run(name, func(t *testing.T) {
			last := state{
				current: e, next: d, promoteAfter: at(time.Hour),
				previous: []*x509.Certificate{c.cert}, dropAfter: at(tc.dropAfter),
			}
			got, err := plan(tc.found, last, true, start, func(time.Time) (*ca, error) { return f, nil })
			if err != nil {
				t.Fatal(err)
			}
			var want []*x509.Certificate
			for _, one := range tc.want {
				want = append(want, one.cert)
			}
			if !slices.EqualFunc(got.previous, want, sameCert) {
				t.Errorf("%d previous, want %d", len(got.previous), len(want))
			}
			if len(want) > 0 && !got.dropAfter.Equal(at(25*time.Hour)) {
				t.Errorf("dropped after %v", got.dropAfter.Sub(start))
			}
			if !got.current.equal(e) {
				t.Error("the current CA changed")
			}
		})
	}
}

func TestPlanReportsAFailureToMakeACA(t *testing.T) {
	broken := errors.New("no entropy")
	for name, s := range map[string]state{"first": {}, "staged": {current: caEnding(t, start.Add(time.Hour))}} {
		if _, err := plan(s, state{}, true, start, func(time.Time) (*ca, error) { return nil, broken }); !errors.Is(err, broken) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestWakeIsTheNextTimeThatPlanHasSomethingToDo(t *testing.T) {
	c, d := caEnding(t, start.Add(9*year)), caEnding(t, start.Add(10*year))
	for name, tc := range map[string]struct {
		state state
		want  time.Duration
	}{
		"quiet":             {state{current: c}, 8 * year},
		"staged":            {state{current: c, next: d, promoteAfter: at(time.Hour)}, time.Hour},
		"previous":          {state{current: d, previous: []*x509.Certificate{c.cert}, dropAfter: at(time.Minute)}, time.Minute},
		"staged, previous":  {state{current: c, next: d, promoteAfter: at(time.Hour), previous: []*x509.Certificate{d.cert}, dropAfter: at(2 * time.Hour)}, time.Hour},
		"staged, previous2": {state{current: c, next: d, promoteAfter: at(time.Hour), previous: []*x509.Certificate{d.cert}, dropAfter: at(time.Minute)}, time.Minute},
	} {
		if got := tc.state.wake().Sub(start); got != tc.want {
			t.Errorf("%s: wakes after %v, want %v", name, got, tc.want)
		}
	}
}

// lost stands for a time that could not be read.
const lost = time.Duration(-1 << 62)

func at(after time.Duration) time.Time {
	if after == lost {
		return time.Time{}
	}
	return start.Add(after)
}

func nameOf(cas map[string]*ca, c *ca) string {
	for name, one := range cas {
		if c != nil && one.equal(c) {
			return name
		}
	}
	return "none"
}
