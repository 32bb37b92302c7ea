package certs

import (
	"crypto/x509"
	"slices"
	"time"
)

const (
	// renewBefore is when a CA is replaced by age: early enough for a bundle that people carry by hand.
	renewBefore = 365 * 24 * time.Hour
	// agedDelay is how long the next CA is staged when the old one ages: a month, so that installations whose
	// configurations are written by people (`fairlead webhook print`) have time, and nothing presses.
	agedDelay = 30 * 24 * time.Hour
	// replacedDelay is how long it is staged when the Secret was deleted or its CA replaced, which somebody did because
	// he wants the old one gone. The registrar publishes within seconds; an hour outlasts its restarts.
	replacedDelay = time.Hour
	// skew is how far the clocks of replicas may be apart.
	skew = time.Hour
)

// plan decides what the Secret should say.
//
// last is what this replica took from it before, if that is recent enough to be still true; else empty. published says
// whether clients have been given the next CA. create makes a new CA.
func plan(s, last state, published bool, now time.Time, create func(time.Time) (*ca, error)) (state, error) {
	s, last = s.usable(now), last.usable(now)
	s, err := s.withCurrent(last.current, now, create)
	if err != nil {
		return state{}, err
	}
	s = s.trusting(last, now)
	if s.next != nil && published && !now.Before(s.promoteAfter) {
		s = s.promoted(now)
	}
	if s.next == nil && s.current.cert.NotAfter.Sub(now) < renewBefore {
		return s.staged(agedDelay, now, create)
	}
	return s, nil
}

// usable leaves out what time has made useless, and sets times that were lost.
func (s state) usable(now time.Time) state {
	if s.current != nil && expired(s.current.cert, now) {
		s.current = nil
	}
	if s.next != nil && expired(s.next.cert, now) {
		s.next = nil
	}
	if s.next != nil && s.promoteAfter.IsZero() {
		s.promoteAfter = now.Add(replacedDelay)
	}
	if len(s.previous) > 0 && s.dropAfter.IsZero() {
		s.dropAfter = now.Add(leafLifetime + skew)
	}
	s.previous = slices.DeleteFunc(slices.Clone(s.previous), func(c *x509.Certificate) bool {
		return expired(c, now) || !now.Before(s.dropAfter)
	})
	return s
}

// withCurrent makes sure that there is a CA to sign with, preferring one that clients already trust.
func (s state) withCurrent(own *ca, now time.Time, create func(time.Time) (*ca, error)) (state, error) {
	switch {
	case s.current == nil && own != nil && s.next.equal(own):
		return s.promoted(now), nil
	case s.current == nil && own != nil:
		// The Secret was deleted, emptied or damaged. Clients trust our CA, so it stays for now; but it may have
		// been deleted because it must go, and a next one that was staged in it too.
		s.current = own
		if s.next == nil {
			return s.staged(replacedDelay, now, create)
		}
		return s, nil
	case s.current == nil && s.next != nil:
		return s.promoted(now), nil
	case s.current == nil:
		fresh, err := create(now)
		s.current = fresh
		return s, err
	case own != nil && !s.trusts(own.cert):
		// A CA that nobody staged: clients do not have it yet. One that was staged steps back; it stays trusted, or
		// replicas that hold three different CAs would displace each other's for ever.
		if s.next != nil {
			s = s.retired(s.next.cert, now)
		}
		s.next, s.promoteAfter = s.current, now.Add(delay(replacedDelay, own, now))
		s.current = own
		return s, nil
	default:
		return s, nil
	}
}

// staged adds a next CA.
func (s state) staged(wanted time.Duration, now time.Time, create func(time.Time) (*ca, error)) (state, error) {
	next, err := create(now)
	s.next, s.promoteAfter = next, now.Add(delay(wanted, s.current, now))
	return s, err
}

// delay is how long a CA is staged: never beyond half of what the current one has left.
func delay(wanted time.Duration, current *ca, now time.Time) time.Duration {
	return min(wanted, current.cert.NotAfter.Sub(now)/2)
}

// promoted lets the next CA sign.
func (s state) promoted(now time.Time) state {
	if s.current != nil {
		s = s.retired(s.current.cert, now)
	}
	s.current, s.next, s.promoteAfter = s.next, nil, time.Time{}
	return s
}

// retired keeps a CA trusted that signs no more. Its leaves live for at most leafLifetime, also on replicas that have
// not noticed yet.
func (s state) retired(old *x509.Certificate, now time.Time) state {
	s.previous = append(slices.Clip(s.previous), old)
	s.dropAfter = now.Add(leafLifetime + skew)
	return s
}

// trusting puts CAs back that were lost with the Secret: replicas that have not noticed a promotion yet sign with one
// of them.
func (s state) trusting(last state, now time.Time) state {
	var lost []*x509.Certificate
	if last.next != nil {
		lost = append(lost, last.next.cert)
	}
	// What is about to be dropped may have been by a replica with a faster clock.
	if now.Before(last.dropAfter.Add(-skew)) {
		lost = append(lost, last.previous...)
	}
	for _, c := range lost {
		if !s.trusts(c) {
			s = s.retired(c, now)
		}
	}
	return s
}

// wake is when the state should be looked at again although nobody touched it; zero if no time is known.
func (s state) wake() time.Time {
	at := s.current.cert.NotAfter.Add(-renewBefore)
	if s.next != nil {
		at = s.promoteAfter
	}
	if len(s.previous) > 0 {
		at = earlier(at, s.dropAfter)
	}
	return at
}

// expiry is when the CA that signs ends.
func (s state) expiry() time.Time {
	if s.current == nil {
		return time.Time{}
	}
	return s.current.cert.NotAfter
}
