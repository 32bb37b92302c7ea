package certs

import (
	"bytes"
	"crypto/tls"

	"k8s.io/utils/clock"
)

// Standalone is the Source of a service without a cluster: a CA that lives as long as the process.
type Standalone struct {
	leaf   leaf
	bundle []byte
}

// SelfSigned makes a Standalone for hosts, which are DNS names or IP addresses.
func SelfSigned(hosts []string, clock clock.PassiveClock) (*Standalone, error) {
	signer, err := newCA(clock.Now())
	if err != nil {
		return nil, err
	}
	s := &Standalone{leaf: leaf{hosts: hosts, clock: clock}, bundle: signer.certPEM}
	if err := s.leaf.use(signer); err != nil {
		return nil, err
	}
	return s, nil
}

// GetCertificate implements Source.
func (s *Standalone) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return s.leaf.get()
}

// Bundle implements Source.
func (s *Standalone) Bundle() []byte { return bytes.Clone(s.bundle) }

// Subscribe implements Source; the bundle never changes.
func (s *Standalone) Subscribe() <-chan struct{} { return nil }

// Ready implements Source.
func (s *Standalone) Ready() error { return nil }
