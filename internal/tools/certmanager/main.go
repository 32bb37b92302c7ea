// Command certmanager runs what cert-manager does for an admission service, with cert-manager's own controllers: issuers
// that sign with a CA or by themselves, certificates, and the injection of CA bundles. Tests run it beside a bare API
// server; it approves every request.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	cmv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"github.com/cert-manager/cert-manager/pkg/controller"
	"github.com/cert-manager/cert-manager/pkg/controller/cainjector"
	"github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	requestsca "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/ca"
	requestsself "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	"github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"         // registers the kind of issuer
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned" // likewise
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// names of the controllers that certificates of these issuers need.
var names = []string{
	approver.ControllerName, requestsca.CRControllerName, requestsself.CRControllerName, issuing.ControllerName,
	keymanager.ControllerName, readiness.ControllerName, requestmanager.ControllerName, revisionmanager.ControllerName,
	trigger.ControllerName, issuers.ControllerName,
}

func main() {
	flags := flag.NewFlagSet("certmanager", flag.ExitOnError) // a package that we import has put a --kubeconfig into the other one
	kubeconfig := flags.String("kubeconfig", "", "file that leads to the API server")
	klog.InitFlags(flags)
	if err := flags.Parse(os.Args[1:]); err != nil {
		os.Exit(2) // it has been said
	}
	ctrl.SetLogger(klog.Background())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *kubeconfig); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return issue(ctx, kubeconfig) })
	group.Go(func() error { return inject(ctx, kubeconfig) })
	return group.Wait()
}

// issue runs the controllers of certificates.
func issue(ctx context.Context, kubeconfig string) error {
	factory, err := controller.NewContextFactory(ctx, controller.ContextOptions{
		Kubeconfig: kubeconfig, KubernetesAPIQPS: 100, KubernetesAPIBurst: 200,
		IssuerOptions: controller.IssuerOptions{ClusterResourceNamespace: "cert-manager"},
		CertificateOptions: controller.CertificateOptions{
			CertificateRequestMinimumBackoffDuration: time.Second, CertificateRequestMaximumBackoffDuration: time.Minute,
		},
	})
	if err != nil {
		return fmt.Errorf("setting up controllers: %w", err)
	}
	group, ctx := errgroup.WithContext(ctx)
	var built []controller.Interface
	for _, name := range names {
		one, err := controller.Known()[name](factory)
		if err != nil {
			return fmt.Errorf("setting up %s: %w", name, err)
		}
		built = append(built, one)
	}
	shared, err := factory.Build()
	if err != nil {
		return fmt.Errorf("setting up informers: %w", err)
	}
	shared.SharedInformerFactory.Start(ctx.Done())
	shared.KubeSharedInformerFactory.Start(ctx.Done())
	for _, one := range built {
		group.Go(func() error { return one.Run(2, ctx) })
	}
	return group.Wait()
}

// inject runs the injection of CA bundles.
func inject(ctx context.Context, kubeconfig string) error {
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("reading %s: %w", kubeconfig, err)
	}
	cfg.UserAgent = "cert-manager-cainjector/test"
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, cmv1.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return fmt.Errorf("setting up the injector: %w", err)
		}
	}
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
	})
	if err != nil {
		return fmt.Errorf("setting up the injector: %w", err)
	}
	if err := cainjector.RegisterAllInjectors(ctx, mgr, cainjector.SetupOptions{
		EnableCertificatesDataSource: true,
		EnabledReconcilersFor: map[string]bool{
			cainjector.MutatingWebhookConfigurationName: true, cainjector.ValidatingWebhookConfigurationName: true,
			cainjector.CustomResourceDefinitionName: true,
		},
	}); err != nil {
		return fmt.Errorf("setting up the injector: %w", err)
	}
	return mgr.Start(ctx)
}
