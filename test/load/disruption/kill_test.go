package disruption

import (
	"slices"
	"testing"
	"time"
)

// TestAKillIsNoticedSoon counts what a killed replica costs at 300 reviews a second: those that it had in hand, and new
// connections until the Service has noticed.
func TestAKillIsNoticedSoon(t *testing.T) {
	aside(t)
	s := newService(t)
	dir := writeObjects(t)
	begin := func() *replica {
		r := start(t, "killed", nil, nil, "--standalone", "--objects="+dir)
		s.add(r)
		until(t, "a replica serves", func() bool { return s.has(r) })
		return r
	}
	fleet := []*replica{begin(), begin(), begin()}
	over1, over2 := startBoth(t, s)
	var at []span
	for i := range kills {
		time.Sleep(withdrawal)
		at = append(at, span{from: time.Now(), to: time.Now().Add(afterKill)})
		fleet[i%len(fleet)].kill()
		time.Sleep(withdrawal)
		fleet[i%len(fleet)] = begin()
	}
	for _, r := range []*reviews{over1, over2} {
		r.endExcept(t, func(f failure) bool {
			return slices.ContainsFunc(at, func(s span) bool { return s.overlaps(f.began, f.ended) })
		})
		for _, kill := range at {
			failed, last := r.failedAfter(kill)
			t.Logf("HTTP/%d: %d reviews failed, the last one %s after the kill", r.protocol, failed, last.Round(time.Millisecond))
		}
	}
}
