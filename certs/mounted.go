package certs

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// Keys of a Secret that somebody else, such as cert-manager, writes: the certificate and what follows it up to its CA,
// its key, and the CA that clients are to trust (webhook-server.md §3.2).
const (
	mountedCertKey = "tls.crt"
	mountedKeyKey  = "tls.key"
	mountedCAKey   = "ca.crt"
)

// reloadEvery is how often the files are looked at. Whoever mounts the Secret takes up to a minute to bring a change, so
// that being told at once would gain nothing.
const reloadEvery = 2 * time.Second

// Trust says whether every client that has been told of us accepts a certificate. An error means that it cannot be told.
type Trust func(ctx context.Context, served *tls.Certificate) (bool, error)

// MountedOptions are what a Mounted needs.
type MountedOptions struct {
	// Dir is the folder that the Secret is mounted at.
	Dir string
	// Hosts are names that the certificate must be valid for.
	Hosts []string
	// Trusted is asked before a certificate of another CA replaces one that is being served; nil replaces at once.
	Trusted Trust
	Clock   clock.WithTicker
}

// Mounted is a Source of files that somebody else writes: a mounted Secret.
type Mounted struct {
	dir     string
	hosts   []string
	trusted Trust
	clock   clock.WithTicker

	mu     sync.Mutex
	seen   [][]byte
	served *tls.Certificate
	// next is a certificate that clients do not trust yet; nil if there is none.
	next        *tls.Certificate
	bundle      []byte
	trouble     error
	subscribers []chan struct{}
}

var _ Source = (*Mounted)(nil)

// NewMounted makes a Mounted that reads the files now and while it runs.
func NewMounted(o MountedOptions) *Mounted {
	m := &Mounted{dir: o.Dir, hosts: o.Hosts, trusted: o.Trusted, clock: o.Clock}
	m.load()
	return m
}

// Run follows the files until ctx ends. What was served goes on being served while they are not usable, and while no
// client trusts what replaces it.
func (m *Mounted) Run(ctx context.Context) error {
	ticker := m.clock.NewTicker(reloadEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
		changed := m.load()
		if promoted := m.promote(ctx); !changed && !promoted {
			continue
		}
		if _, err := m.GetCertificate(nil); err != nil {
			klog.FromContext(ctx).Error(err, "The mounted certificate is not usable", "dir", m.dir)
		} else {
			klog.FromContext(ctx).Info("Loaded the mounted certificate", "dir", m.dir, "expires", m.expiry())
		}
	}
}

// load reads the files and says whether they are others than before.
func (m *Mounted) load() (changed bool) {
	var files [][]byte
	for _, key := range []string{mountedCertKey, mountedKeyKey, mountedCAKey} {
		content, err := os.ReadFile(filepath.Join(m.dir, key))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			m.note(nil, nil, fmt.Errorf("reading the certificate: %w", err))
			return false
		}
		files = append(files, content)
	}
	m.mu.Lock()
	same := m.seen != nil && bytes.Equal(bytes.Join(m.seen, []byte{0}), bytes.Join(files, []byte{0}))
	m.seen = files
	m.mu.Unlock()
	if same {
		return false
	}
	served, err := parseMounted(m.dir, files[0], files[1], files[2])
	m.note(served, files[2], err)
	return true
}

func parseMounted(dir string, certPEM, keyPEM, caPEM []byte) (*tls.Certificate, error) {
	if len(certPEM) == 0 || len(keyPEM) == 0 {
		return nil, fmt.Errorf("reading the certificate: there is no %s and %s in %s yet", mountedCertKey, mountedKeyKey, dir)
	}
	// While the files are being swapped, the key may be that of another certificate: then the next look is the right one.
	served, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate in %s: %w", dir, err)
	}
	if len(caPEM) == 0 {
		return nil, fmt.Errorf("reading the certificate: there is no %s in %s, and so nothing that clients could be told to trust; "+
			"use an issuer that knows its CA", mountedCAKey, dir)
	}
	if _, err := cert.ParseCertsPEM(caPEM); err != nil {
		return nil, fmt.Errorf("reading %s in %s: %w", mountedCAKey, dir, err)
	}
	return &served, nil
}

