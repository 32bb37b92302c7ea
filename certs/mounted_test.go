package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"
)

// mount writes what cert-manager would to a folder.
func mount(t *testing.T, dir string, signer *ca, hosts ...string) *tls.Certificate {
	t.Helper()
	served, err := signLeaf(signer, hosts, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	certPEM, err := cert.EncodeCertificates(served.Leaf)
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(served.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, mountedCertKey, certPEM)
	put(t, dir, mountedKeyKey, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
	put(t, dir, mountedCAKey, signer.certPEM)
	return served
}

func put(t *testing.T, dir, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func serial(t *testing.T, source Source) string {
	t.Helper()
	served, err := source.GetCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	return served.Leaf.SerialNumber.String()
}

func TestMountedFollowsTheFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		one, other := caEnding(t, time.Now().Add(year)), caEnding(t, time.Now().Add(year))
		var trusted atomic.Bool
		m := NewMounted(MountedOptions{Dir: dir, Hosts: []string{testHost}, Clock: clock.RealClock{},
			Trusted: func(context.Context, *tls.Certificate) (bool, error) { return trusted.Load(), nil }})
		changes := m.Subscribe()
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go func() { _ = m.Run(ctx) }()
		wait := func() { time.Sleep(reloadEvery + time.Millisecond); synctest.Wait() }

		if err := m.Ready(); err == nil || !strings.Contains(err.Error(), "there is no tls.crt and tls.key in "+dir) {
			t.Errorf("without files: %v", err)
		}
		first := mount(t, dir, one, testHost)
		wait()
		if got := serial(t, m); got != first.Leaf.SerialNumber.String() || m.Ready() != nil {
			t.Errorf("serves %s, ready %v", got, m.Ready())
		}
		if len(changes) != 1 {
			t.Error("nobody is told of the CA")
		}
		// Half of an exchange, and no files at all, leave what is served.
		put(t, dir, mountedCertKey, []byte("-----BEGIN"))
		wait()
		if err := os.Remove(filepath.Join(dir, mountedKeyKey)); err != nil {
			t.Fatal(err)
		}
		wait()
		if got := serial(t, m); got != first.Leaf.SerialNumber.String() {
			t.Errorf("serves %s after the files were damaged", got)
		}
		renewed := mount(t, dir, one, testHost)
		wait()
		if got := serial(t, m); got != renewed.Leaf.SerialNumber.String() {
			t.Error("a renewed certificate of the same CA is not served at once")
		}
		// One of another CA waits for clients.
		foreign := mount(t, dir, other, testHost)
		wait()
		if got := serial(t, m); got != renewed.Leaf.SerialNumber.String() || m.Ready() != nil {
			t.Errorf("serves %s before clients trust its CA, ready %v", got, m.Ready())
		}
		if !strings.Contains(string(m.Bundle()), string(other.certPEM)) {
			t.Error("the CA that clients are to be told is not the new one")
		}
		trusted.Store(true)
		wait()
		if got := serial(t, m); got != foreign.Leaf.SerialNumber.String() {
			t.Error("a certificate that clients trust is not served")
		}
		// With one that expired there is nothing to lose.
		trusted.Store(false)
		last := mount(t, dir, one, testHost)
		wait()
		time.Sleep(leafLifetime)
		wait()
		if got := serial(t, m); got != last.Leaf.SerialNumber.String() {
			t.Error("an expired certificate goes on being served")
		}
	})
}

func TestMountedSaysWhatIsWrong(t *testing.T) {
	signer, other := caEnding(t, time.Now().Add(year)), caEnding(t, time.Now().Add(year))
	for name, test := range map[string]struct {
		change func(dir string)
		at     time.Duration
		want   string
	}{
		"all is well": {change: func(string) {}},
		"no CA": {
			change: func(dir string) { put(t, dir, mountedCAKey, nil) }, want: "there is no ca.crt in ",
		},
		"a damaged CA": {
			change: func(dir string) { put(t, dir, mountedCAKey, []byte("x")) }, want: "reading ca.crt in ",
		},
		"another CA": {
			change: func(dir string) { put(t, dir, mountedCAKey, other.certPEM) }, want: "does not follow from the ca.crt beside it",
		},
		"the key of another": {
			change: func(dir string) {
				keep, _ := os.ReadFile(filepath.Join(dir, mountedCertKey))
				mount(t, dir, signer, testHost)
				put(t, dir, mountedCertKey, keep)
			}, want: "private key does not match",
		},
		"the old service's name": {
			change: func(dir string) { mount(t, dir, signer, "kruise-webhook-service.kruise-system.svc") },
			want:   "is not valid for " + testHost + "; add to its dnsNames",
		},
		"expired": {change: func(string) {}, at: 25 * time.Hour, want: "expired at "},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			mount(t, dir, signer, testHost)
			test.change(dir)
			fake := testclock.NewFakeClock(time.Now().Add(test.at))
			err := NewMounted(MountedOptions{Dir: dir, Hosts: []string{testHost}, Clock: fake}).Ready()
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("it says %v, want %q", err, test.want)
			}
		})
	}
}

// What another mode left in the Secret is signed with, and never written.
func TestAReadOnlyAuthoritySignsWithWhatIsThere(t *testing.T) {
	signer := caEnding(t, time.Now().Add(9*year))
	data, err := state{current: signer}.encode()
	if err != nil {
		t.Fatal(err)
	}
	for name, secret := range map[string]map[string][]byte{"there is a CA": data, "there is none": {}} {
		a := newAPI(t, secretWith(secret))
		authority := newAuthority(t, a, clock.RealClock{}, nil)
		authority.options.ReadOnly = true
		if _, err := authority.sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		served, err := authority.GetCertificate(nil)
		if there := err == nil && Verifies(signer.certPEM, served, time.Now()); there != (len(secret) > 0) {
			t.Errorf("%s: a certificate is served: %v", name, there)
		}
		if a.writes != 0 {
			t.Errorf("%s: %d writes", name, a.writes)
		}
	}
}
