package replica

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/fairlead-io/fairlead/webhook"
	"github.com/fairlead-io/fairlead/webhook/membership"
	"github.com/fairlead-io/fairlead/webhook/objects"
	"github.com/fairlead-io/fairlead/webhook/registration"
	"github.com/fairlead-io/fairlead/webhook/server"
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
	whole, err := c.assemble(ctx)
	if err != nil {
		return err
	}
	defer whole.asking.close()
	// Conversion reaches a replica as soon as it serves; by then it has the certificate that clients trust.
	whole.certificates.lookOnce(ctx, c.Log)
	return whole.service.run(ctx, l, whole.background, whole.until)
}

// assembled is a replica in a cluster that is put together and does nothing yet.
type assembled struct {
	decisions
	service      *service
	certificates *certificates
	// background lasts longer than any draining, and until does not.
	background, until []task
}

func (c Cluster) assemble(ctx context.Context) (*assembled, error) {
	registry := newRegistry(c.Version)
	judging, err := c.decisions(ctx, registry)
	if err != nil {
		return nil, err
	}
	whole := &assembled{decisions: judging, background: slices.Concat(
		c.ruling(judging.rules), judging.policies.tasks(), []task{judging.source.Run, judging.sets.Run, tidyOnce(judging.source.Synced)},
	)}
	if err := c.addService(ctx, whole, registry); err != nil {
		judging.asking.close()
		return nil, err
	}
	return whole, nil
}

// decisions are what decides about requests, and the source of what they depend on.
type decisions struct {
	deps   webhook.Deps
	rules  rules
	source *objects.Cluster
	asking *live
	// policies are users' policies, and sets their source: apart, so that what others depend on never waits for it.
	policies *userPolicies
	sets     *objects.Cluster
}

func (c Cluster) decisions(ctx context.Context, registry *prometheus.Registry) (d decisions, err error) {
	unknown := &lookups{}
	known := newPolicies(c.Options, unknown)
	if d.source, err = objects.NewCluster(c.REST, c.Log, slices.Concat(known.kinds(), known.compared())...); err != nil {
		return d, err
	}
	unknown.source = d.source
	registry.MustRegister(newRevisions(d.source.Revisions))
	if d.rules, err = newRules(ctx, c.Options, registry, known.overlaps, known.neighbours, c.REST); err != nil {
		return d, err
	}
	if d.asking, err = newLive(ctx, c.Options, registry, c.REST); err != nil {
		return d, err
	}
	d.policies = newUserPolicies(c.Options, registry, c.REST)
	if d.sets, err = objects.NewCluster(c.REST, c.Log, d.policies.kinds(ctx)...); err != nil {
		return d, err
	}
	d.policies.synced = d.sets.Synced
	d.deps = known.deps(c.Gates, newInjection(registry, known.sidecarSets), d.rules, d.asking)
	return d, nil
}

// addService adds what serves the decisions, with its certificate and its registration.
func (c Cluster) addService(ctx context.Context, whole *assembled, registry *prometheus.Registry) error {
	client, conversion, err := c.clients()
	if err != nil {
		return err
	}
	config, err := c.Table.Complete(webhook.All(whole.deps))
	if err != nil {
		return err
	}
	if whole.certificates, err = c.certificates(client, config, registry, conversion); err != nil {
		return err
	}
	entries, source := webhook.Entries(whole.deps), whole.certificates.source
	member := membership.New(client.CoreV1().Pods(config.Namespace), c.Identity, c.ShutdownDelay, c.Log)
	guard, register, err := c.registration(registration.Options{
		Client: client, Config: config, Entries: entries, Certificates: source,
		Identity: c.Identity, Clock: clock.RealClock{}, Registerer: registry, Conversion: conversion,
		InjectedBundle: c.external(), Inject: c.InjectionAnnotations, Others: whole.certificates.others,
		Policies: whole.policies, Leading: whole.policies.statuses(context.WithoutCancel(ctx), client).Run,
		Trouble: troubleEvents(context.WithoutCancel(ctx), client, config.Namespace, c.Identity),
	})
	if err != nil {
		return err
	}
	whole.background = slices.Concat(guard, whole.certificates.follow, whole.background)
	whole.until = slices.Concat(register, whole.certificates.keep)
	parts := parts{
		entries: entries, retired: webhook.Retired(whole.deps), rules: whole.rules.Revision, synced: whole.source.Synced, source: source,
		policies: whole.policies,
	}
	if config.Host == "" { // else no Service leads here
		whole.until = append(whole.until, member.Run)
		parts.checks = []server.Check{{Name: "conversion", OK: member.Joined}}
	}
	whole.service, err = newService(c.Options, registry, parts)
	return err
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
