package replica

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/mutators/sidecarset"
	"github.com/fairlead-io/fairlead/webhook"
	"github.com/fairlead-io/fairlead/webhook/objects"
	"github.com/fairlead-io/fairlead/webhook/table"
)

// Judge is admission without a service: the handlers of the table over objects that were read once. What it answers is
// what a replica with the same gates would. Requests must say that they are dry runs, or denials would be told of.
type Judge struct {
	// Entries are the webhooks whose gates are on, with their handlers, and Config is how they would be registered.
	Entries []table.Entry
	Config  table.Config
	// SidecarSets are those that were read, and Sidecars the mutator that injects them.
	SidecarSets *sidecarset.Index
	Sidecars    *sidecarset.Mutator
	Namespaces  *objects.Namespaces
	Gates       *features.Gates
	end         func()
}

// Close ends what the Judge holds.
func (j *Judge) Close() { j.end() }

// NewOfflineJudge reads the objects of a folder; "" is none at all. What it would have to ask an API server is unknown to
// it, and requests that depend on that are faults.
func NewOfflineJudge(ctx context.Context, o Options, folder string) (*Judge, error) {
	known := newPolicies(o, nil)
	if folder != "" {
		if err := objects.NewDirectory(folder, o.Log, known.kinds()...).Load(); err != nil {
			return nil, err
		}
	}
	return newJudge(ctx, o, known, nil)
}

// NewLiveJudge reads the objects of a cluster, with the rights of config, within the time given; config must have no timeout.
func NewLiveJudge(ctx context.Context, o Options, config *rest.Config, within time.Duration) (*Judge, error) {
	unknown := &lookups{}
	known := newPolicies(o, unknown)
	source, err := objects.NewCluster(config, o.Log, known.kinds()...)
	if err != nil {
		return nil, err
	}
	unknown.source = source
	if err := readOnce(ctx, source, within); err != nil {
		return nil, err
	}
	return newJudge(ctx, o, known, config)
}

// readOnce follows the objects until all are there, and no longer.
func readOnce(ctx context.Context, source *objects.Cluster, within time.Duration) error {
	following, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		done <- source.Run(following)
		close(done)
	}()
	defer func() {
		stop()
		for range done { // how it ends when it is told to is no news
		}
	}()
	const look = 10 * time.Millisecond // nothing but a look at a few flags
	for deadline := time.Now().Add(within); ; {
		missing := source.Synced()
		switch {
		case missing == nil:
			return nil
		case apierrors.IsForbidden(missing): // it will be, as long as anybody waits
			return fmt.Errorf("reading what admission depends on: %w", missing)
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Now().After(deadline):
			return fmt.Errorf("reading what admission depends on: %w", missing)
		}
		time.Sleep(look)
	}
}

func newJudge(ctx context.Context, o Options, known policies, config *rest.Config) (*Judge, error) {
	registry := prometheus.NewRegistry() // nobody reads it
	rules, err := newRules(ctx, o, registry, known.overlaps, nil, config)
	if err != nil {
		return nil, err
	}
	asking, err := newLive(ctx, o, registry, config)
	if err != nil {
		return nil, err
	}
	deps := known.deps(o.Gates, nil, rules, asking)
	complete, err := o.Table.Complete(webhook.All(deps))
	if err != nil {
		asking.close()
		return nil, err
	}
	return &Judge{
		Entries: webhook.Entries(deps), Config: complete, SidecarSets: known.sidecarSets, Namespaces: known.namespaces, Gates: o.Gates,
		Sidecars: sidecarset.NewMutator(known.sidecarSets, known.namespaces, time.Now, sidecarset.Options{Revisions: known.revisions}),
		end:      asking.close,
	}, nil
}
