package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/pflag"

	"github.com/fairlead-io/fairlead/controllers"
	"github.com/fairlead-io/fairlead/internal/features"
)

func parseControllersFlags(t *testing.T, env map[string]string, args ...string) (*controllersFlags, error) {
	t.Helper()
	flags := &controllersFlags{}
	set := pflag.NewFlagSet("controllers", pflag.ContinueOnError)
	flags.add(set, func(name string) string { return env[name] })
	return flags, set.Parse(args)
}

func TestControllersDefaults(t *testing.T) {
	flags, err := parseControllersFlags(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := flags.complete()
	if err != nil {
		t.Fatal(err)
	}
	want := controllers.Options{
		MetricsAddr: ":8080", HealthAddr: ":8000", PprofAddr: ":8090",
		Election: controllers.Election{
			Enabled: true, Namespace: "kruise-system", ID: "kruise-manager", ResourceLock: "leases",
			LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
		},
		CacheSyncTimeout:            2 * time.Minute,
		Retries:                     controllers.Retries{BaseDelay: 5 * time.Millisecond, MaxDelay: 1000 * time.Second, QPS: 10, Bucket: 100},
		CloneSet:                    controllers.CloneSet{Workers: 3},
		PodUnavailableBudgetWorkers: 3,
		PolicyAudit:                 controllers.PolicyAudit{Interval: time.Hour, Namespace: "kruise-system"},
		ProbeNamespace:              "kruise-daemon-config",
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(controllers.Options{}, "Gates", "Log")); diff != "" {
		t.Error(diff)
	}
	if !got.Gates.Enabled(features.PodWebhook) || flags.qps != 30 || flags.burst != 50 {
		t.Errorf("PodWebhook %v, qps %v, burst %v", got.Gates.Enabled(features.PodWebhook), flags.qps, flags.burst)
	}
}

func TestControllersEnvironment(t *testing.T) {
	flags, err := parseControllersFlags(t, map[string]string{
		"POD_NAMESPACE": "ours", "KRUISE_DAEMON_CONFIG_NS": "config", "CUSTOM_RESOURCE_ENABLE": "CloneSet",
	})
	if err != nil {
		t.Fatal(err)
	}
	o := flags.options
	if o.Election.Namespace != "ours" || o.ProbeNamespace != "config" || flags.gates.Enabled(features.PodWebhook) {
		t.Errorf("lease in %q, probe in %q, PodWebhook %v", o.Election.Namespace, o.ProbeNamespace, flags.gates.Enabled(features.PodWebhook))
	}
}

// The arguments of an OpenKruise installation, every flag of webhook-server.md §4.
func TestTheArgumentsOfAnOpenKruiseInstallationStart(t *testing.T) {
	args := strings.Fields(`--metrics-addr=:8081 --health-probe-addr=:8001 --pprof-addr=:8091 --enable-pprof=false --allow-privileged=true
		--enable-leader-election --leader-election-namespace=kruise-system --leader-election-id=kruise-manager
		--leader-election-resource-lock=leases --leader-election-lease-duration=15s --leader-election-renew-deadline=10s
		--leader-election-retry-period=2s --namespace=apps --sync-period=0 --rest-config-qps=100 --rest-config-burst=200
		--controller-cache-sync-timeout=1m --webhook-initialize-timeout=60s --default-ttlseconds-for-always-nodeimage=300
		--feature-gates=ImagePullJobGate=true --rate-limiter-base-delay=1ms --rate-limiter-max-delay=10s --rate-limiter-qps=5
		--rate-limiter-bucket-size=7 --expectation-timeout=5m --protection-log-path=/log --disable-no-deepcopy
		--ws-enabled-versioned-status=deployment --nodeimage-creation-delay=30s --assign-bcj-pods-by-scheduler=true
		--assign-pods-by-scheduler=false --cloneset-scaling-exclude-preparing-delete=true --logging-format=json --v=4
		--logtostderr=true --advancedcronjob-workers=1 --broadcastjob-workers=1 --cloneset-workers=1 --crr-workers=1
		--daemonset-workers=1 --imagepulljob-workers=1 --nodeimage-workers=1 --nodepodprobe-workers=1
		--persistentpodstate-workers=1 --podprobemarker-workers=1 --podunavailablebudget-workers=1
		--resourcedistribution-workers=1 --sidecarset-workers=1 --sidecarterminator-workers=1 --statefulset-workers=1
		--uniteddeployment-workers=1 --workloadspread-workers=1`)
	flags, err := parseControllersFlags(t, nil, args...)
	if err != nil {
		t.Fatal(err)
	}
	got, err := flags.complete()
	if err != nil {
		t.Fatal(err)
	}
	if got.PprofAddr != "" || got.Namespace != "apps" || got.Resync != 0 || got.HealthAddr != ":8001" || got.MetricsAddr != ":8081" ||
		got.CacheSyncTimeout != time.Minute || flags.qps != 100 || flags.burst != 200 ||
		got.Retries != (controllers.Retries{BaseDelay: time.Millisecond, MaxDelay: 10 * time.Second, QPS: 5, Bucket: 7}) ||
		got.CloneSet != (controllers.CloneSet{Workers: 1, ExcludePreparingDelete: true}) || !got.Gates.Enabled(features.ImagePullJobGate) {
		t.Errorf("options are %+v", got)
	}
}

func TestControllersMistakesSayWhatToChange(t *testing.T) {
	for flag, want := range map[string]string{
		"--leader-election-resource-lock=configmaps": "use leases",
		"--leader-election-namespace=":               "needs a namespace",
		"--leader-election-id=":                      "needs a namespace and a name",
		"--leader-election-lease-duration=5s":        "must be longer than the renew deadline",
		"--leader-election-retry-period=10s":         "longer than the retry period",
		"--sync-period=soon":                         "must be a duration such as 1h",
		"--sync-period=-1h":                          "must be a duration such as 1h",
		"--rate-limiter-base-delay=0":                "the delay must grow from above 0",
		"--rate-limiter-max-delay=1ms":               "the delay must grow",
		"--rate-limiter-qps=0":                       "would never retry",
		"--rate-limiter-bucket-size=0":               "would never retry",
		"--cloneset-workers=0":                       "must be 1 or more",
		"--policy-audit-interval=10s":                "takes 1m0s at least",
		"--policy-namespace=":                        "and a namespace",
		"--policy-bundles=/there/is/none":            "--policy-bundles must name a list of bundles",
	} {
		flags, err := parseControllersFlags(t, nil, flag)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = flags.complete(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gives %v, want %q in it", flag, err, want)
		}
	}
	// Without an election its flags do not matter.
	flags, err := parseControllersFlags(t, nil, "--enable-leader-election=false", "--leader-election-resource-lock=configmaps")
	if err != nil {
		t.Fatal(err)
	}
	if _, err = flags.complete(); err != nil {
		t.Error(err)
	}
}

func TestControllersFlagsAreDocumented(t *testing.T) {
	command := newControllersCommand(func(string) string { return "" })
	command.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Usage == "" {
			t.Errorf("--%s has no description", f.Name)
		}
	})
}
