package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/spf13/pflag"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/internal/logging"
	"github.com/fairlead-io/fairlead/internal/version"
	"github.com/fairlead-io/fairlead/validators/userpolicy/bundles"
	"github.com/fairlead-io/fairlead/webhook/replica"
	"github.com/fairlead-io/fairlead/webhook/server"
	"github.com/fairlead-io/fairlead/webhook/table"
)

const (
	// webhookUserAgent is the name that audit logs know the admission service by.
	webhookUserAgent = "kruise-webhook"
	// conversionService reaches replicas that are not ready yet (DESIGN: conversion stands apart).
	conversionService = "kruise-conversion"
	// defaultSecret is where the CA is kept.
	defaultSecret = "kruise-webhook-certs"
	// shutdownDelay is longer than endpoints take to reach every API server in a large cluster.
	shutdownDelay = 10 * time.Second
)

// webhookFlags are those of `fairlead webhook`.
type webhookFlags struct {
	options        replica.Options
	logging        logging.Flags
	standalone     bool
	objects        string
	certOut        string
	policies       map[string]string
	qps            float32
	burst          int
	timeoutSeconds int32
	aks            bool
	certDir        string
	injection      map[string]string
	bundles        string
	register       bool
}

func (f *webhookFlags) add(flags *pflag.FlagSet, getenv func(string) string) {
	f.addServing(flags)
	f.addStandalone(flags)
	f.addCluster(flags)
	f.addCertificates(flags, getenv)
	addBundles(flags, &f.bundles, &f.options.Policies.BundleDir)
	f.options.Gates = features.New(getenv("CUSTOM_RESOURCE_ENABLE"))
	f.options.Gates.AddFlag(flags)
	f.logging.Add(flags)
}

func (f *webhookFlags) addServing(flags *pflag.FlagSet) {
	o := &f.options
	flags.StringVar(&o.BindAddress, "bind-address", "", "Address to serve webhooks on (default :WEBHOOK_PORT, which is 9876 unless set; with --standalone 127.0.0.1:9443).")
	flags.StringVar(&o.MetricsAddr, "metrics-addr", ":8080", "Address of /metrics; 0 is nowhere. With --standalone it is only used if given.")
	flags.StringVar(&o.HealthAddr, "health-probe-addr", ":8000", "Address of /healthz and /readyz; 0 is nowhere. With --standalone it is only used if given.")
	flags.StringVar(&o.ProtectionLogPath, "protection-log-path", "", "Directory of protection.log, the audit log of deletions that were denied; none if empty.")
	flags.IntVar(&o.MaxInFlight, "max-in-flight", server.DefaultMaxInFlight, "How many reviews may be judged at once; more are answered 429, and the API server tries again.")
	flags.DurationVar(&o.ShutdownDelay, "shutdown-delay", shutdownDelay, "How long to serve on after SIGTERM, until no API server sends any more. With --standalone it is only used if given.")
}

func (f *webhookFlags) addStandalone(flags *pflag.FlagSet) {
	flags.BoolVar(&f.standalone, "standalone", false, "Serve without a cluster, from the files of --objects.")
	flags.StringVar(&f.objects, "objects", "", "Directory of *.yaml and *.json files with SidecarSets, Namespaces and ConfigMaps with policies, for --standalone. Changes are followed.")
	flags.StringVar(&f.certOut, "tls-cert-out", "", "File to write the CA of the serving certificate to, for --standalone.")
}

func (f *webhookFlags) addCluster(flags *pflag.FlagSet) {
	kubeconfig := flag.NewFlagSet("kubeconfig", flag.ContinueOnError)
	config.RegisterFlags(kubeconfig)
	flags.AddGoFlagSet(kubeconfig)
	for _, name := range []string{"kube-api-qps", "rest-config-qps"} {
		flags.Float32Var(&f.qps, name, 30, "Requests a second to the API server.")
	}
	for _, name := range []string{"kube-api-burst", "rest-config-burst"} {
		flags.IntVar(&f.burst, name, 50, "Requests to the API server that may come at once.")
	}
	flags.Int32Var(&f.timeoutSeconds, "webhook-timeout-seconds", 5, "Timeout of the registered webhooks, 1 to 30.")
	flags.StringToStringVar(&f.policies, "webhook-failure-policies", nil, "Failure policies of registered webhooks that differ from the default: NAME=Ignore,NAME=Fail.")
	flags.BoolVar(&f.register, "register", true, "Register the webhooks and the conversion of definitions. false leaves it to somebody who applies what `fairlead webhook print` writes.")
	flags.BoolVar(&f.aks, "aks-integration", false, "Leave out the namespaces that Azure manages, as its admission enforcer does.")
}

