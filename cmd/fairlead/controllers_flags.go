package main

import (
	"cmp"
	"flag"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	"github.com/fairlead-io/fairlead/controllers"
	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/internal/logging"
	"github.com/fairlead-io/fairlead/webhook/table"
)

// controllersFlags are those of webhook-server.md §4. All of them are accepted, so that the arguments of an OpenKruise
// installation start this process too.
type controllersFlags struct {
	options     controllers.Options
	gates       *features.Gates
	logging     logging.Flags
	qps         float32
	burst       int
	enablePprof bool
	syncPeriod  string
	bundles     string
}

func (f *controllersFlags) add(flags *pflag.FlagSet, getenv func(string) string) {
	f.addServing(flags)
	f.addElection(flags, getenv)
	f.addLimits(flags)
	f.addCloneSet(flags)
	flags.IntVar(&f.options.PodUnavailableBudgetWorkers, "podunavailablebudget-workers", 3, "PodUnavailableBudgets that are worked on at a time.")
	a := &f.options.PolicyAudit
	flags.DurationVar(&a.Interval, "policy-audit-interval", time.Hour, "How often what exists is judged by users' policies; 0 is never.")
	flags.StringVar(&a.Namespace, "policy-namespace", cmp.Or(getenv("POD_NAMESPACE"), table.DefaultNamespace), "Namespace of users' policies: the release's.")
	addBundles(flags, &f.bundles, &a.BundleDir)
	addReserved(flags)
	f.gates = features.New(getenv("CUSTOM_RESOURCE_ENABLE"))
	f.gates.AddFlag(flags)
	f.logging.Add(flags)
	flags.StringVar(&f.options.Namespace, "namespace", "", "Work on the Pods of this namespace only; empty is all.")
	flags.StringVar(&f.options.ProbeNamespace, "admission-probe-namespace", cmp.Or(getenv("KRUISE_DAEMON_CONFIG_NS"), "kruise-daemon-config"),
		"Namespace of the dry-run Pod by which readiness tells that admission works. The webhooks must cover it.")
	kubeconfig := flag.NewFlagSet("kubeconfig", flag.ContinueOnError)
	config.RegisterFlags(kubeconfig)
	flags.AddGoFlagSet(kubeconfig)
}

func (f *controllersFlags) addServing(flags *pflag.FlagSet) {
	flags.StringVar(&f.options.MetricsAddr, "metrics-addr", ":8080", "Address of /metrics; 0 is nowhere.")
	flags.StringVar(&f.options.HealthAddr, "health-probe-addr", ":8000", "Address of /healthz and /readyz; 0 is nowhere.")
	flags.BoolVar(&f.enablePprof, "enable-pprof", true, "Serve profiles.")
	flags.StringVar(&f.options.PprofAddr, "pprof-addr", ":8090", "Address of /debug/pprof.")
}

func (f *controllersFlags) addElection(flags *pflag.FlagSet, getenv func(string) string) {
	e := &f.options.Election
	flags.BoolVar(&e.Enabled, "enable-leader-election", true, "Act only as the leader. Off is for a single process that no other runs beside.")
	flags.StringVar(&e.Namespace, "leader-election-namespace", cmp.Or(getenv("POD_NAMESPACE"), table.DefaultNamespace), "Namespace of the Lease.")
	flags.StringVar(&e.ID, "leader-election-id", "kruise-manager", "Name of the Lease.")
	flags.StringVar(&e.ResourceLock, "leader-election-resource-lock", "leases", "Kind of the lock; there is only leases.")
	flags.DurationVar(&e.LeaseDuration, "leader-election-lease-duration", 15*time.Second, "How long a silent leader is waited for.")
	flags.DurationVar(&e.RenewDeadline, "leader-election-renew-deadline", 10*time.Second, "How long a leader that cannot renew its Lease acts on.")
	flags.DurationVar(&e.RetryPeriod, "leader-election-retry-period", 2*time.Second, "How often the Lease is renewed or tried.")
}

