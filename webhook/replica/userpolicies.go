package replica

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/fairlead-io/fairlead/validators/userpolicy"
	"github.com/fairlead-io/fairlead/validators/userpolicy/bundles"
	"github.com/fairlead-io/fairlead/validators/userpolicy/inventory"
	"github.com/fairlead-io/fairlead/validators/userpolicy/sources"
	"github.com/fairlead-io/fairlead/webhook/admission"
	"github.com/fairlead-io/fairlead/webhook/objects"
	"github.com/fairlead-io/fairlead/webhook/registration"
	"github.com/fairlead-io/fairlead/webhook/server"
	"github.com/fairlead-io/fairlead/webhook/table"
)

// PolicyOptions are what an installation decides about users' policies. The zero value has those of ConfigMaps.
type PolicyOptions struct {
	// Bundles are what to download, and BundleDir is where their last good versions are kept; "" is nowhere.
	Bundles   []bundles.Config
	BundleDir string
}

// policiesPatience is how long a replica that starts waits for users' policies before it turns ready without them: their
// trouble must not keep Pods from being created. Their own requests are faults meanwhile.
const policiesPatience = 30 * time.Second

// userPolicies are users' policies on this replica.
type userPolicies struct {
	userpolicy.Installation
	sets     *userpolicy.Sets
	keeper   *sources.Keeper
	settings *sources.BundleSettings
	bundles  *bundles.Poller
	handler  *userpolicy.Handler
	// follower is nil without a cluster.
	follower *inventory.Follower
	// synced says what of their sources is not read yet.
	synced  func() error
	started time.Time
	clock   clock.WithTicker

	mu       sync.Mutex
	watchers []func()
}

var _ registration.Policies = (*userPolicies)(nil)

// newUserPolicies makes them, none in force. Without a cluster config is nil, and there is no inventory.
func newUserPolicies(o Options, registry prometheus.Registerer, config *rest.Config) *userPolicies {
	p := &userPolicies{
		Installation: userpolicy.Installation{Namespace: cmp.Or(o.Table.Namespace, table.DefaultNamespace)},
		sets:         &userpolicy.Sets{}, clock: clock.RealClock{}, started: time.Now(),
	}
	metrics := userpolicy.NewMetrics(registry)
	options := sources.Options{Sets: p.sets, Metrics: metrics, Log: o.Log}
	if config != nil {
		p.follower = inventory.NewFollower(config, p.clock, o.Log)
		options.Inventories = p.follower
	}
	p.keeper = sources.NewKeeper(options)
	p.settings = sources.NewBundleSettings(p.keeper, p.Namespace)
	p.bundles = bundles.New(bundles.Options{
		Bundles: o.Policies.Bundles, Directory: o.Policies.BundleDir, Keeper: p.keeper, Settings: p.settings, Clock: p.clock, Log: o.Log,
	})
	p.handler = userpolicy.NewHandler(userpolicy.HandlerOptions{
		Installation: p.Installation, Sets: p.sets, Inventory: p.inventoryOf, Awaited: p.awaited, Metrics: metrics, Clock: p.clock,
	})
	p.keeper.Notify(p.changed)
	return p
}

// kinds are the ConfigMaps that are read.
func (p *userPolicies) kinds(ctx context.Context) []objects.Kind {
	configMaps := objects.Kind{
		GroupKind: corev1.SchemeGroupVersion.WithKind("ConfigMap").GroupKind(),
		Resource:  "configmaps", Version: corev1.SchemeGroupVersion.Version, Namespace: p.Namespace,
	}
	sets, settings, kept := configMaps, configMaps, configMaps
	sets.Selector, sets.Sink = sources.Selector, sources.NewConfigMaps(ctx, p.keeper, p.Namespace)
	settings.Selector, settings.Sink = sources.BundleLabel, p.settings
	kept.Selector, kept.Sink = sources.KeptSelector, sources.NewKeptCopies(ctx, p.keeper, p.Namespace)
	return []objects.Kind{sets, settings, kept}
}

// files are the same ConfigMaps from a directory, which has one sink for a kind.
func (p *userPolicies) files(ctx context.Context) objects.Kind {
	kinds := p.kinds(ctx)
	all := make(eachOf, 0, len(kinds))
	for _, kind := range kinds {
		all = append(all, kind.Sink)
	}
	kinds[0].Sink = all
	return kinds[0]
}

// eachOf tells several sinks.
type eachOf []objects.Sink

// Upsert implements objects.Sink.
func (e eachOf) Upsert(raw jsontext.Value) error {
	var all error
	for _, sink := range e {
		all = errors.Join(all, sink.Upsert(raw))
	}
	return all
}