func (f *webhookFlags) addCertificates(flags *pflag.FlagSet, getenv func(string) string) {
	flags.StringVar(&f.certDir, "cert-dir", cmp.Or(getenv("WEBHOOK_CERT_DIR"), "/tmp/kruise-webhook-certs"),
		"Directory of tls.crt, tls.key and ca.crt, the mounted Secret: the certificate that is served with the feature gate EnableExternalCerts, and without it while clients trust only that one.")
	flags.StringToStringVar(&f.injection, "ca-injection-annotations", nil,
		"With EnableExternalCerts, annotations that ask for CA bundles, such as cert-manager.io/inject-ca-from=NAMESPACE/CERTIFICATE. They are put on what is registered once every replica serves such a certificate.")
}

// addBundles adds the flags by which a process is told of bundles.
func addBundles(flags *pflag.FlagSet, list, directory *string) {
	flags.StringVar(list, "policy-bundles", "", "YAML file with a list of OPA bundles to download and to judge by: name, url, pollSeconds, timeoutSeconds, maxMiB, tokenFile, caFile, key.")
	flags.StringVar(directory, "policy-bundle-dir", "", "Directory that keeps the last good version of each bundle for a restart; none if empty.")
}

func readBundles(list string) ([]bundles.Config, error) {
	found, err := bundles.Read(list)
	if err != nil {
		return nil, fmt.Errorf("%w; --policy-bundles must name a list of bundles", err)
	}
	return found, nil
}

// complete fills in what depends on other flags and on the environment.
func (f *webhookFlags) complete(flags *pflag.FlagSet, getenv func(string) string) error {
	o := &f.options
	if !f.standalone && (f.objects != "" || f.certOut != "") {
		return errors.New("--objects and --tls-cert-out are for a service without a cluster: add --standalone")
	}
	if f.standalone {
		o.BindAddress = cmp.Or(o.BindAddress, "127.0.0.1:9443")
		// Nobody routes around us or scrapes us here, and Ctrl-C should end at once.
		unlessGiven(flags, "metrics-addr", func() { o.MetricsAddr = "" })
		unlessGiven(flags, "health-probe-addr", func() { o.HealthAddr = "" })
		unlessGiven(flags, "shutdown-delay", func() { o.ShutdownDelay = 0 })
	}
	o.BindAddress = cmp.Or(o.BindAddress, ":"+port(getenv))
	// A request that comes at the last moment has the whole of its time.
	o.ShutdownGrace = time.Duration(f.timeoutSeconds) * time.Second
	o.Version = version.String()
	o.Table = f.table(getenv)
	return nil
}

// read reads the files that flags name, which are where the service runs: who reads its command line elsewhere has none.
func (f *webhookFlags) read() (err error) {
	if f.bundles != "" {
		f.options.Policies.Bundles, err = readBundles(f.bundles)
	}
	return err
}

func (f *webhookFlags) table(getenv func(string) string) table.Config {
	policies := make(map[string]admissionv1.FailurePolicyType, len(f.policies))
	for name, policy := range f.policies {
		policies[name] = admissionv1.FailurePolicyType(policy)
	}
	return table.Config{
		Namespace: cmp.Or(getenv("POD_NAMESPACE"), table.DefaultNamespace), Service: cmp.Or(getenv("SERVICE_NAME"), table.DefaultService),
		Host: host(getenv), TimeoutSeconds: f.timeoutSeconds, FailurePolicies: policies, AKSIntegration: f.aks,
	}
}

// host is where the API server reaches a service outside the cluster: WEBHOOK_HOST, on the port that we serve on.
func host(getenv func(string) string) string {
	if name := getenv("WEBHOOK_HOST"); name != "" {
		return net.JoinHostPort(name, port(getenv))
	}
	return ""
}

func port(getenv func(string) string) string { return cmp.Or(getenv("WEBHOOK_PORT"), "9876") }

func unlessGiven(flags *pflag.FlagSet, name string, then func()) {
	if !flags.Changed(name) {
		then()
	}
}

func (f *webhookFlags) alone() replica.Standalone {
	return replica.Standalone{Options: f.options, Objects: f.objects, CertOut: f.certOut}
}

func (f *webhookFlags) inCluster(getenv func(string) string) (replica.Cluster, error) {
	cfg, err := f.restConfig()
	if err != nil {
		return replica.Cluster{}, err
	}
	hostname, err := os.Hostname()
	if err != nil {
		return replica.Cluster{}, fmt.Errorf("finding this replica's name: %w; set POD_NAME", err)
	}
	return replica.Cluster{
		Options: f.options, REST: cfg, Secret: cmp.Or(getenv("SECRET_NAME"), defaultSecret),
		Identity: cmp.Or(getenv("POD_NAME"), hostname), ConversionService: conversionService, PodIP: getenv("POD_IP"),
		RegisteredByOthers: !f.register, CertDir: f.certDir, InjectionAnnotations: f.injection,
	}, nil
}

func (f *webhookFlags) restConfig() (*rest.Config, error) {
	cfg, err := config.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("finding the cluster: %w; run in a Pod, set --kubeconfig or KUBECONFIG, or serve without one with --standalone", err)
	}
	cfg.UserAgent = webhookUserAgent
	cfg.QPS, cfg.Burst = f.qps, f.burst
	return cfg, nil
}
