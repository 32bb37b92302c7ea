package certs

import (
	"bytes"
	"context"
	"crypto/x509"
	"slices"
	"testing"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/klog/v2"
	testclock "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"
)

// world is an API server, the bundle that clients have, and replicas that see the Secret when the test lets them.
type world struct {
	t          *rapid.T
	api        *api
	clock      *testclock.FakeClock
	replicas   []*Authority
	registered []byte
}

// I15 of the rotation: whatever happens to the Secret, in whatever order replicas notice, each ready replica's
// certificate is accepted with the bundle that is registered.
func TestNoOrderOfEventsBreaksARequest(t *testing.T) {
	a := newAPI(t, nil)
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, rt, a)
		w.settle()
		rt.Repeat(map[string]func(*rapid.T){
			"sync":     func(rt *rapid.T) { w.sync(rapid.IntRange(0, 2).Draw(rt, "replica")) },
			"register": func(*rapid.T) { w.register() },
			"delete":   func(*rapid.T) { w.api.remove(t) },
			"damage":   func(*rapid.T) { w.api.put(t, secretWith(map[string][]byte{currentCertKey: []byte("x")})) },
			"replace": func(*rapid.T) {
				data, err := state{current: caEnding(t, w.clock.Now().Add(9*year))}.encode()
				if err != nil {
					rt.Fatal(err)
				}
				w.api.put(t, secretWith(data))
			},
			// Replica 0 stays: when all go at once while the Secret is lost, nobody can know the old CA.
			"restart": func(rt *rapid.T) { w.replicas[rapid.IntRange(1, 2).Draw(rt, "replica")] = w.start(t) },
			"wait": func(rt *rapid.T) {
				w.settle()
				w.clock.Step(rapid.SampledFrom([]time.Duration{time.Minute, 30 * time.Minute, 5 * time.Hour}).Draw(rt, "time"))
			},
			"": w.check,
		})
	})
}

// After any disturbance the replicas come to rest: same CA, same bundle, no more writes.
func TestReplicasComeToRest(t *testing.T) {
	a := newAPI(t, nil)
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, rt, a)
		for range rapid.IntRange(0, 6).Draw(rt, "disturbances") {
			w.sync(rapid.IntRange(0, 2).Draw(rt, "replica"))
			if rapid.Bool().Draw(rt, "delete") {
				w.api.remove(t)
			}
		}
		w.settle()
		writes := w.api.writes
		w.settle()
		if w.api.writes != writes {
			rt.Fatalf("%d more writes at rest", w.api.writes-writes)
		}
		for i, replica := range w.replicas {
			if !bytes.Equal(replica.Bundle(), w.replicas[0].Bundle()) || !replica.leaf.current().equal(w.replicas[0].leaf.current()) {
				rt.Fatalf("replica %d differs from replica 0", i)
			}
		}
	})
}

// newWorld has three replicas that have not looked at anything yet, and no Secret.
func newWorld(t testing.TB, rt *rapid.T, a *api) *world {
	a.remove(t)
	w := &world{t: rt, api: a, clock: testclock.NewFakeClock(start)}
	for range 3 {
		w.replicas = append(w.replicas, w.start(t))
	}
	return w
}

func (w *world) start(t testing.TB) *Authority {
	return newAuthority(t, w.api, w.clock, func(_ context.Context, caPEM []byte) (bool, error) {
		return w.registered == nil || bytes.Contains(w.registered, caPEM), nil
	})
}

func (w *world) sync(i int) {
	if _, err := w.replicas[i].sync(klog.NewContext(context.Background(), klog.Logger{})); err != nil {
		w.t.Fatal(err)
	}
}

// register is what the replica with the Lease does; clients have the bundle at once.
func (w *world) register() {
	if bundle := w.replicas[0].Bundle(); bundle != nil {
		w.registered = bundle
	}
}

// settle lets everyone notice everything, more than once, as one's write is the other's event.
func (w *world) settle() {
	for range 4 {
		for i := range w.replicas {
			w.sync(i)
		}
		w.register()
	}
}

func (w *world) check(rt *rapid.T) {
	if w.registered == nil {
		return
	}
	trusted, err := cert.ParseCertsPEM(w.registered)
	if err != nil {
		rt.Fatal(err)
	}
	for i, replica := range w.replicas {
		if replica.Ready() != nil {
			continue
		}
		served, err := replica.GetCertificate(nil)
		if err != nil {
			rt.Fatal(err)
		}
		if !slices.ContainsFunc(trusted, func(c *x509.Certificate) bool { return served.Leaf.CheckSignatureFrom(c) == nil }) {
			rt.Fatalf("replica %d serves a certificate that clients do not accept", i)
		}
	}
}
