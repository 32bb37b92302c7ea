package disruption

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/test/cluster/cluster"
)

// starting is how long after it turned ready an API server is busy with what it puts off until then.
const starting = 5 * time.Second

// afterKill is how long creations may fail after a replica was killed: until the Service has noticed.
const afterKill = 2 * time.Second

// TestAdmissionIsNeverInTheWay has Pods created at 20 a second with failurePolicy Fail, while the SidecarSet that they match
// changes each second.
func TestAdmissionIsNeverInTheWay(t *testing.T) {
	w := newWorld(t)
	for _, step := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"three replicas start at once", w.coldStart},
		{"rolling restarts", w.rollingRestarts},
		{"the CA and the leaves are rotated", w.rotation},
		{"the Secret is deleted", w.secretDeleted},
		{"the API server goes and comes back", w.apiServerAway},
		{"replicas are killed", w.killed},
		{"all replicas are killed and start at once", w.allKilled},
	} {
		if !t.Run(step.name, step.run) {
			t.Fatalf("the steps after %q need it", step.name)
		}
	}
}

// coldStart has no CA yet, and nothing registered: all three race for both.
func (w *world) coldStart(t *testing.T) {
	w.startFleet(t)
	w.untilRegistered(t)
	w.oneCA(t)
	w.swapPolicies(w.whole)
	registered, err := w.client.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), "kruise-mutating-webhook-configuration", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if policy := *registered.Webhooks[0].FailurePolicy; policy != "Fail" {
		t.Fatalf("the failure policy is %s; these tests show nothing", policy)
	}
}

func (w *world) rollingRestarts(t *testing.T) {
	traffic := w.traffic(t)
	for range rollouts {
		for i, old := range w.fleet[:replaced] {
			before := traffic.succeeded()
			w.fleet[i] = w.start()
			w.untilServing(t, w.fleet[i])
			old.terminate(t)
			if traffic.succeeded() == before {
				t.Error("no Pod was created during a restart")
			}
		}
	}
	traffic.end(t, nothing)
}

// rotation deletes the Secret, which stages another CA, and lets that one sign as soon as all clients trust it.
func (w *world) rotation(t *testing.T) {
	traffic := w.traffic(t)
	for range rotations {
		old := w.secret(t).Data["ca-cert.pem"]
		w.deleteSecret(t)
		until(t, "another CA is staged and registered", func() bool {
			next := w.stagedCA(t)
			return next != nil && w.trusted(t, next)
		})
		secret := w.secret(t)
		secret.Data["next-ca-promote-after"] = []byte(time.Now().Add(-time.Minute).UTC().Format(time.RFC3339))
		if _, err := w.client.CoreV1().Secrets(secret.Namespace).Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		until(t, "the other CA signs", func() bool {
			now := w.secret(t).Data["ca-cert.pem"]
			return !bytes.Equal(now, old) && w.allSignedBy(now)
		})
	}
	traffic.end(t, nothing)
	w.oneCA(t)
}

func (w *world) secretDeleted(t *testing.T) {
	traffic := w.traffic(t)
	for range rotations {
		old := w.secret(t).Data["ca-cert.pem"]
		w.deleteSecret(t)
		until(t, "the Secret is back", func() bool { return w.stagedCA(t) != nil })
		if !bytes.Equal(w.secret(t).Data["ca-cert.pem"], old) {
			t.Error("the CA that clients trust was dropped at once")
		}
	}
	traffic.end(t, nothing)
	w.oneCA(t)
}

