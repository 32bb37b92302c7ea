// Package certs gives the admission service its serving certificate and the CA bundle that clients check it with.
//
// In the self-managed mode (Authority) one CA is in a Secret that all replicas share. Each replica signs a
// short-lived leaf of its own in memory, so that no serving key is ever stored and renewing one concerns nobody else.
//
// A CA is replaced in three steps, so that at no moment a leaf is served whose CA a client does not have:
//
//  1. The next CA is staged in the Secret. From then on it is in the bundle, but signs nothing.
//  2. After a delay, and only once the bundle with it has been published, it is promoted: it signs all leaves, and the
//     old CA, its key forgotten, stays in the bundle.
//  3. When the last leaf of the old CA has run out, the old CA is dropped.
//
// A CA that appears in the Secret without having been staged (someone replaced it, or a starting replica made one
// because the Secret had just been deleted) is put back to step 1 by the replicas that still hold the one before.
package certs

import "crypto/tls"

// Source is where a TLS server has its certificate from, and where what registers that server has its CA bundle from.
// It is safe for concurrent use.
type Source interface {
	// GetCertificate is for tls.Config; it fails until there is a certificate.
	GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Bundle is the PEM of all CAs to be trusted; nil until there is one, or when somebody else provides it.
	Bundle() []byte
	// Subscribe returns a channel that receives after each change of the bundle; changes in quick succession come as
	// one.
	Subscribe() <-chan struct{}
	// Ready is nil when there is a certificate to be served, and otherwise says what is missing.
	Ready() error
}

var (
	_ Source = (*Authority)(nil)
	_ Source = (*Standalone)(nil)
)
