package certs

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

const (
	// settling is how long clients have trusted a certificate before it replaces one that they trust too: API servers
	// learn of a changed configuration a moment after it was written.
	settling = 5 * time.Second
	// lookOften is how often trust is looked at while it may change, and lookSeldom how often when it has long been settled.
	lookOften  = 2 * time.Second
	lookSeldom = time.Minute
	// lookFirst is how often a source is asked whether it has a certificate yet, which costs nothing: a replica that starts
	// fails handshakes until then.
	lookFirst = 50 * time.Millisecond
	// settled is after how long of unbroken trust it is looked at seldom: longer than the other replicas need to follow.
	settled = 2 * time.Minute
)

// HandoverOptions are what a Handover needs.
type HandoverOptions struct {
	// Preferred is the source of the mode that the service is in. Fallback is that of the other mode: what was served before
	// the mode was switched, if it still is there.
	Preferred, Fallback Source
	Trusted             Trust
	// Diagnose says why the preferred certificate is not there or not trusted, for those who wonder why a replica is not
	// ready; "" if it finds nothing. It may be nil.
	Diagnose func(context.Context) string
	Clock    clock.WithTicker
}

// Handover is a Source that survives a change of mode, from certificates that the service makes itself to those of
// cert-manager or back: a replica serves what clients trust, that is the certificate of the other mode until they have
// been given the CA of this one.
type Handover struct {
	options HandoverOptions

	mu     sync.Mutex
	choice side
	// trustedSince is since when the preferred one is trusted; zero if it is not.
	trustedSince time.Time
	confirmed    bool
	diagnosis    string
}

var _ Source = (*Handover)(nil)

// side says which source is served from.
type side int

const (
	neither side = iota
	preferred
	fallback
)

// NewHandover makes a Handover, which has no certificate before Run has looked at what is trusted.
func NewHandover(options HandoverOptions) *Handover { return &Handover{options: options} }

// candidate is what is known of a source's certificate.
type candidate struct{ there, trusted bool }

// choose decides what to serve from, given what was served, the two candidates and for how long the preferred one has been
// trusted.
func choose(serving side, p, f candidate, since time.Duration) side {
	switch {
	case p.trusted && (serving == preferred || !f.trusted || since >= settling):
		return preferred
	case f.trusted:
		return fallback
	case serving == fallback && f.there: // neither is trusted: nothing would be gained
		return fallback
	case p.there:
		return preferred // it waits to be registered
	default:
		return neither
	}
}

// Prepare looks once, so that the right certificate is there before anyone can ask for it.
func (h *Handover) Prepare(ctx context.Context) { h.look(ctx) }

// Run looks at what is trusted until ctx ends.
func (h *Handover) Run(ctx context.Context) error {
	for {
		idle := h.look(ctx)
		timer := h.options.Clock.NewTimer(idle)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C():
		}
	}
}

// look chooses once, and returns for how long that will do.
func (h *Handover) look(ctx context.Context) time.Duration {
	f, other := h.candidate(ctx, h.options.Fallback)
	if !f.there && other == nil && h.settledAlone() {
		return lookOften // there is nothing to choose from, and nothing to be asked
	}
	p, trouble := h.candidate(ctx, h.options.Preferred)
	if err := errors.Join(trouble, other); err != nil {
		// What is served goes on being served.
		klog.FromContext(ctx).Error(err, "Cannot tell which certificates clients trust")
		return lookOften
	}
	before := h.side()
	now := h.decide(p, f)
	if now != before {
		klog.FromContext(ctx).Info("Serving another certificate", "ofThisMode", now == preferred, "trusted", p.trusted || f.trusted)
	}
	h.diagnose(ctx, p)
	if now == neither && !f.there && h.options.Diagnose == nil { // nothing was asked of anyone
		return lookFirst
	}
	if now == preferred && p.trusted && h.trustedFor() >= settled {
		return lookSeldom
	}
	return lookOften
}

func (h *Handover) candidate(ctx context.Context, source Source) (candidate, error) {
	served, _ := source.GetCertificate(nil) // that there is none is an answer
	if served == nil || !h.options.Clock.Now().Before(served.Leaf.NotAfter) {
		return candidate{}, nil
	}
	trusted, err := h.options.Trusted(ctx, served)
	return candidate{there: true, trusted: trusted}, err
}

// settledAlone says whether this mode's certificate has been served and found trusted.
func (h *Handover) settledAlone() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.choice == preferred && h.confirmed
}

func (h *Handover) decide(p, f candidate) side {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch now := h.options.Clock.Now(); {
	case !p.trusted:
		h.trustedSince = time.Time{}
	case h.trustedSince.IsZero():
		h.trustedSince = now
	}
	h.choice = choose(h.choice, p, f, h.options.Clock.Since(h.trustedSince))
	// Once ready a replica stays ready while it has a certificate: what others break in the configurations is repaired there.
	h.confirmed = h.confirmed || h.choice == preferred && p.trusted || h.choice == fallback && f.trusted
	return h.choice
}

func (h *Handover) trustedFor() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.options.Clock.Since(h.trustedSince)
}

// diagnose finds out what keeps the certificate of this mode away, and says it once.
func (h *Handover) diagnose(ctx context.Context, p candidate) {
	diagnosis := ""
	if h.options.Diagnose != nil && !p.trusted {
		diagnosis = h.options.Diagnose(ctx)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if diagnosis != h.diagnosis && diagnosis != "" {
		klog.FromContext(ctx).Info("The certificate is not as it should be", "because", diagnosis)
	}
	h.diagnosis = diagnosis
}

func (h *Handover) side() side {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.choice
}

// serving is nil before there is a choice.
func (h *Handover) serving() Source {
	switch h.side() {
	case preferred:
		return h.options.Preferred
	case fallback:
		return h.options.Fallback
	default:
		return nil
	}
}

// GetCertificate implements Source.
func (h *Handover) GetCertificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if source := h.serving(); source != nil {
		return source.GetCertificate(hello)
	}
	if _, err := h.options.Preferred.GetCertificate(hello); err != nil {
		return nil, err
	}
	return nil, errors.New("serving TLS: which certificate clients trust is not known yet")
}

// Bundle implements Source: the CAs of this mode.
func (h *Handover) Bundle() []byte { return h.options.Preferred.Bundle() }

// Others is the PEM of the CAs of the other mode, which may still be being served.
func (h *Handover) Others() []byte { return h.options.Fallback.Bundle() }

// Subscribe implements Source.
func (h *Handover) Subscribe() <-chan struct{} { return h.options.Preferred.Subscribe() }

// Ready implements Source.
func (h *Handover) Ready() error {
	h.mu.Lock()
	confirmed, diagnosis := h.confirmed, h.diagnosis
	h.mu.Unlock()
	source := h.serving()
	err := errors.New("clients do not trust the CA yet; it waits to be registered")
	switch {
	case source == nil:
		_, err = h.GetCertificate(nil)
	case h.side() == fallback:
		if _, err = source.GetCertificate(nil); err == nil && confirmed {
			return nil
		}
	case confirmed || source.Ready() != nil:
		err = source.Ready()
	}
	if err != nil && diagnosis != "" {
		return fmt.Errorf("%w (%s)", err, diagnosis)
	}
	return err
}
