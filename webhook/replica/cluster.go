package replica

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/fairlead-io/fairlead/webhook"
	"github.com/fairlead-io/fairlead/webhook/objects"
	"github.com/fairlead-io/fairlead/webhook/registration"
)

// Cluster is a replica in a cluster, or beside one that reaches it by Table.Host.
type Cluster struct {
	Options
	REST *rest.Config
	// Secret is where the CA is kept, in Table.Namespace.
	Secret string
	// Identity tells replicas apart; the Pod's name.
	Identity string
	// ConversionService is the Service that reaches replicas which are not ready yet; its name is in the certificate.
	ConversionService string
	// RegisteredByOthers says that the webhook configurations, and how definitions convert, are somebody else's to write:
	// nothing of them is written or read, and nothing is removed when the anchor goes.
	RegisteredByOthers bool
	// CertDir is where the Secret is mounted, for certificates that somebody else makes: those of our mode with the gate
	// EnableExternalCerts, else those of the mode before, which may still be trusted.
	CertDir string
	// InjectionAnnotations ask that somebody to write CA bundles.
	InjectionAnnotations map[string]string
	// PodIP is this replica's address, for the certificate; "" if it is not known.
	PodIP string
}

// Run serves, keeps the certificate and takes part in registration until ctx ends.
func (c Cluster) Run(ctx context.Context) error {
	l, err := c.listen()
	if err != nil {
		return err
	}
	defer l.close()
	limitMemory(os.DirFS("/sys/fs/cgroup"), os.Getenv("GOMEMLIMIT"))
	client, conversion, err := c.clients()
	if err != nil {
		return err
	}
	unknown := &lookups{}
	known := newPolicies(c.Options, unknown)
	source, err := objects.NewCluster(c.REST, c.Log, known.kinds()...)
	if err != nil {
		return err
	}
	unknown.source = source
	registry := newRegistry(c.Version)
	rules, err := newRules(ctx, c.Options, registry, known.overlaps, c.REST)
	if err != nil {
		return err
	}
	deps := known.deps(c.Gates, newInjection(registry, known.sidecarSets), rules)
	asking, err := newLive(ctx, c.Options, registry, c.REST)
	if err != nil {
		return err
	}
	defer asking.close()
	deps.ContainerRecreate, deps.Deletion = asking.containerRecreate, asking.deletion
	config, err := c.Table.Complete(webhook.All(deps))
	if err != nil {
		return err
	}
	certificates, err := c.certificates(client, config, registry, conversion)
	if err != nil {
		return err
	}
	entries := webhook.Entries(deps)
	guard, register, err := c.registration(registration.Options{
		Client: client, Config: config, Entries: entries, Certificates: certificates.source,
		Identity: c.Identity, Clock: clock.RealClock{}, Registerer: registry, Conversion: conversion,
		InjectedBundle: c.external(), Inject: c.InjectionAnnotations, Others: certificates.others,
	})
	if err != nil {
		return err
	}
	service, err := newService(c.Options, registry, entries, webhook.Retired(deps), source.Synced, certificates.source, false)
	if err != nil {
		return err
	}
	// Conversion reaches a replica as soon as it serves; by then it has the certificate that clients trust.
	certificates.lookOnce(ctx, c.Log)
	// What is served lasts longer than any draining.
	return service.run(ctx, l, slices.Concat(guard, certificates.follow, c.ruling(rules), []task{source.Run, tidyOnce(source.Synced)}),
		slices.Concat(register, certificates.keep))
}

func (c Cluster) clients() (kubernetes.Interface, *registration.Conversion, error) {
	client, err := kubernetes.NewForConfig(c.REST)
	if err != nil {
		return nil, nil, fmt.Errorf("making a client: %w", err)
	}
	conversion, err := c.conversion()
	return client, conversion, err
}

// registration is what keeps the webhooks registered. The guard works on while we drain; register must write nothing once
// we are told to stop.
func (c Cluster) registration(options registration.Options) (guard, register []task, err error) {
	if c.RegisteredByOthers {
		return nil, nil, nil
	}
	registrar, err := registration.New(options)
	if err != nil {
		return nil, nil, err
	}
	return []task{registrar.Guard}, []task{registrar.Run}, nil
}

// tidyOnce gives back to the operating system what the first lists left behind: more than what is kept of them.
func tidyOnce(synced func() error) task {
	return func(ctx context.Context) error {
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for synced() != nil {
			select {
			case <-ctx.Done():
				return nil
			case <-ticker.C:
			}
		}
		debug.FreeOSMemory()
		return nil
	}
}
