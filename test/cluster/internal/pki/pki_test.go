package pki

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"os"
	"testing"
)

func TestSignedCertificateVerifies(t *testing.T) {
	d := Dir(t.TempDir())
	for _, ca := range []string{"ca", "other-ca"} {
		if err := d.CA(ca); err != nil {
			t.Fatal(err)
		}
	}
	leaf := Leaf{CommonName: "system:node:node1", Organizations: []string{"system:nodes"}, DNSNames: []string{"node1"}, IPs: []net.IP{net.IPv4(10, 64, 0, 2)}}
	if err := d.Sign("ca", "node1", leaf); err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(d.Crt("node1"), d.Key("node1"))
	if err != nil {
		t.Fatal(err)
	}
	if got := pair.Leaf.Subject; got.CommonName != "system:node:node1" || len(got.Organization) != 1 || got.Organization[0] != "system:nodes" {
		t.Errorf("subject %v", got)
	}
	verify := func(ca, name string, usage x509.ExtKeyUsage) error {
		pool := x509.NewCertPool()
		data, err := os.ReadFile(d.Crt(ca))
		if err != nil || !pool.AppendCertsFromPEM(data) {
			t.Fatalf("reading %s: %v", ca, err)
		}
		_, err = pair.Leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: name, KeyUsages: []x509.ExtKeyUsage{usage}})
		return err
	}
	for _, name := range []string{"node1", "10.64.0.2"} {
		if err := verify("ca", name, x509.ExtKeyUsageServerAuth); err != nil {
			t.Errorf("as the server %s: %v", name, err)
		}
	}
	if err := verify("ca", "", x509.ExtKeyUsageClientAuth); err != nil {
		t.Errorf("as a client: %v", err)
	}
	if err := verify("ca", "node2", x509.ExtKeyUsageServerAuth); err == nil {
		t.Error("it passes for another name")
	}
	if err := verify("other-ca", "node1", x509.ExtKeyUsageServerAuth); err == nil {
		t.Error("it passes for another authority")
	}
}

func TestSigningKey(t *testing.T) {
	d := Dir(t.TempDir())
	if err := d.SigningKey("sa"); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(string(d) + "/sa.pub")
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(data)
	if block == nil {
		t.Fatal("no PEM block")
	}
	if _, err := x509.ParsePKIXPublicKey(block.Bytes); err != nil {
		t.Error(err)
	}
}
