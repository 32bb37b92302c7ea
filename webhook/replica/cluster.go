package replica

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/fairlead-io/fairlead/certs"
	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/webhook"
	"github.com/fairlead-io/fairlead/webhook/objects"
	"github.com/fairlead-io/fairlead/webhook/registration"
	"github.com/fairlead-io/fairlead/webhook/table"
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
	// PodIP is this replica's address, for the certificate; "" if it is not known.
	PodIP string
}

// Run serves, keeps the certificate and takes part in registration until ctx ends.
func (c Cluster) Run(ctx context.Context) error {
	if c.Gates.Enabled(features.EnableExternalCerts) {
		return fmt.Errorf("starting: certificates from outside are not supported; set the feature gate %s=false", features.EnableExternalCerts)
	}
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
	authority, err := c.authority(client, config, registry, conversion)
	if err != nil {
		return err
	}
	entries := webhook.Entries(deps)
	guard, register, err := c.registration(registration.Options{
		Client: client, Config: config, Entries: entries, Certificates: authority,
		Identity: c.Identity, Clock: clock.RealClock{}, Registerer: registry, Conversion: conversion,
	})
	if err != nil {
		return err
	}
	service, err := newService(c.Options, registry, entries, webhook.Retired(deps), source.Synced, authority, false)
	if err != nil {
		return err
	}
	l, err := service.listen()
	if err != nil {
		return err
	}
	// Once we are told to stop the authority must not make a Secret anew that is being uninstalled; what it serves lasts
	// longer than any draining.
	return service.run(ctx, l, slices.Concat(guard, []task{source.Run, tidyOnce(source.Synced)}),
		slices.Concat(register, []task{authority.Run}))
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

func (c Cluster) authority(
	client kubernetes.Interface, config table.Config, registry prometheus.Registerer, conversion *registration.Conversion,
) (*certs.Authority, error) {
	hosts := certs.ServiceHosts(config.Namespace, []string{config.Service, c.ConversionService}, c.PodIP)
	if config.Host != "" {
		hosts = append(hosts, config.ServerName())
	}
	options := certs.Options{
		Client: client, Namespace: config.Namespace, Secret: c.Secret, Hosts: hosts, Clock: clock.RealClock{},
	}
	if !c.RegisteredByOthers { // else we may have no right to read what is registered
		options.Published = registration.Published(client, config, conversion)
	}
	authority, err := certs.NewAuthority(options)
	if err != nil {
		return nil, err
	}
	return authority, authority.RegisterMetrics(registry)
}