// note keeps what is usable.
func (m *Mounted) note(served *tls.Certificate, bundle []byte, trouble error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.trouble = trouble
	if trouble != nil {
		return
	}
	if m.served == nil || m.trusted == nil || Verifies(m.bundle, served, m.clock.Now()) {
		m.served, m.next = served, nil
	} else {
		m.next = served
	}
	if bytes.Equal(m.bundle, bundle) {
		return
	}
	m.bundle = bundle
	for _, changes := range m.subscribers {
		select {
		case changes <- struct{}{}:
		default:
		}
	}
}

// promote serves the next certificate once clients trust it, or when there is nothing to lose.
func (m *Mounted) promote(ctx context.Context) bool {
	m.mu.Lock()
	served, next := m.served, m.next
	m.mu.Unlock()
	if next == nil {
		return false
	}
	trusted, err := m.trusted(ctx, next)
	if err != nil {
		klog.FromContext(ctx).Error(err, "Cannot tell whether clients trust the next certificate; waiting with it")
	}
	if !trusted && m.clock.Now().Before(served.Leaf.NotAfter) {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.served, m.next = next, nil
	return true
}

// GetCertificate implements Source.
func (m *Mounted) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.served == nil {
		return nil, m.trouble
	}
	return m.served, nil
}

// Bundle implements Source: the CA that came with the certificate.
func (m *Mounted) Bundle() []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return bytes.Clone(m.bundle)
}

// Subscribe implements Source.
func (m *Mounted) Subscribe() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	changes := make(chan struct{}, 1)
	m.subscribers = append(m.subscribers, changes)
	return changes
}

// Ready implements Source. It also says why no client would accept the certificate.
func (m *Mounted) Ready() error {
	served, err := m.GetCertificate(nil)
	if err != nil {
		return err
	}
	if !m.clock.Now().Before(served.Leaf.NotAfter) {
		return fmt.Errorf("the certificate in %s expired at %s", m.dir, served.Leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	var missing []string
	for _, host := range m.hosts {
		if served.Leaf.VerifyHostname(host) != nil {
			missing = append(missing, host)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("the certificate in %s is not valid for %s; add to its dnsNames", m.dir, strings.Join(missing, ", "))
	}
	if m.waiting() == nil && !Verifies(m.Bundle(), served, m.clock.Now()) {
		return fmt.Errorf("the certificate in %s does not follow from the %s beside it", m.dir, mountedCAKey)
	}
	return nil
}

func (m *Mounted) waiting() *tls.Certificate {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.next
}

func (m *Mounted) expiry() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.served == nil {
		return time.Time{}
	}
	return m.served.Leaf.NotAfter
}

// caExpiry is when the last CA of the bundle ends.
func (m *Mounted) caExpiry() time.Time {
	var last time.Time
	authorities, _ := cert.ParseCertsPEM(m.Bundle()) // it was checked when it was loaded
	for _, authority := range authorities {
		if authority.NotAfter.After(last) {
			last = authority.NotAfter
		}
	}
	return last
}

// Verifies says whether a client that trusts a PEM bundle would accept a server's certificate, its name apart.
func Verifies(bundle []byte, served *tls.Certificate, now time.Time) bool {
	roots, between := x509.NewCertPool(), x509.NewCertPool()
	if served == nil || served.Leaf == nil || !roots.AppendCertsFromPEM(bundle) {
		return false
	}
	for _, der := range served.Certificate[1:] {
		if c, err := x509.ParseCertificate(der); err == nil {
			between.AddCert(c)
		}
	}
	_, err := served.Leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, CurrentTime: now})
	return err == nil
}
