package controllers

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/fairlead-io/fairlead/api"
	"github.com/fairlead-io/fairlead/controllers/cloneset"
	"github.com/fairlead-io/fairlead/controllers/launchpriority"
	"github.com/fairlead-io/fairlead/controllers/podcache"
	"github.com/fairlead-io/fairlead/controllers/podreadiness"
	"github.com/fairlead-io/fairlead/controllers/podunavailablebudget"
	"github.com/fairlead-io/fairlead/controllers/throttle"
	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/internal/logging"
)

const (
	// stopTimeout is below the 10 s that the Pod is given to end, so that the lease is released in time: it must not
	// be released before the controllers have stopped.
	stopTimeout = 7 * time.Second
	// reconcileTimeout bounds one reconcile, which otherwise could wait forever for the cache to see its own write.
	reconcileTimeout = 30 * time.Second
)

// Run runs the controllers until ctx ends, which gives up leadership, or the process cannot go on, for example because
// leadership is lost; then the process must end, because another one may lead.
func Run(ctx context.Context, cfg *rest.Config, o Options) error {
	if err := o.Check(); err != nil {
		return err
	}
	waits := throttle.Waits()
	mgr, err := newManager(throttle.PerResource(cfg, waits), o)
	if err != nil {
		return err
	}
	if err := mgr.Add(served{waits}); err != nil {
		return fmt.Errorf("adding the metric of waiting requests: %w", err)
	}
	admission, err := addAdmission(mgr, o)
	if err != nil {
		return err
	}
	if err := addControllers(mgr, admission.mayCreate, o); err != nil {
		return err
	}
	if err := addHealth(mgr, admission.checks, o); err != nil {
		return err
	}
	if err := addLeaderGauge(mgr); err != nil {
		return err
	}
	// What is not the manager's own, such as its caches' reflectors, takes the context's log.
	if err := mgr.Start(klog.NewContext(ctx, o.Log)); err != nil {
		return fmt.Errorf("running controllers: %w", err)
	}
	return nil
}

func newManager(cfg *rest.Config, o Options) (manager.Manager, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, api.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("registering types: %w", err)
		}
	}
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme:                        scheme,
		Logger:                        logging.Manager(o.Log),
		Cache:                         cacheOptions(o),
		Client:                        client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: ptr.To(true)}},
		Metrics:                       metricsserver.Options{BindAddress: o.MetricsAddr},
		HealthProbeBindAddress:        "0", // served by addHealth, which says what is missing
		PprofBindAddress:              o.PprofAddr,
		LeaderElection:                o.Election.Enabled,
		LeaderElectionNamespace:       o.Election.Namespace,
		LeaderElectionID:              o.Election.ID,
		LeaderElectionResourceLock:    o.Election.ResourceLock,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &o.Election.LeaseDuration,
		RenewDeadline:                 &o.Election.RenewDeadline,
		RetryPeriod:                   &o.Election.RetryPeriod,
		GracefulShutdownTimeout:       ptr.To(stopTimeout),
		// Their names are constants in one process, which may run them more than once.
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	})
	if err != nil {
		return nil, fmt.Errorf("setting up the manager: %w", err)
	}
	return mgr, nil
}

func cacheOptions(o Options) cache.Options {
	options := cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}: {Transform: podcache.Transform(podreadiness.Keep, launchpriority.Keep, cloneset.Keep, podunavailablebudget.Keep)},
		},
	}
	if o.Namespace != "" {
		options.DefaultNamespaces = map[string]cache.Config{o.Namespace: {}}
	}
	if o.Resync > 0 {
		options.SyncPeriod = &o.Resync
	}
	return options
}

// addControllers registers the controllers whose gates are on. Those that create Pods ask mayCreate before they do.
func addControllers(mgr manager.Manager, mayCreate func() error, o Options) error {
	if err := podreadiness.New(mgr.GetClient(), clock.RealClock{}).AddTo(mgr, o.forController()); err != nil {
		return err
	}
	if err := addStorageVersions(mgr, o); err != nil {
		return err
	}
	live, err := plainClient(mgr)
	if err != nil {
		return err
	}
	if err := addCloneSet(mgr, live, mayCreate, o); err != nil {
		return err
	}
	if err := addPodUnavailableBudget(mgr, live, o); err != nil {
		return err
	}
	if err := addPolicyAudit(mgr, o); err != nil {
		return err
	}
	if !o.Gates.Enabled(features.PodWebhook) {
		return nil // no Pod gets a barrier
	}
	return launchpriority.New(mgr.GetClient(), live).AddTo(mgr, o.forController())
}

// plainClient reads and writes past the cache: for kinds that must not be listed and watched, and for dry runs.
func plainClient(mgr manager.Manager) (client.Client, error) {
	plain, err := client.New(mgr.GetConfig(), client.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
	})
	if err != nil {
		return nil, fmt.Errorf("setting up a client: %w", err)
	}
	return plain, nil
}
