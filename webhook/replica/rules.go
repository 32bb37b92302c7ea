package replica

import (
	"cmp"
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/featuregate"
	"k8s.io/utils/clock"

	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/mutators/defaults"
	"github.com/fairlead-io/fairlead/validators"
	"github.com/fairlead-io/fairlead/validators/dryrun"
	"github.com/fairlead-io/fairlead/validators/facts"
	"github.com/fairlead-io/fairlead/validators/neighbours"
	"github.com/fairlead-io/fairlead/validators/overlap"
	"github.com/fairlead-io/fairlead/webhook/table"
)

// rules are those in Rego, with whom they ask about templates.
type rules struct {
	*validators.Engine
	// templates is nil without a cluster.
	templates defaults.Templates
}

// newRules prepares the rules. Without a cluster, config is nil; near is nil where objects of the kinds compared are not followed.
func newRules(ctx context.Context, o Options, registry prometheus.Registerer, index *overlap.Index, near *neighbours.Index, config *rest.Config) (rules, error) {
	var ready rules
	sources := facts.Sources{SidecarSets: index, Neighbours: near}
	if config != nil {
		client, err := unlimited(config)
		if err != nil {
			return rules{}, err
		}
		namespace := cmp.Or(o.Table.Namespace, table.DefaultNamespace)
		asker := dryrun.New(client, namespace, clock.RealClock{}, newDryRuns(registry))
		live := facts.NewLive(client, namespace)
		sources.Pods, sources.Templates = asker, asker
		sources.Reader, sources.Objects = live, live
		ready.templates = asker
	}
	var err error
	ready.Engine, err = validators.New(ctx, validators.Options{
		Builtins: facts.Builtins(sources), Inventory: map[string]any{"gates": gateFacts(o.Gates)},
		Metrics: validators.NewMetrics(registry), Log: o.Log,
	})
	if err != nil {
		return rules{}, fmt.Errorf("preparing rules: %w", err)
	}
	return ready, nil
}

// ruling is the task that changes rules, if there is one.
func (o Options) ruling(judging rules) []task {
	if o.Rules == nil {
		return nil
	}
	return []task{func(ctx context.Context) error { return o.Rules(ctx, judging.Engine) }}
}

// gateFacts are the feature gates that rules look at.
func gateFacts(on gates) map[string]any {
	facts := make(map[string]any)
	for _, gate := range []featuregate.Feature{
		features.SidecarSetPatchPodMetadataDefaultsAllowed, features.StatefulSetAutoResizePVCGate, features.WorkloadSpread,
		features.PodUnavailableBudgetDeleteGate, features.PodUnavailableBudgetUpdateGate, features.KruiseDaemon,
		features.ImagePullJobGate, features.ResourceDistributionGate, features.PodProbeMarkerGate,
	} {
		facts[string(gate)] = on.Enabled(gate)
	}
	return facts
}

// newDryRuns counts what the API server says of Pods.
func newDryRuns(registry prometheus.Registerer) func(outcome string) {
	counter := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "fairlead_dry_runs_total", Help: "Pods that the API server was asked to validate, by outcome.",
	}, []string{"outcome"})
	for _, outcome := range []string{dryrun.Remembered, dryrun.Accepted, dryrun.Refused, dryrun.Failed} {
		counter.WithLabelValues(outcome)
	}
	registry.MustRegister(counter)
	return func(outcome string) { counter.WithLabelValues(outcome).Inc() }
}
