package registration

import (
	"context"
	"errors"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	informers "k8s.io/client-go/informers/admissionregistration/v1"
	core "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/fairlead-io/fairlead/internal/bell"
	"github.com/fairlead-io/fairlead/webhook/table"
)

// Guard removes the configurations as soon as the anchor or the release namespace is gone or going, and releases definitions that need it. Every
// replica does that, with or without the Lease, and also while it drains: ctx should end with the process. Guard also
// watches for Run.
func (r *Registrar) Guard(ctx context.Context) error {
	if err := r.watch(ctx); err != nil {
		return err
	}
	var group sync.WaitGroup
	defer group.Wait()
	if d := r.definitions; d != nil {
		if err := d.watch(ctx); err != nil {
			return err
		}
		group.Go(func() { r.lookAfter(ctx, "Cannot guard conversion", d.guard, d.guardBell, nil) })
	}
	r.lookAfter(ctx, "Cannot guard the webhook configurations", r.guard, r.guardBell, r.guardBundles)
	return nil
}

// lookAfter looks until ctx ends: at every event and every new bundle, and now and then without.
func (r *Registrar) lookAfter(ctx context.Context, trouble string, look func(context.Context) error, events bell.Bell, bundles <-chan struct{}) {
	retry := newBackoff(longestGuard)
	for {
		idle := resync
		if err := look(ctx); err == nil {
			retry.reset()
		} else if ctx.Err() == nil {
			idle = retry.next()
			klog.FromContext(ctx).Error(err, trouble, "retryIn", idle)
		}
		if !r.sleep(ctx, idle, events, bundles) {
			return
		}
	}
}

// watch rings at every change of the four objects and of the release namespace. Each is watched by its name: of
// configurations we may read no other.
func (r *Registrar) watch(ctx context.Context) error {
	client := r.options.Client
	for _, informer := range []cache.SharedIndexInformer{
		informers.NewFilteredValidatingWebhookConfigurationInformer(client, 0, cache.Indexers{}, named(table.AnchorName)),
		informers.NewFilteredValidatingWebhookConfigurationInformer(client, 0, cache.Indexers{}, named(table.ValidatingName)),
		informers.NewFilteredValidatingWebhookConfigurationInformer(client, 0, cache.Indexers{}, named(table.PoliciesName)),
		informers.NewFilteredMutatingWebhookConfigurationInformer(client, 0, cache.Indexers{}, named(table.MutatingName)),
		core.NewFilteredNamespaceInformer(client, 0, cache.Indexers{}, named(r.options.Config.Namespace)),
	} {
		_, guarding := informer.AddEventHandler(r.guardBell.OnEvents())
		_, leading := informer.AddEventHandler(r.leadBell.OnEvents())
		_, ruling := informer.AddEventHandler(r.policiesBell.OnEvents())
		if err := errors.Join(guarding, leading, ruling, r.definitions.follow(informer)); err != nil {
			return fmt.Errorf("watching the webhook configurations and the release namespace: %w", err)
		}
		go informer.RunWithContext(ctx)
	}
	return nil
}

func named(name string) func(*metav1.ListOptions) {
	return func(options *metav1.ListOptions) {
		options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
	}
}

// guard looks once.
func (r *Registrar) guard(ctx context.Context) error {
	anchor, err := r.store.anchor(ctx)
	if err != nil {
		return err
	}
	var all error
	for _, of := range kinds {
		all = errors.Join(all, r.guardOne(ctx, of, anchor))
	}
	return all
}

func (r *Registrar) guardOne(ctx context.Context, of which, anchor *metav1.OwnerReference) error {
	live, err := r.store.read(ctx, of)
	if err != nil {
		return err
	}
	r.report(of, anchor, live)
	if anchor != nil {
		return nil
	}
	a := withoutAnchor(live)
	if a.verb == remove {
		klog.FromContext(ctx).Info("The anchor or the release namespace is gone or going; removing the webhook configuration", "configuration", string(of))
	}
	return r.store.act(ctx, of, a)
}

// report sets the gauge: as if all replicas served all of the table.
func (r *Registrar) report(of which, anchor *metav1.OwnerReference, live *table.Configuration) {
	everything := fleet{ready: 1, serving: map[served]int{}}
	w := r.wanted()
	for _, entry := range w.entriesOf(of) {
		everything.serving[served{entry.Name, entry.Path}] = 1
	}
	a := plan(w, of, seen{anchor: anchor, live: live, replicas: everything})
	registered := 0.0
	if anchor != nil && a.verb == leave && !w.undecided(of) {
		registered = 1
	}
	r.metrics.registered.WithLabelValues(string(of)).Set(registered)
}