func (w *world) deleteSecret(t *testing.T) {
	t.Helper()
	if err := w.client.CoreV1().Secrets("kruise-system").Delete(t.Context(), "kruise-webhook-certs", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// stagedCA is the one that will sign next; nil while there is none, or no Secret.
func (w *world) stagedCA(t *testing.T) []byte {
	secret, err := w.client.CoreV1().Secrets("kruise-system").Get(t.Context(), "kruise-webhook-certs", metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return secret.Data["next-ca-cert.pem"]
}

// trusted says whether the API server trusts a CA.
func (w *world) trusted(t *testing.T, ca []byte) bool {
	live, err := w.client.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), "kruise-mutating-webhook-configuration", metav1.GetOptions{})
	return err == nil && bytes.Contains(live.Webhooks[0].ClientConfig.CABundle, bytes.TrimSpace(ca))
}

// oneCA fails unless all replicas serve what the Secret's CA signed, and the API server trusts it.
func (w *world) oneCA(t *testing.T) {
	t.Helper()
	until(t, "all replicas have the CA of the Secret, and the API server trusts it", func() bool {
		ca := w.secret(t).Data["ca-cert.pem"]
		return w.allSignedBy(ca) && w.trusted(t, ca)
	})
}

func (w *world) allSignedBy(ca []byte) bool {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	return !slices.ContainsFunc(w.fleet, func(r *replica) bool {
		conn, err := tls.Dial("tcp", r.address, &tls.Config{RootCAs: roots, ServerName: "127.0.0.1"})
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
}

// apiServerAway asks the replicas directly meanwhile: they serve from what they know.
func (w *world) apiServerAway(t *testing.T) {
	ca := w.secret(t).Data["ca-cert.pem"]
	traffic := w.traffic(t)
	time.Sleep(time.Second)
	gone := time.Now()
	if err := w.KillProcess(cluster.APIServer); err != nil {
		t.Fatal(err)
	}
	direct := startReviews(t, w.service.address, every, http1())
	time.Sleep(apiAway)
	if err := w.StartProcess(t.Context(), cluster.APIServer); err != nil {
		t.Fatal(err)
	}
	back := time.Now()
	before := traffic.succeeded()
	until(t, "Pods are created again", func() bool { return traffic.succeeded() >= before+enough })
	direct.end(t)
	traffic.end(t, func(c creation) bool {
		if isWebhookFailure(c.err) {
			// An API server that has just started on a busy machine may lack the time to send, or to read an answer, until it
			// gives up. That it is the one to blame is shown by the answers that others got meanwhile.
			return c.ended.Sub(c.began) >= webhookTimeout && direct.longest < time.Second && c.began.Before(back.Add(starting))
		}
		return c.ended.After(gone) && c.began.Before(back.Add(starting))
	})
	w.oneCA(t)
	if !bytes.Equal(w.secret(t).Data["ca-cert.pem"], ca) {
		t.Error("the CA is another one")
	}
}

// killed starts a killed replica again after a second, as the kubelet does.
func (w *world) killed(t *testing.T) {
	traffic := w.traffic(t)
	var at []span
	for i := range kills {
		time.Sleep(time.Second)
		victim := i % len(w.fleet)
		at = append(at, span{from: time.Now(), to: time.Now().Add(afterKill)})
		w.fleet[victim].kill()
		time.Sleep(time.Second)
		w.fleet[victim] = w.start()
		w.untilServing(t, w.fleet[victim])
	}
	traffic.end(t, func(c creation) bool {
		return slices.ContainsFunc(at, func(s span) bool { return s.overlaps(c.began, c.ended) })
	})
}

func (w *world) allKilled(t *testing.T) {
	ca := w.secret(t).Data["ca-cert.pem"]
	traffic := w.traffic(t)
	time.Sleep(time.Second)
	at := time.Now()
	for _, r := range w.fleet {
		r.kill()
	}
	time.Sleep(time.Second)
	began := time.Now()
	w.startFleet(t)
	t.Logf("the first Pod could be created again %s after the start", w.service.firstEndpointAfter(began).Sub(began).Round(time.Millisecond))
	before := traffic.succeeded()
	until(t, "Pods are created again", func() bool { return traffic.succeeded() >= before+enough })
	traffic.end(t, func(c creation) bool {
		return span{from: at, to: at.Add(afterKill)}.overlaps(c.began, c.ended) || w.service.emptyAt(c.began, c.ended)
	})
	w.oneCA(t)
	if !bytes.Equal(w.secret(t).Data["ca-cert.pem"], ca) {
		t.Error("the CA is another one")
	}
}
