package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// leafLifetime is how long a leaf is valid. A day bounds what a leaked key is good for, and how long an old CA must
// stay trusted after its last leaf; renewing costs a fraction of a millisecond, so a longer one would gain nothing.
const leafLifetime = 24 * time.Hour

// leaf keeps one serving certificate fresh. It renews when it is asked for the certificate and two thirds of its life
// are over, which needs no timer and so works also after the process was suspended or its clock set.
type leaf struct {
	hosts []string
	clock clock.PassiveClock

	mu      sync.Mutex
	signer  *ca
	served  *tls.Certificate
	renewAt time.Time
}

// use signs with a CA from now on, at once if it is another one than before.
func (l *leaf) use(signer *ca) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.signer.equal(signer) {
		return nil
	}
	return l.sign(signer)
}

// get returns the certificate to be served.
func (l *leaf) get() (*tls.Certificate, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.signer == nil {
		return nil, errors.New("serving TLS: there is no CA yet to sign the certificate")
	}
	if !l.clock.Now().Before(l.renewAt) {
		if err := l.sign(l.signer); err != nil {
			return nil, err
		}
	}
	return l.served, nil
}

func (l *leaf) sign(signer *ca) error {
	now := l.clock.Now()
	served, err := signLeaf(signer, l.hosts, now)
	if err != nil {
		return err
	}
	l.signer, l.served = signer, served
	l.renewAt = now.Add(served.Leaf.NotAfter.Sub(now) * 2 / 3)
	return nil
}

func (l *leaf) current() *ca {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.signer
}

// signLeaf makes a key and a server certificate for hosts, which are DNS names or IP addresses. It ends with its CA,
// if that is sooner.
func signLeaf(signer *ca, hosts []string, now time.Time) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generating a serving key: %w", err)
	}
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{Organization: []string{"fairlead"}, CommonName: "webhook"},
		NotBefore:    now.Add(-backdating),
		NotAfter:     earlier(now.Add(leafLifetime), signer.cert.NotAfter),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer.cert, key.Public(), signer.key)
	if err != nil {
		return nil, fmt.Errorf("signing a serving certificate: %w", err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("parsing a serving certificate: %w", err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: parsed}, nil
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