func (f *controllersFlags) addLimits(flags *pflag.FlagSet) {
	flags.Float32Var(&f.qps, "rest-config-qps", 30, "Requests a second to the API server, for each resource and subresource apart.")
	flags.IntVar(&f.burst, "rest-config-burst", 50, "Requests to the API server, for each resource and subresource, that may come at once.")
	flags.StringVar(&f.syncPeriod, "sync-period", "", "How often every object is looked at again without an event, such as 1h; empty or 0 is 10h.")
	flags.DurationVar(&f.options.CacheSyncTimeout, "controller-cache-sync-timeout", 2*time.Minute, "How long the first lists may take.")
	r := &f.options.Retries
	flags.DurationVar(&r.BaseDelay, "rate-limiter-base-delay", 5*time.Millisecond, "Delay of the first retry.")
	flags.DurationVar(&r.MaxDelay, "rate-limiter-max-delay", 1000*time.Second, "Longest delay of a retry.")
	flags.IntVar(&r.QPS, "rate-limiter-qps", 10, "Retries a second of one controller.")
	flags.IntVar(&r.Bucket, "rate-limiter-bucket-size", 100, "Retries of one controller that may come at once.")
}

func (f *controllersFlags) addCloneSet(flags *pflag.FlagSet) {
	c := &f.options.CloneSet
	flags.IntVar(&c.Workers, "cloneset-workers", 3, "CloneSets that are worked on at a time.")
	flags.BoolVar(&c.ExcludePreparingDelete, "cloneset-scaling-exclude-preparing-delete", false,
		"Replace Pods of CloneSets as soon as their deletion is prepared, as scaleStrategy.excludePreparingDelete does for one.")
}

// addReserved accepts the flags of controllers that are still to come, and of what Fairlead does otherwise.
func addReserved(flags *pflag.FlagSet) {
	const reserved = "Reserved: accepted without effect."
	for _, kind := range []string{
		"advancedcronjob", "broadcastjob", "crr", "daemonset", "imagepulljob", "nodeimage", "nodepodprobe",
		"persistentpodstate", "podprobemarker", "resourcedistribution", "sidecarset",
		"sidecarterminator", "statefulset", "uniteddeployment", "workloadspread",
	} {
		flags.Int(kind+"-workers", 3, reserved)
	}
	for name, byDefault := range map[string]bool{
		"allow-privileged": true, "assign-bcj-pods-by-scheduler": true, "assign-pods-by-scheduler": true,
		"disable-no-deepcopy": false,
	} {
		flags.Bool(name, byDefault, reserved)
	}
	for name, byDefault := range map[string]time.Duration{
		"webhook-initialize-timeout": time.Minute, "expectation-timeout": 5 * time.Minute, "nodeimage-creation-delay": 30 * time.Second,
	} {
		flags.Duration(name, byDefault, reserved)
	}
	flags.Int("default-ttlseconds-for-always-nodeimage", 300, reserved)
	flags.String("protection-log-path", "/log", reserved)
	flags.String("ws-enabled-versioned-status", "deployment,replicaset", reserved)
}

// complete is the options that the parsed flags make.
func (f *controllersFlags) complete() (controllers.Options, error) {
	options := f.options
	options.Gates = f.gates
	if !f.enablePprof {
		options.PprofAddr = ""
	}
	if f.syncPeriod != "" {
		period, err := time.ParseDuration(f.syncPeriod)
		if err != nil || period < 0 {
			return options, fmt.Errorf("reading --sync-period=%s: it must be a duration such as 1h", f.syncPeriod)
		}
		options.Resync = period
	}
	if f.bundles != "" {
		var err error
		if options.PolicyAudit.Bundles, err = readBundles(f.bundles); err != nil {
			return options, err
		}
	}
	return options, options.Check()
}
