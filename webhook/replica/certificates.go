package replica

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/certs"
	"github.com/fairlead-io/fairlead/certs/certmanager"
	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/webhook/registration"
	"github.com/fairlead-io/fairlead/webhook/table"
)

// diagnosisTimeout bounds asking what keeps a certificate away; it is asked again soon.
const diagnosisTimeout = 5 * time.Second

// prepareTimeout bounds how long a replica looks for its certificate before it serves: when the API server is away, what asks
// for no certificate shall be answered nevertheless.
const prepareTimeout = 5 * time.Second

// injectFrom is cert-manager's annotation that names, as NAMESPACE/NAME, the Certificate whose CA is to be injected.
const injectFrom = "cert-manager.io/inject-ca-from"

// certificates are where a replica in a cluster has its certificate from.
type certificates struct {
	source certs.Source
	// others are the CAs of the mode that is not ours; nil if it cannot be served.
	others func() []byte
	// follow are tasks for as long as requests are served; keep must end when we are told to stop, because it would make a
	// Secret anew that is being uninstalled.
	follow, keep []task
	// prepare reads what there is.
	prepare func(context.Context)
}

// external says that somebody else, such as cert-manager, makes the certificate.
func (c Cluster) external() bool { return c.Gates.Enabled(features.EnableExternalCerts) }

// certificates puts the sources together: that of our mode, and that of the other one for as long as clients trust only it.
func (c Cluster) certificates(
	api kubernetes.Interface, config table.Config, registry prometheus.Registerer, conversion *registration.Conversion,
) (*certificates, error) {
	authority, err := c.authority(api, config, conversion)
	if err != nil {
		return nil, err
	}
	if c.RegisteredByOthers { // then we may have no right to read what clients trust, and whoever writes it decides on a switch
		return c.registeredCertificates(config, registry, authority)
	}
	trusted := registration.Trusted(api, config, conversion, clock.RealClock{})
	mounted := c.mounted(config, trusted)
	options := certs.HandoverOptions{Preferred: authority, Fallback: mounted, Trusted: trusted, Clock: clock.RealClock{}}
	if c.external() {
		options.Preferred, options.Fallback = mounted, authority
		if options.Diagnose, err = c.diagnose(); err != nil {
			return nil, err
		}
	}
	handover := certs.NewHandover(options)
	return &certificates{
		source: handover, others: handover.Others, follow: []task{mounted.Run, handover.Run}, keep: []task{authority.Run},
		prepare: func(ctx context.Context) { prepare(ctx, authority); handover.Prepare(ctx) },
	}, handover.RegisterMetrics(registry)
}

func (c Cluster) registeredCertificates(config table.Config, registry prometheus.Registerer, authority *certs.Authority) (*certificates, error) {
	if !c.external() {
		return &certificates{
			source: authority, keep: []task{authority.Run}, prepare: func(ctx context.Context) { prepare(ctx, authority) },
		}, authority.RegisterMetrics(registry)
	}
	mounted := c.mounted(config, nil)
	return &certificates{source: mounted, follow: []task{mounted.Run}, prepare: func(context.Context) {}}, mounted.RegisterMetrics(registry)
}

// lookOnce prepares what is to be served; it does not wait long.
func (c *certificates) lookOnce(ctx context.Context, log klog.Logger) {
	ctx, cancel := context.WithTimeout(klog.NewContext(ctx, log), prepareTimeout)
	defer cancel()
	c.prepare(ctx)
}

// prepare reads or makes the CA. When that fails it is tried again while we serve.
func prepare(ctx context.Context, authority *certs.Authority) {
	if err := authority.Prepare(ctx); err != nil {
		klog.FromContext(ctx).Error(err, "Cannot read the webhook CA yet")
	}
}

func (c Cluster) mounted(config table.Config, trusted certs.Trust) *certs.Mounted {
	hosts := []string{config.ServerName()}
	if config.Host == "" {
		hosts = append(hosts, c.ConversionService+"."+config.Namespace+".svc")
	}
	return certs.NewMounted(certs.MountedOptions{Dir: c.CertDir, Hosts: hosts, Trusted: trusted, Clock: clock.RealClock{}})
}

func (c Cluster) authority(api kubernetes.Interface, config table.Config, conversion *registration.Conversion) (*certs.Authority, error) {
	hosts := certs.ServiceHosts(config.Namespace, []string{config.Service, c.ConversionService}, c.PodIP)
	if config.Host != "" {
		hosts = append(hosts, config.ServerName())
	}
	options := certs.Options{
		Client: api, Namespace: config.Namespace, Secret: c.Secret, Hosts: hosts, Clock: clock.RealClock{}, ReadOnly: c.external(),
	}
	if !c.RegisteredByOthers && !c.external() {
		options.Published = registration.Published(api, config, conversion)
	}
	return certs.NewAuthority(options)
}

// diagnose asks cert-manager's objects, if the annotations name a Certificate in our namespace: others we may not read.
func (c Cluster) diagnose() (func(context.Context) string, error) {
	namespace, name, found := strings.Cut(c.InjectionAnnotations[injectFrom], "/")
	if !found || namespace != c.Table.Namespace {
		return nil, nil
	}
	scheme := runtime.NewScheme()
	if err := certmanager.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("making a client for certificates: %w", err)
	}
	api, err := client.New(rest.CopyConfig(c.REST), client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("making a client for certificates: %w", err)
	}
	return func(ctx context.Context) string {
		ctx, cancel := context.WithTimeout(ctx, diagnosisTimeout)
		defer cancel()
		findings := certmanager.Check(ctx, api, namespace, name)
		said := make([]string, 0, len(findings))
		for _, finding := range findings {
			said = append(said, finding.String())
		}
		return strings.Join(said, "; ")
	}, nil
}