// Delete implements objects.Sink.
func (e eachOf) Delete(namespace, name string) {
	for _, sink := range e {
		sink.Delete(namespace, name)
	}
}

// tasks are what runs for them, once their sources are followed.
func (p *userPolicies) tasks() []task {
	tasks := []task{p.followBundles}
	if p.follower != nil {
		tasks = append(tasks, p.follower.Run, func(ctx context.Context) error {
			p.keeper.Run(ctx, p.clock)
			return nil
		})
	}
	return tasks
}

// followBundles begins when the settings are known: exemptions must hold from the first moment.
func (p *userPolicies) followBundles(ctx context.Context) error {
	ticker := p.clock.NewTicker(100 * time.Millisecond) // a look at a few flags
	defer ticker.Stop()
	for p.synced() != nil {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
	}
	p.bundles.Restore(ctx)
	p.changed()
	return p.bundles.Run(ctx)
}

// complete is nil once everything was read that was there at the start.
func (p *userPolicies) complete() error {
	if err := errors.Join(p.synced(), p.bundles.Tried()); err != nil {
		return err
	}
	if p.follower == nil {
		return nil
	}
	for _, set := range p.sets.All() {
		if waiting, err := p.follower.Missing(set); waiting {
			return err
		}
	}
	return nil
}

// ready says why this replica should not serve yet.
func (p *userPolicies) ready() error {
	err := p.complete()
	if err != nil && p.clock.Since(p.started) < policiesPatience {
		return fmt.Errorf("users' policies: %w", err)
	}
	return nil
}

// awaited implements userpolicy.HandlerOptions.Awaited.
func (p *userPolicies) awaited(name string) error {
	if err := p.synced(); err != nil {
		return fmt.Errorf("the policies of %s, like all users' policies, are not read yet: %w", name, err)
	}
	bundle, bundled := strings.CutPrefix(name, userpolicy.BundlePrefix)
	if err := p.keeper.Unusable()[name]; err != nil {
		cure := fmt.Sprintf("correct ConfigMap %s/%s, or delete it", p.Namespace, name)
		if bundled {
			cure = fmt.Sprintf("correct the bundle or its settings, ConfigMaps of namespace %s with the label %s=%s", p.Namespace, sources.BundleLabel, bundle)
		}
		return fmt.Errorf("the policies of %s cannot be used, and refuse everything by failurePolicy Fail: %s: %s", name, cure, userpolicy.Shortened(err.Error(), longestReason))
	}
	if slices.Contains(p.bundles.Awaited(), name) {
		return fmt.Errorf("the policies of %s were not downloaded yet: see the url of bundle %s in policies.bundles of the chart", name, bundle)
	}
	return nil
}

// longestReason is how much of a reason people are told who did not write the policies.
const longestReason = 1024

func (p *userPolicies) inventoryOf(set *userpolicy.Set) userpolicy.Inventory {
	if p.follower == nil {
		return nil
	}
	return p.follower.Of(set)
}

// route is where they are served.
func (p *userPolicies) route() server.Route {
	return server.Route{
		Path: userpolicy.Below + "*", Webhooks: []string{"policies.fairlead.io"},
		Choose:  func(rest string) admission.Handler { return p.handler.For(rest) },
		Serving: p.handler.Serving,
	}
}

// logDecisions has decisions logged. It must be called before anything is served.
func (p *userPolicies) logDecisions(to *slog.Logger) { p.handler.Decisions = to }

// Entries implements registration.Policies. What is registered of a set that this replica cannot use, and others perhaps can,
// stays: whoever made it unusable has not taken it away.
func (p *userPolicies) Entries() (entries []table.Entry, awaited []string, known bool) {
	for _, set := range p.sets.All() {
		entries = append(entries, p.Entry(set))
	}
	for _, name := range slices.AppendSeq(p.bundles.Awaited(), maps.Keys(p.keeper.Unusable())) {
		awaited = append(awaited, userpolicy.EntryName(name))
	}
	return entries, awaited, p.synced() == nil
}

// Notify implements registration.Policies.
func (p *userPolicies) Notify(changed func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watchers = append(p.watchers, changed)
}

func (p *userPolicies) changed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, watcher := range p.watchers {
		watcher()
	}
}

// statuses writes statuses while this replica leads. Events are told until ctx ends.
func (p *userPolicies) statuses(ctx context.Context, client kubernetes.Interface) *sources.Writer {
	return sources.NewWriter(p.keeper, client, p.Namespace, eventRecorder(ctx, client, p.Namespace), p.clock)
}
