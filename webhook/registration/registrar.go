package registration

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/fairlead-io/fairlead/certs"
	"github.com/fairlead-io/fairlead/internal/bell"
	"github.com/fairlead-io/fairlead/webhook/table"
)

// Options are what a Registrar needs; all are required except InjectedBundle, Inject, Others, Conversion, Policies,
// Leading and Trouble.
type Options struct {
	Client kubernetes.Interface
	// Config is complete (table.Config.Complete).
	Config table.Config
	// Entries are those that this replica serves.
	Entries []table.Entry
	// Certificates have the bundle that is registered, or the CA that will be injected.
	Certificates certs.Source
	// InjectedBundle says that somebody else, cert-manager, writes caBundle, and Inject are the annotations that ask for
	// it. Where the CA is not in a bundle yet we add it, and own the field no longer than that takes.
	InjectedBundle bool
	Inject         map[string]string
	// Others are the CAs of the mode that the installation may have been switched from; nil for none.
	Others func() []byte
	// Identity tells replicas apart; the Pod's name.
	Identity   string
	Clock      clock.WithTicker
	Registerer prometheus.Registerer
	// Conversion is nil where definitions are none of ours.
	Conversion *Conversion
	// Policies are users' policies; nil for none.
	Policies Policies
	// Leading is called while this replica holds the Lease, until ctx ends; nil for nothing.
	Leading func(ctx context.Context)
	// Trouble is told of what keeps this replica, as the leader, from registering, when that lasts; nil for nobody.
	Trouble func(what string, err error)
}

// Registrar keeps the webhook configurations, and the conversion of definitions.
type Registrar struct {
	options  Options
	store    store
	replicas replicas
	proof    *proof
	metrics  metrics
	troubles *troubles
	// definitions is nil without Options.Conversion.
	definitions *definitions

	// leading is held while this replica has the Lease, and guards what follows.
	leading sync.Mutex
	// noted is what is known of each configuration between rounds. The map stays as it is: it is read by two loops.
	noted map[which]*noted

	// Policies have a loop of their own, which the others wait for in nothing.
	guardBell, leadBell, policiesBell          bell.Bell
	guardBundles, leadBundles, policiesBundles <-chan struct{}
}

// noted is what is known of a configuration between rounds.
type noted struct {
	// settled is what it was wanted to be when it last was that; to tell drift from news.
	settled *table.Configuration
	// waiting is which entries wait; to log only changes.
	waiting string
}

// New makes a Registrar.
func New(o Options) (*Registrar, error) {
	if o.Client == nil || o.Certificates == nil || o.Clock == nil || o.Registerer == nil || o.Identity == "" || o.Config.Namespace == "" {
		return nil, errors.New("making the registrar: client, config, certificates, identity, clock and registerer are required")
	}
	m, err := newMetrics(o.Registerer)
	if err != nil {
		return nil, fmt.Errorf("registering metrics: %w", err)
	}
	if o.Others == nil {
		o.Others = func() []byte { return nil }
	}
	asked := replicas{client: o.Client, config: o.Config, bundle: func() []byte { return join(o.Certificates.Bundle(), o.Others()) }}
	r := &Registrar{
		options:  o,
		store:    store{client: o.Client, namespace: o.Config.Namespace},
		replicas: asked,
		proof:    &proof{replicas: asked, services: []string{o.Config.Service}, own: o.Certificates.Bundle, clock: o.Clock},
		metrics:  m,
		troubles: newTroubles(o.Trouble, o.Clock.Now),
		noted:    map[which]*noted{},

		guardBell: bell.New(), leadBell: bell.New(), policiesBell: bell.New(),
		guardBundles: o.Certificates.Subscribe(), leadBundles: o.Certificates.Subscribe(), policiesBundles: o.Certificates.Subscribe(),
	}
	for _, of := range kinds {
		r.noted[of] = &noted{}
	}
	if o.Conversion != nil {
		r.proof.services = append(r.proof.services, o.Conversion.Service)
		r.definitions = newDefinitions(r, *o.Conversion)
	}
	if o.Policies != nil {
		o.Policies.Notify(r.policiesBell.Ring)
	}
	return r, nil
}

func (r *Registrar) wanted() wanted {
	w := wanted{
		config: r.options.Config, entries: r.options.Entries, bundle: r.options.Certificates.Bundle(), others: r.options.Others(),
		injected: r.options.InjectedBundle, inject: r.options.Inject,
	}
	if p := r.options.Policies; p != nil {
		var known bool
		w.policies, w.awaited, known = p.Entries()
		w.unknown = !known
	}
	return w
}
