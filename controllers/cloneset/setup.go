package cloneset

import (
	"context"
	"fmt"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/fairlead-io/fairlead/controllers/podset/inplace"
	"github.com/fairlead-io/fairlead/internal/features"
)

// idLength is that of the suffix of a Pod's name.
const idLength = 5

// Setup is what a process decides about the controller.
type Setup struct {
	Gates gates
	// Live reads and writes at the API server.
	Live client.Client
	// Random makes n random characters that may be in a name.
	Random func(n int) string
	// Workers is how many CloneSets are synced at a time.
	Workers int
	// ExcludePreparingDelete is Settings.ExcludePreparingDelete.
	ExcludePreparingDelete bool
	// Budget is Options.Budget.
	Budget Budget
	// MayCreate says why no Pod may be created yet, or nil; without it none is held back.
	MayCreate func() error
	// Registerer is where the controller's metric goes.
	Registerer prometheus.Registerer
}

// AddTo makes a manager run the controller, with the given limits. The kinds CloneSet and, with the gate for pre-download,
// ImagePullJob must be installed.
func (s Setup) AddTo(ctx context.Context, mgr manager.Manager, options controller.Options) error {
	settings, err := s.settings(mgr)
	if err != nil {
		return err
	}
	if err := Index(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	pods, err := podStore(ctx, mgr.GetCache())
	if err != nil {
		return err
	}
	leaks, err := registerLeaks(s.Registerer)
	if err != nil {
		return err
	}
	r := New(Options{
		Client: mgr.GetClient(), Pods: pods, Live: s.Live, Clock: clock.RealClock{}, Settings: settings, Budget: s.Budget,
		//nolint:staticcheck // The newer events API does not name the component, and lets a scale-out write an event a Pod.
		Recorder: mgr.GetEventRecorderFor(Name),
		NewID:    func() string { return s.Random(idLength) },
	})
	if s.MayCreate != nil {
		r.Hold = NewHold(s.MayCreate)
	}
	r.leaked = func(namespace, name string) { leaks.WithLabelValues(namespace, name).Inc() }
	options.MaxConcurrentReconciles = s.Workers
	b := builder.ControllerManagedBy(mgr).Named(Name).WithOptions(options)
	for _, w := range r.Watches(mgr.GetScheme(), mgr.GetRESTMapper(), s.Gates.Enabled(features.CloneSetEventHandlerOptimization)) {
		b = b.Watches(w.Object, w.Handler, builder.WithPredicates(w.Predicates...))
	}
	if err := b.Complete(r); err != nil {
		return fmt.Errorf("adding controller %s: %w", Name, err)
	}
	return nil
}

// exceptStatus lets everything of a CloneSet pass that a sync reads, but for its status, which we write. That of others is
// for statusEvents.
func exceptStatus() predicate.Predicate {
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{}, predicate.AnnotationChangedPredicate{})
}

func (s Setup) settings(mgr manager.Manager) (Settings, error) {
	on := s.Gates.Enabled
	settings := Settings{
		ShortHash:               on(features.CloneSetShortHash),
		PartitionRollback:       on(features.CloneSetPartitionRollback),
		PreparingUpdateAsUpdate: on(features.PreparingUpdateAsUpdate),
		RecreateForClaims:       on(features.RecreatePodWhenChangeVCTInCloneSetGate),
		ExcludePreparingDelete:  s.ExcludePreparingDelete,
		PreDownload:             on(features.PreDownloadImageForInPlaceUpdate),
		InPlace: inplace.Options{
			EnvFromMetadata: on(features.InPlaceUpdateEnvFromMetadata), Resources: on(features.InPlaceWorkloadVerticalScaling),
		},
	}
	if !settings.InPlace.Resources {
		return settings, nil
	}
	resize, err := hasResize(mgr)
	settings.Server.Resize = resize
	return settings, err
}

// hasResize asks the API server for the subresource itself: its version says neither whether the feature is on nor, on
// some distributions, anything that can be read.
func hasResize(mgr manager.Manager) (bool, error) {
	client, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return false, fmt.Errorf("setting up discovery: %w", err)
	}
	core, err := client.ServerResourcesForGroupVersion("v1")
	if err != nil {
		return false, fmt.Errorf("asking whether Pods can be resized: %w", err)
	}
	return slices.ContainsFunc(core.APIResources, func(r metav1.APIResource) bool { return r.Name == "pods/resize" }), nil
}
