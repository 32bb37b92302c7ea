package certs

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

const (
	// caLifetime is as long as OpenKruise's, whose CA we may go on with and which may go on with ours.
	caLifetime = 10 * 365 * 24 * time.Hour
	// backdating lets clients whose clock is behind ours accept what was just signed.
	backdating = time.Hour
)

// ca is a certificate that may sign others, with its key. It is immutable.
type ca struct {
	cert *x509.Certificate
	key  crypto.Signer
	// certPEM and keyPEM are kept as they were read: writing them in another form would be a needless write.
	certPEM, keyPEM []byte
}

// newCA makes a self-signed ECDSA P-256 CA that is valid for ten years from now.
func newCA(now time.Time) (*ca, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generating the key of a CA: %w", err)
	}
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		// The serial in the name keeps two CAs in one bundle apart, for people and for clients that look up by name.
		Subject:               pkix.Name{Organization: []string{"fairlead"}, CommonName: fmt.Sprintf("webhook-cert-ca-%x", serial.Bytes()[:4])},
		NotBefore:             now.Add(-backdating),
		NotAfter:              now.Add(caLifetime),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("signing a CA: %w", err)
	}
	return pairOf(der, key)
}

func pairOf(der []byte, key crypto.Signer) (*ca, error) {
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("parsing a new CA: %w", err)
	}
	certPEM, err := cert.EncodeCertificates(parsed)
	if err != nil {
		return nil, fmt.Errorf("encoding a new CA: %w", err)
	}
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return nil, fmt.Errorf("encoding the key of a new CA: %w", err)
	}
	return &ca{cert: parsed, key: key, certPEM: certPEM, keyPEM: keyPEM}, nil
}

// parseCA reads a CA of any key type that Go can sign with; OpenKruise's are RSA. It says why one is not usable.
func parseCA(certPEM, keyPEM []byte) (*ca, error) {
	certificates, err := cert.ParseCertsPEM(certPEM)
	if err != nil {
		return nil, fmt.Errorf("parsing the certificate: %w", err)
	}
	parsed := certificates[0]
	private, err := keyutil.ParsePrivateKeyPEM(keyPEM)
	if err != nil {
		return nil, fmt.Errorf("parsing the key: %w", err)
	}
	key, ok := private.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("parsing the key: a %T cannot sign", private)
	}
	public, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool })
	if !ok || !public.Equal(parsed.PublicKey) {
		return nil, errors.New("matching the key with the certificate: it belongs to another one")
	}
	if !parsed.IsCA {
		return nil, errors.New("checking the certificate: it is not that of a CA")
	}
	return &ca{cert: parsed, key: key, certPEM: certPEM, keyPEM: keyPEM}, nil
}

// newSerial returns a random serial of 127 bits; serials are at most 20 bytes and positive (RFC 5280 §4.1.2.2).
func newSerial() (*big.Int, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 126))
	if err != nil {
		return nil, fmt.Errorf("drawing a serial number: %w", err)
	}
	return serial.SetBit(serial, 126, 1), nil
}

func (c *ca) equal(other *ca) bool {
	return c == other || c != nil && other != nil && sameCert(c.cert, other.cert)
}

func sameCert(a, b *x509.Certificate) bool { return bytes.Equal(a.Raw, b.Raw) }

// expired does not look at NotBefore: a CA that is not valid yet by our clock is one that a replica with a better
// clock has made.
func expired(c *x509.Certificate, now time.Time) bool { return !now.Before(c.NotAfter) }
