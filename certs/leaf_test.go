package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	"k8s.io/client-go/util/cert"
	testclock "k8s.io/utils/clock/testing"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const year = 365 * 24 * time.Hour

func TestLeafIsAcceptedForItsHostsOnly(t *testing.T) {
	source, err := SelfSigned(ServiceHosts("kruise-system", []string{"kruise-admission", "kruise-conversion"}, "hooks.example", "", "10.1.2.3"),
		testclock.NewFakeClock(start))
	if err != nil {
		t.Fatal(err)
	}
	served, err := source.GetCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]bool{
		"kruise-admission.kruise-system.svc":  true,
		"kruise-admission.kruise-system":      true,
		"kruise-conversion.kruise-system.svc": true,
		"localhost":                           true,
		"127.0.0.1":                           true,
		"hooks.example":                       true,
		"10.1.2.3":                            true,
		"kruise-admission.other.svc":          false,
		"10.1.2.4":                            false,
	} {
		if got := accepts(t, source.Bundle(), served, host, start) == nil; got != want {
			t.Errorf("%s accepted: %v, want %v", host, got, want)
		}
	}
	key, ok := served.PrivateKey.(*ecdsa.PrivateKey)
	if !ok || key.Curve != elliptic.P256() {
		t.Errorf("serving key is %T, want ECDSA on P-256", served.PrivateKey)
	}
}

func TestLeafIsRenewedAtTwoThirdsOfItsLife(t *testing.T) {
	clock := testclock.NewFakeClock(start)
	source, err := SelfSigned([]string{"localhost"}, clock)
	if err != nil {
		t.Fatal(err)
	}
	first, _ := source.GetCertificate(nil)
	if got := first.Leaf.NotAfter.Sub(start); got != 24*time.Hour {
		t.Errorf("a leaf lives %v, want 24 h", got)
	}
	if got := start.Sub(first.Leaf.NotBefore); got != time.Hour {
		t.Errorf("a leaf is backdated by %v, want 1 h", got)
	}
	clock.SetTime(start.Add(16*time.Hour - time.Second))
	if again, _ := source.GetCertificate(nil); again != first {
		t.Error("renewed before two thirds of 24 h")
	}
	clock.SetTime(start.Add(16 * time.Hour))
	renewed, _ := source.GetCertificate(nil)
	if renewed == first || renewed.Leaf.NotAfter.Sub(start) != 40*time.Hour {
		t.Errorf("at 16 h the certificate ends at %v, want start + 40 h", renewed.Leaf.NotAfter)
	}
	// A process that slept for a month serves a valid certificate to the first who asks.
	clock.SetTime(start.Add(30 * 24 * time.Hour))
	late, _ := source.GetCertificate(nil)
	if err := accepts(t, source.Bundle(), late, "localhost", clock.Now()); err != nil {
		t.Errorf("after a long sleep: %v", err)
	}
}

func TestLeafEndsWithItsCA(t *testing.T) {
	signer := caEnding(t, start.Add(6*time.Hour))
	served, err := signLeaf(signer, []string{"localhost"}, start)
	if err != nil {
		t.Fatal(err)
	}
	if !served.Leaf.NotAfter.Equal(start.Add(6 * time.Hour)) {
		t.Errorf("leaf ends at %v, its CA at start + 6 h", served.Leaf.NotAfter)
	}
}

func TestNewCALastsTenYears(t *testing.T) {
	c, err := newCA(start)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.cert.NotAfter.Sub(start); got != 10*year {
		t.Errorf("a CA lives %v", got)
	}
	if again, err := parseCA(c.certPEM, c.keyPEM); err != nil || !again.equal(c) {
		t.Errorf("reading it back: %v", err)
	}
}

func TestParseCANamesWhatIsWrong(t *testing.T) {
	one, other := caEnding(t, start.Add(year)), caEnding(t, start.Add(year))
	served, err := signLeaf(one, []string{"localhost"}, start)
	if err != nil {
		t.Fatal(err)
	}
	leafPEM, _ := cert.EncodeCertificates(served.Leaf)
	leafKey, _ := x509.MarshalPKCS8PrivateKey(served.PrivateKey)
	leafKeyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: leafKey})
	for name, c := range map[string]struct {
		cert, key []byte
		want      string
	}{
		"no certificate":        {nil, one.keyPEM, "parsing the certificate: data does not contain any valid RSA or ECDSA certificates"},
		"no key":                {one.certPEM, nil, "parsing the key: data does not contain a valid RSA or ECDSA private key"},
		"key of another":        {one.certPEM, other.keyPEM, "matching the key with the certificate: it belongs to another one"},
		"not a CA":              {leafPEM, leafKeyPEM, "checking the certificate: it is not that of a CA"},
		"half of a certificate": {one.certPEM[:100], one.keyPEM, "parsing the certificate: data does not contain any valid RSA or ECDSA certificates"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parseCA(c.cert, c.key); err == nil || err.Error() != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

// accepts checks a served certificate as a client with the bundle does that asks for host at a time.
func accepts(t *testing.T, bundle []byte, served *tls.Certificate, host string, at time.Time) error {
	t.Helper()
	roots, err := cert.NewPoolFromBytes(bundle)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(served.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	_, err = parsed.Verify(x509.VerifyOptions{
		DNSName: host, Roots: roots, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	return err
}

// caEnding makes a CA of ours whose ten years are over at a time.
func caEnding(t *testing.T, at time.Time) *ca {
	t.Helper()
	c, err := newCA(at.Add(-10 * year))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// openKruiseCA makes what OpenKruise leaves behind: an RSA CA of ten years named webhook-cert-ca, key in PKCS #1
// (webhook-server.md §3.1).
func openKruiseCA(t *testing.T, notAfter time.Time) (certPEM, keyPEM []byte) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(0), Subject: pkix.Name{CommonName: "webhook-cert-ca"},
		NotBefore: notAfter.Add(-10 * year), NotAfter: notAfter,
		KeyUsage:              x509.KeyUsageKeyEncipherment | x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		BasicConstraintsValid: true, IsCA: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
}
