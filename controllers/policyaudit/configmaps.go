package policyaudit

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead-io/fairlead/validators/userpolicy"
	"github.com/fairlead-io/fairlead/validators/userpolicy/bundles"
	"github.com/fairlead-io/fairlead/validators/userpolicy/sources"
)

// configMaps are the ConfigMaps that sets come from.
type configMaps struct {
	// sets have rules, settings those of bundles, and kept the versions that were in force when their sets got a mistake.
	sets, settings, kept *labelled
	// summaries are the annotations that they have, by name.
	summaries map[string]string
}

// labelled are ConfigMaps of one label, and who is told of them.
type labelled struct {
	selector string
	sink     sink
	// known are the names of those that were there.
	known map[string]bool
}

// sink is told of ConfigMaps.
type sink interface {
	Take(c sources.ConfigMap)
	Delete(namespace, name string)
}

// follow makes what keeps sets in force as the admission service does.
func (a *Auditor) follow() {
	// The replicas of the service count what comes into force; nobody reads it here.
	counted := userpolicy.NewMetrics(prometheus.NewRegistry())
	a.keeper = sources.NewKeeper(sources.Options{Sets: &userpolicy.Sets{}, Metrics: counted, Log: a.Log})
	settings := sources.NewBundleSettings(a.keeper, a.Namespace)
	a.bundles = bundles.New(bundles.Options{
		Bundles: a.Bundles, Directory: a.BundleDir, Keeper: a.keeper, Settings: settings, Clock: a.Clock, Log: a.Log,
	})
	always := context.Background()
	a.configMaps = configMaps{
		sets:     &labelled{selector: sources.Selector, sink: sources.NewConfigMaps(always, a.keeper, a.Namespace)},
		settings: &labelled{selector: sources.BundleLabel, sink: settings},
		kept:     &labelled{selector: sources.KeptSelector, sink: sources.NewKeptCopies(always, a.keeper, a.Namespace)},
	}
}

// poll begins to download bundles. The settings are known by then: exemptions hold from the first moment.
func (a *Auditor) poll(ctx context.Context) {
	if a.following {
		return
	}
	a.following = true
	a.bundles.Restore(ctx)
	a.polling.Go(func() { _ = a.bundles.Run(ctx) }) // it ends with its context, and tries until then
}

// readConfigMaps tells of the ConfigMaps of now. What nobody needs is not asked for: settings without bundles, and copies of sets
// while all have a version in force.
func (a *Auditor) readConfigMaps(ctx context.Context) error {
	a.configMaps.summaries = make(map[string]string)
	if err := a.list(ctx, a.configMaps.sets); err != nil {
		return err
	}
	if len(a.Bundles) > 0 {
		if err := a.list(ctx, a.configMaps.settings); err != nil {
			return err
		}
	}
	if len(a.keeper.Unusable()) == 0 {
		return nil
	}
	return a.list(ctx, a.configMaps.kept)
}

func (a *Auditor) list(ctx context.Context, of *labelled) error {
	there := make(map[string]bool)
	where := query{path: []string{"/api/v1/namespaces", a.Namespace, "configmaps"}, selector: of.selector}
	err := a.lists.each(ctx, where, func(raw jsontext.Value) error {
		c, err := sources.ReadConfigMap(raw)
		if err != nil {
			return err
		}
		there[c.Metadata.Name] = true
		a.configMaps.summaries[c.Metadata.Name] = c.Metadata.Annotations[Annotation]
		of.sink.Take(c)
		return nil
	})
	if err != nil {
		return fmt.Errorf("listing sets of policies: %w", err)
	}
	for name := range of.known {
		if !there[name] {
			of.sink.Delete(a.Namespace, name)
		}
	}
	of.known = there
	return nil
}
