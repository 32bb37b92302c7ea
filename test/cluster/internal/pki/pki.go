// Package pki makes the keys and certificates of a test cluster.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// validity is long enough for a cluster that someone leaves running, and no shorter life would test anything here.
const validity = 365 * 24 * time.Hour

// Dir is a folder of NAME.crt and NAME.key files.
type Dir string

// Crt is the path of a certificate.
func (d Dir) Crt(name string) string { return filepath.Join(string(d), name+".crt") }

// Key is the path of a private key.
func (d Dir) Key(name string) string { return filepath.Join(string(d), name+".key") }

// Leaf is what a certificate says.
type Leaf struct {
	CommonName    string
	Organizations []string
	DNSNames      []string
	IPs           []net.IP
}

// CA creates an authority that signs others.
func (d Dir) CA(name string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("making the key of %s: %w", name, err)
	}
	template, err := template(name)
	if err != nil {
		return err
	}
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return fmt.Errorf("making the certificate of %s: %w", name, err)
	}
	return d.write(name, der, key)
}

// Sign creates a certificate for servers and clients, signed by an authority that CA made.
func (d Dir) Sign(ca, name string, leaf Leaf) error {
	caCert, caKey, err := d.read(ca)
	if err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("making the key of %s: %w", name, err)
	}
	template, err := template(leaf.CommonName)
	if err != nil {
		return err
	}
	template.Subject.Organization = leaf.Organizations
	template.DNSNames, template.IPAddresses = leaf.DNSNames, leaf.IPs
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	der, err := x509.CreateCertificate(rand.Reader, template, caCert, key.Public(), caKey)
	if err != nil {
		return fmt.Errorf("making the certificate of %s: %w", name, err)
	}
	return d.write(name, der, key)
}

// SigningKey creates the RSA pair that signs service account tokens: NAME.key and the public NAME.pub.
func (d Dir) SigningKey(name string) error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return fmt.Errorf("making the key %s: %w", name, err)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return fmt.Errorf("writing the public key of %s: %w", name, err)
	}
	if err := writePEM(filepath.Join(string(d), name+".pub"), "PUBLIC KEY", public); err != nil {
		return err
	}
	return d.writeKey(name, key)
}

func template(commonName string) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("drawing a serial number: %w", err)
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: commonName},
		NotBefore:    now.Add(-time.Hour), // a clock that is set back a little breaks nothing
		NotAfter:     now.Add(validity),
	}, nil
}

func (d Dir) write(name string, der []byte, key any) error {
	if err := writePEM(d.Crt(name), "CERTIFICATE", der); err != nil {
		return err
	}
	return d.writeKey(name, key)
}

func (d Dir) writeKey(name string, key any) error {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("writing the key of %s: %w", name, err)
	}
	return writePEM(d.Key(name), "PRIVATE KEY", der)
}

func writePEM(path, kind string, der []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}

func (d Dir) read(name string) (*x509.Certificate, any, error) {
	crt, err := readPEM(d.Crt(name))
	if err != nil {
		return nil, nil, err
	}
	cert, err := x509.ParseCertificate(crt)
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", d.Crt(name), err)
	}
	der, err := readPEM(d.Key(name))
	if err != nil {
		return nil, nil, err
	}
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", d.Key(name), err)
	}
	return cert, key, nil
}

func readPEM(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, fmt.Errorf("reading %s: no PEM block", path)
	}
	return block.Bytes, nil
}
