package registration

import (
	"context"
	"errors"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/fairlead-io/fairlead/internal/bell"
)

// Conversion says where definitions are and how they shall have objects converted (webhook-server.md §3.4).
type Conversion struct {
	Client apiextensions.CustomResourceDefinitionInterface
	// Metadata watches definitions without reading their schemas.
	Metadata metadata.Interface
	// Service, in the namespace of Options.Config, reaches every replica, ready or not, and Path is where it converts.
	Service, Path string
	// Definitions are the names of those whose versions differ.
	Definitions []string
}

// definitions keep the conversion of CustomResourceDefinitions, beside the two configurations and on their conditions:
// the leader writes while there is an anchor, and every replica looks after it when the anchor has gone.
type definitions struct {
	registrar *Registrar
	options   Conversion
	store     definitionStore
	// settled is, by name, how a definition was wanted to convert when it last was so; to tell drift from news.
	settled map[string]*converting
	waiting bool

	guardBell, leadBell bell.Bell
	bundles             <-chan struct{}
}

func newDefinitions(r *Registrar, options Conversion) *definitions {
	return &definitions{
		registrar: r, options: options, store: definitionStore{options.Client}, settled: map[string]*converting{},
		guardBell: bell.New(), leadBell: bell.New(), bundles: r.options.Certificates.Subscribe(),
	}
}

// watch rings at every change of a definition. Each is watched by its name: we may read no other.
func (d *definitions) watch(ctx context.Context) error {
	for _, name := range d.options.Definitions {
		informer := metadatainformer.NewFilteredMetadataInformer(d.options.Metadata,
			apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"), "", 0, cache.Indexers{}, named(name)).Informer()
		if _, err := informer.AddEventHandler(d.leadBell.OnEvents()); err != nil {
			return fmt.Errorf("watching definition %s: %w", name, err)
		}
		go informer.RunWithContext(ctx)
	}
	return nil
}

// follow makes the definitions' loops look when a webhook configuration changes, of which one is the anchor.
func (d *definitions) follow(informer cache.SharedIndexInformer) error {
	if d == nil {
		return nil
	}
	_, guarding := informer.AddEventHandler(d.guardBell.OnEvents())
	_, leading := informer.AddEventHandler(d.leadBell.OnEvents())
	return errors.Join(guarding, leading)
}

func (d *definitions) converting(w wanted) converting {
	return newConverting(w.config, d.options.Service, d.options.Path, nil, false)
}

// register does one round over the definitions, as the leader.
func (d *definitions) register(ctx context.Context) (outcome, error) {
	var all outcome
	served, trouble := d.registrar.replicas.reachable(ctx, d.options.Service)
	w := d.registrar.wanted()
	for _, name := range d.options.Definitions {
		one, err := d.registerOne(ctx, w, name, served)
		all.wrote, all.waiting = all.wrote || one.wrote, all.waiting || one.waiting
		trouble = errors.Join(trouble, err)
	}
	if all.waiting != d.waiting {
		klog.FromContext(ctx).Info("Conversion waits until a replica can be reached", "service", d.options.Service, "waiting", all.waiting)
		d.waiting = all.waiting
	}
	return all, trouble
}

func (d *definitions) registerOne(ctx context.Context, w wanted, name string, served bool) (outcome, error) {
	live, there, err := d.store.read(ctx, name)
	if err != nil {
		d.registrar.metrics.registered.WithLabelValues(name).Set(0)
		return outcome{}, err
	}
	if !there { // a cluster may do without a kind
		d.registrar.metrics.registered.DeleteLabelValues(name)
		return outcome{}, nil
	}
	c := d.converting(w)
	unproven := c.needsProof(w, live)
	c = c.certified(w, live, unproven && d.registrar.proof.settled(ctx))
	// The anchor is read last: between it and the write nothing else happens.
	anchor, err := d.registrar.store.anchor(ctx)
	if err != nil {
		return outcome{}, err
	}
	v, differences := planDefinition(c, live, anchor != nil, served)
	if v == release { // the guard's work
		v = leave
	}
	asWanted := anchor != nil && len(c.differences(live)) == 0
	d.note(ctx, c, name, v, asWanted, differences)
	waiting := anchor != nil && (!asWanted || unproven)
	if v == leave || ctx.Err() != nil {
		return outcome{waiting: waiting}, ctx.Err()
	}
	err = d.store.act(ctx, c, live, v)
	return outcome{wrote: err == nil, waiting: waiting}, err
}

// note logs and counts what a plan means.
func (d *definitions) note(ctx context.Context, c converting, name string, v verb, asWanted bool, differences []string) {
	registered := 0.0
	if asWanted {
		registered = 1
		d.settled[name] = &c
	}
	d.registrar.metrics.registered.WithLabelValues(name).Set(registered)
	if v == leave {
		return
	}
	drifted := d.settled[name] != nil && equality.Semantic.DeepEqual(d.settled[name].client, c.client)
	if drifted {
		d.registrar.metrics.drift.WithLabelValues(name).Inc()
	}
	d.settled[name] = nil
	klog.FromContext(ctx).Info("Writing the conversion of a definition", "definition", name, "action", v, "drifted", drifted, "differences", differences)
}

// forget clears what only a leader knows.
func (d *definitions) forget() {
	clear(d.settled)
	for _, name := range d.options.Definitions {
		d.registrar.metrics.registered.DeleteLabelValues(name)
	}
}

// guard looks once: after the anchor has gone, definitions are left so that objects can be read and deleted.
func (d *definitions) guard(ctx context.Context) error {
	anchor, err := d.registrar.store.anchor(ctx)
	if err != nil || anchor != nil {
		return err
	}
	c := d.converting(d.registrar.wanted())
	var all error
	for _, name := range d.options.Definitions {
		live, there, err := d.store.read(ctx, name)
		if err == nil && there {
			err = d.release(ctx, c, live)
		}
		all = errors.Join(all, err)
	}
	return all
}

func (d *definitions) release(ctx context.Context, c converting, live definition) error {
	v, differences := planDefinition(c, live, false, false)
	if v != release {
		return nil
	}
	klog.FromContext(ctx).Info("Releasing a definition", "definition", live.name, "differences", differences)
	return d.store.act(ctx, c, live, v)
}
