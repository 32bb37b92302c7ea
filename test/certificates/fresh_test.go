//go:build load

package certificates

import (
	"strings"
	"testing"
)

// A chart that is installed with cert-manager's certificates from the start: replicas say what they wait for, and as soon as
// there is a certificate they serve it, are registered, and have the injector write the bundles.
func TestInstalledWithCertManager(t *testing.T) {
	w := newWorld(t)
	w.install("certManager.enabled=true")
	p := w.launch()
	const want = "Issuer kruise-system/kruise-webhook-ca: has no status yet; look whether cert-manager is running; " +
		"Certificate kruise-system/kruise-webhook: is not ready: it has no status yet"
	w.until("the replica says what it waits for", func() bool { return strings.Contains(p.ready(), want) })
	if said := p.ready(); !strings.Contains(said, "there is no tls.crt and tls.key in "+w.mount) {
		t.Errorf("it says %s", said)
	}
	w.certManager()
	w.until("the replica is ready", func() bool { return p.ready() == "ok" })
	w.endpoint(p, admissionService, true)
	w.until("a SidecarSet is accepted", func() bool {
		_, err := w.KubectlInput(w.Context(), strings.NewReader(sidecarSet), "apply", "-f", "-")
		return err == nil
	})
	w.until("Pods are injected", func() bool { got, err := w.admit(); return err == nil && got == injected })
	w.until("cert-manager has written every bundle", func() bool { return w.everywhere(injectedBundle(w.secret()["ca.crt"])) })
	if data := w.secret(); len(data["ca-cert.pem"]) > 0 {
		t.Error("the service made a CA of its own")
	}
	if !w.allServe(w.secret()["ca.crt"]) {
		t.Error("another certificate is served")
	}
}
