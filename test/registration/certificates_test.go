package registration

import (
	"bytes"
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/fairlead-io/fairlead/certs"
	"github.com/fairlead-io/fairlead/webhook/registration"
)

const secret = "kruise-webhook-certs"

// certificates lets replicas race for the first CA on a real API server, and then takes the Secret away from them.
func certificates(w *world) {
	var replicas []*certs.Authority
	for range 5 {
		replicas = append(replicas, w.authority())
	}
	agreed := func(other []byte) func() bool {
		return func() bool {
			for _, replica := range replicas {
				if replica.Ready() != nil || !bytes.Equal(replica.Bundle(), replicas[0].Bundle()) || bytes.Equal(replica.Bundle(), other) {
					return false
				}
			}
			return true
		}
	}
	w.until("all replicas have one CA", agreed(nil))
	first := replicas[0].Bundle()
	if err := w.client.CoreV1().Secrets(namespace).Delete(w.Context(), secret, metav1.DeleteOptions{}); err != nil {
		w.Fatal(err)
	}
	w.until("all replicas have a second CA", agreed(first))
	if !bytes.HasPrefix(replicas[0].Bundle(), first) {
		w.Error("the first CA is no longer trusted")
	}
	if got := w.registered(); got != "nothing" {
		w.Errorf("registered %s", got)
	}
}

// Every replica is gone, and the Secret with them: what is registered trusts a CA that nobody has. The first replica to
// start makes a new one, registers it, and only then is ready.
func everythingLost(w *world) {
	registered := registeredWorld(w)
	registered.stop()
	old := w.live().Webhooks[0].ClientConfig.CABundle
	w.until("the Lease is given up", func() bool {
		lease, err := w.client.CoordinationV1().Leases(namespace).Get(w.Context(), registration.LeaseName, metav1.GetOptions{})
		return err == nil && *lease.Spec.HolderIdentity == ""
	})
	authority := w.authority()
	w.until("there is a new CA", func() bool { return authority.Bundle() != nil })
	if authority.Ready() == nil {
		w.Error("ready although no client trusts its CA")
	}
	w.source = authority
	w.start("two", true)
	w.until("the new CA is registered", func() bool {
		return bytes.Equal(w.live().Webhooks[0].ClientConfig.CABundle, authority.Bundle())
	})
	w.until("the replica is ready", func() bool { return authority.Ready() == nil })
	if bytes.Equal(old, authority.Bundle()) {
		w.Error("the CA is the old one")
	}
}

// authority runs a replica's certificates until the test ends.
func (w *world) authority() *certs.Authority {
	w.Helper()
	authority, err := certs.NewAuthority(certs.Options{
		Client: w.client, Namespace: namespace, Secret: secret, Hosts: []string{w.config.ServerName()}, Clock: clock.RealClock{},
		Published: registration.Published(w.client, w.config, nil),
	})
	if err != nil {
		w.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { w.check(authority.Run(ctx)) })
	w.Cleanup(func() { stop(); group.Wait() })
	return authority
}
