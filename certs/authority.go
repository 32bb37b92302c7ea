package certs

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/cert"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// Options are what an Authority needs; all fields but Published are required.
type Options struct {
	Client kubernetes.Interface
	// Namespace and Secret say where the CA is kept. The Secret is made if it does not exist.
	Namespace, Secret string
	// Hosts are the DNS names and IP addresses that clients may ask for; see ServiceHosts.
	Hosts []string
	Clock clock.WithTicker
	// Published says whether clients have been given a CA: all of them, or there are none yet. The next CA signs nothing
	// before, and a starting replica is not ready before the CA that it found or made is. nil relies on the delay alone.
	Published func(ctx context.Context, caPEM []byte) (bool, error)
	// ReadOnly makes, writes and replaces no CA: it signs with the one that is there, if there is one.
	ReadOnly bool
}

// Authority is the self-managed Source: see the package's comment.
type Authority struct {
	options Options
	leaf    leaf

	mu     sync.Mutex
	bundle []byte
	// last is what the Secret said when we last saw it, and seen is when that was.
	last state
	seen time.Time
	// confirmed says that clients have had a CA of ours since we started.
	confirmed bool
	// metadata is the Secret's when last seen: its labels and annotations are Helm's, which must find them again on a
	// Secret that we had to make anew.
	metadata    metav1.ObjectMeta
	subscribers []chan struct{}
}

// NewAuthority makes an Authority, which has no certificate before Run has read or made the CA.
func NewAuthority(options Options) (*Authority, error) {
	if options.Client == nil || options.Clock == nil || options.Namespace == "" || options.Secret == "" || len(options.Hosts) == 0 {
		return nil, errors.New("making the certificate authority: client, clock, namespace, secret and hosts are required")
	}
	return &Authority{
		options:  options,
		leaf:     leaf{hosts: options.Hosts, clock: options.Clock},
		metadata: metav1.ObjectMeta{Name: options.Secret, Namespace: options.Namespace},
	}, nil
}

// GetCertificate implements Source.
func (a *Authority) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return a.leaf.get()
}

// Bundle implements Source.
func (a *Authority) Bundle() []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	return bytes.Clone(a.bundle)
}

// Subscribe implements Source.
func (a *Authority) Subscribe() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	changes := make(chan struct{}, 1)
	a.subscribers = append(a.subscribers, changes)
	return changes
}

// Ready implements Source.
func (a *Authority) Ready() error {
	if _, err := a.leaf.get(); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.confirmed {
		return errors.New("serving TLS: clients do not trust the CA yet; it waits to be registered")
	}
	return nil
}

// known is what the Secret said when last seen, if clients trust it and that was just now. What we knew before a long
// silence may have been replaced and dropped by the others in the meantime, and must not be put back.
func (a *Authority) known() state {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.confirmed || a.options.Clock.Since(a.seen) > leafLifetime/2 {
		return state{}
	}
	return a.last
}

// adopt serves and trusts what the Secret says.
func (a *Authority) adopt(s state, secret *corev1.Secret) error {
	bundle, err := cert.EncodeCertificates(s.trusted()...)
	if err != nil {
		return fmt.Errorf("encoding the CA bundle: %w", err)
	}
	if err := a.leaf.use(s.current); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last, a.seen = s, a.options.Clock.Now()
	a.metadata.Labels, a.metadata.Annotations = secret.Labels, secret.Annotations
	if bytes.Equal(a.bundle, bundle) {
		return nil
	}
	a.bundle = bundle
	for _, changes := range a.subscribers {
		select {
		case changes <- struct{}{}:
		default:
		}
	}
	return nil
}

// published says whether clients have been given a CA, as far as that can be told.
func (a *Authority) published(ctx context.Context, c *ca) bool {
	if a.options.Published == nil {
		return true
	}
	published, err := a.options.Published(ctx, c.certPEM)
	if err != nil {
		klog.FromContext(ctx).Error(err, "Cannot tell whether clients have been given a CA; waiting with it")
	}
	return published && err == nil
}

// due says whether the next CA may be promoted as far as clients are concerned.
func (a *Authority) due(ctx context.Context, s state) bool {
	if s.next == nil || a.options.Clock.Now().Before(s.promoteAfter) || a.published(ctx, s.next) {
		return true
	}
	klog.FromContext(ctx).Info("The next CA is due, but not all webhook configurations have it; it stays staged",
		"currentExpires", s.expiry())
	return false
}

// confirm finds out, once, whether clients trust what a starting replica serves.
func (a *Authority) confirm(ctx context.Context, s state) bool {
	a.mu.Lock()
	confirmed := a.confirmed
	a.mu.Unlock()
	confirmed = confirmed || a.published(ctx, s.current)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.confirmed = confirmed
	return confirmed
}
