package certs

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
)

func TestChoose(t *testing.T) {
	none, there, trusted := candidate{}, candidate{there: true}, candidate{there: true, trusted: true}
	for name, test := range map[string]struct {
		serving side
		p, f    candidate
		since   time.Duration
		want    side
	}{
		"nothing is there": {neither, none, none, 0, neither},
		"a start that clients have yet to be told of": {neither, there, none, 0, preferred},
		"a start in the settled mode":                 {neither, trusted, there, 0, preferred},
		"a start amid a switch":                       {neither, there, trusted, 0, fallback},
		"a start before the certificate is issued":    {neither, none, trusted, 0, fallback},
		"a start with both trusted":                   {neither, trusted, trusted, 0, fallback},
		"not trusted yet":                             {fallback, there, trusted, 0, fallback},
		"only just trusted":                           {fallback, trusted, trusted, 4 * time.Second, fallback},
		"trusted for long enough":                     {fallback, trusted, trusted, 5 * time.Second, preferred},
		"the old one is trusted no more":              {fallback, trusted, there, 0, preferred},
		"the old one has expired":                     {fallback, trusted, none, 0, preferred},
		"nobody is trusted; nothing is gained":        {fallback, there, there, 0, fallback},
		"the switch is taken back":                    {preferred, there, trusted, 0, fallback},
		"the configurations are broken":               {preferred, there, there, 0, preferred},
		"an old one that nobody trusts":               {neither, none, there, 0, neither},
	} {
		if got := choose(test.serving, test.p, test.f, test.since); got != test.want {
			t.Errorf("%s: serves from %v, want %v", name, got, test.want)
		}
	}
}

// clients trust the CAs of a bundle.
type clients struct {
	bundle  atomic.Value
	trouble atomic.Bool
}

func (c *clients) trust(sources ...Source) {
	var bundle []byte
	for _, source := range sources {
		bundle = append(bundle, source.Bundle()...)
	}
	c.bundle.Store(bundle)
}

func (c *clients) trusted(_ context.Context, served *tls.Certificate) (bool, error) {
	if c.trouble.Load() {
		return false, errors.New("the API server is away")
	}
	return Verifies(c.bundle.Load().([]byte), served, time.Now()), nil
}

// late is a source that has no certificate at first.
type late struct {
	Source
	there atomic.Bool
}

func (l *late) GetCertificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if !l.there.Load() {
		return nil, errors.New("there is no CA yet")
	}
	return l.Source.GetCertificate(hello)
}

// A replica that starts fails handshakes until it has seen its certificate.
func TestTheFirstCertificateIsSeenAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &late{Source: selfSigned(t)}
		c := &clients{}
		c.trust(source)
		h := NewHandover(HandoverOptions{Preferred: source, Fallback: &late{}, Trusted: c.trusted, Clock: clock.RealClock{}})
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go func() { _ = h.Run(ctx) }()
		time.Sleep(320 * time.Millisecond)
		source.there.Store(true)
		time.Sleep(lookFirst)
		synctest.Wait()
		if err := h.Ready(); err != nil {
			t.Errorf("%s after there is a certificate: %v", lookFirst, err)
		}
	})
}

func TestHandover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old, young := selfSigned(t), selfSigned(t)
		c := &clients{}
		c.trust(old)
		h := NewHandover(HandoverOptions{
			Preferred: young, Fallback: old, Trusted: c.trusted, Clock: clock.RealClock{},
			Diagnose: func(context.Context) string { return "nobody has been told" },
		})
		if h.Ready() == nil {
			t.Error("ready before anything is known")
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go func() { _ = h.Run(ctx) }()
		expect := func(when string, want Source) {
			t.Helper()
			synctest.Wait()
			got, err := h.GetCertificate(nil)
			if err != nil || h.Ready() != nil {
				t.Fatalf("%s: %v, ready %v", when, err, h.Ready())
			}
			if !Verifies(want.Bundle(), got, time.Now()) {
				t.Errorf("%s the wrong certificate is served", when)
			}
		}
		expect("at the start", old)
		c.trust(old, young)
		time.Sleep(lookOften + settling - time.Second)
		expect("before the new CA has settled", old)
		time.Sleep(lookOften + time.Second)
		expect("when it has settled", young)
		c.trouble.Store(true)
		time.Sleep(time.Hour)
		expect("while the API server is away", young)
		c.trouble.Store(false)
		c.trust(old)
		time.Sleep(lookSeldom)
		expect("when the switch was taken back", old)
		if !bytes.Equal(h.Bundle(), young.Bundle()) || !bytes.Equal(h.Others(), old.Bundle()) {
			t.Error("the bundles are not those of the modes")
		}
	})
}

func TestAHandoverThatHasNothingSaysWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &clients{}
		c.trust(selfSigned(t))
		empty := func() *Mounted { return NewMounted(MountedOptions{Dir: t.TempDir(), Clock: clock.RealClock{}}) }
		h := NewHandover(HandoverOptions{
			Preferred: empty(), Fallback: empty(), Trusted: c.trusted, Clock: clock.RealClock{},
			Diagnose: func(context.Context) string { return "Issuer ns/ca: is not ready" },
		})
		h.look(t.Context())
		if err := h.Ready(); err == nil || !strings.Contains(err.Error(), "there is no tls.crt") || !strings.HasSuffix(err.Error(), "(Issuer ns/ca: is not ready)") {
			t.Errorf("it says %v", err)
		}
		// One that is there, but that nobody trusts and nothing else is trusted either, is served but not ready.
		h = NewHandover(HandoverOptions{Preferred: selfSigned(t), Fallback: empty(), Trusted: c.trusted, Clock: clock.RealClock{}})
		h.look(t.Context())
		if err := h.Ready(); err == nil || !strings.Contains(err.Error(), "waits to be registered") {
			t.Errorf("it says %v", err)
		}
		if _, err := h.GetCertificate(nil); err != nil {
			t.Error(err)
		}
	})
}

func selfSigned(t *testing.T) *Standalone {
	t.Helper()
	source, err := SelfSigned([]string{testHost}, clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	return source
}
