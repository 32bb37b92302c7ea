package registration

import (
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

// Options are what a Registrar needs; all are required except InjectedBundle and Conversion.
type Options struct {
	Client kubernetes.Interface
	// Config is complete (table.Config.Complete).
	Config table.Config
	// Entries are those that this replica serves.
	Entries []table.Entry
	// Certificates have the bundle that is registered.
	Certificates certs.Source
	// InjectedBundle says that somebody else, cert-manager, writes caBundle: it is then left alone.
	InjectedBundle bool
	// Identity tells replicas apart; the Pod's name.
	Identity   string
	Clock      clock.WithTicker
	Registerer prometheus.Registerer
	// Conversion is nil where definitions are none of ours.
	Conversion *Conversion
}

// Registrar keeps the two webhook configurations, and the conversion of definitions.
type Registrar struct {
	options  Options
	store    store
	replicas replicas
	metrics  metrics
	// definitions is nil without Options.Conversion.
	definitions *definitions

	// leading is held while this replica has the Lease, and guards what follows.
	leading sync.Mutex
	// settled is, by kind, what the configuration was wanted to be when it last was that; to tell drift from news.
	settled map[bool]*table.Configuration
	// waiting is, by kind, which entries wait; to log only changes.
	waiting map[bool]string

	guardBell, leadBell       bell.Bell
	guardBundles, leadBundles <-chan struct{}
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
	r := &Registrar{
		options:  o,
		store:    store{client: o.Client, namespace: o.Config.Namespace},
		replicas: replicas{client: o.Client, config: o.Config, bundle: o.Certificates.Bundle},
		metrics:  m,
		settled:  map[bool]*table.Configuration{},
		waiting:  map[bool]string{},

		guardBell: bell.New(), leadBell: bell.New(),
		guardBundles: o.Certificates.Subscribe(), leadBundles: o.Certificates.Subscribe(),
	}
	if o.Conversion != nil {
		r.definitions = newDefinitions(r, *o.Conversion)
	}
	return r, nil
}

// kinds are the two configurations, told by whether they are the mutating one.
var kinds = []bool{true, false}

func (r *Registrar) wanted() wanted {
	w := wanted{config: r.options.Config, entries: r.options.Entries, injected: r.options.InjectedBundle}
	if !w.injected {
		w.bundle = r.options.Certificates.Bundle()
	}
	return w
}
