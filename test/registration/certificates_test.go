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
	ctx, stop := context.WithCancel(context.Background())
	var group sync.WaitGroup
	w.Cleanup(func() { stop(); group.Wait() })
	var replicas []*certs.Authority
	for range 5 {
		authority, err := certs.NewAuthority(certs.Options{
			Client: w.client, Namespace: namespace, Secret: secret, Hosts: []string{w.config.ServerName()}, Clock: clock.RealClock{},
			Published: registration.Published(w.client, w.config),
		})
		if err != nil {
			w.Fatal(err)
		}
		replicas = append(replicas, authority)
		group.Go(func() { w.check(authority.Run(ctx)) })
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
