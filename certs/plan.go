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
)

// plan decides what the Secret should say.
//
// own is the CA that this replica signs with, if it knows that it was the common one until just now; else nil.
// published says whether clients have been given the next CA. create makes a new CA.
func plan(s state, own *ca, published bool, now time.Time, create func(time.Time) (*ca, error)) (state, error) {
	s = s.usable(now)
	if own != nil && expired(own.cert, now) {
		own = nil
	}
	s, err := s.withCurrent(own, now, create)
	if err != nil {
		return state{}, err
	}
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
		s.dropAfter = now.Add(leafLifetime)
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
		// been deleted because it must go.
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
	case own != nil && !s.trusts(own):
		// A CA that nobody staged: clients do not have it yet.
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

// promoted lets the next CA sign. Leaves of the old one live for at most leafLifetime, also on replicas that have not
// noticed yet.
func (s state) promoted(now time.Time) state {
	if s.current != nil {
		s.previous = append(s.previous, s.current.cert)
		s.dropAfter = now.Add(leafLifetime)
	}
	s.current, s.next, s.promoteAfter = s.next, nil, time.Time{}
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
