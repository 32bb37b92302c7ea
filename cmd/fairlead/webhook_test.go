package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/webhook/table"
)

// parsed is what arguments and environment mean to `fairlead webhook`.
func parsed(t *testing.T, env map[string]string, args ...string) (*webhookFlags, error) {
	t.Helper()
	getenv := func(name string) string { return env[name] }
	flags := &webhookFlags{}
	set := pflag.NewFlagSet("webhook", pflag.ContinueOnError)
	flags.add(set, getenv)
	if err := set.Parse(args); err != nil {
		return nil, err
	}
	return flags, flags.complete(set, getenv)
}

func TestWebhookAddresses(t *testing.T) {
	type addresses struct {
		Bind, Metrics, Health string
		Delay, Grace          time.Duration
	}
	for name, tt := range map[string]struct {
		env  map[string]string
		args []string
		want addresses
	}{
		"in a cluster": {nil, nil, addresses{":9876", ":8080", ":8000", 10 * time.Second, 5 * time.Second}},
		"with the port of the chart": {
			map[string]string{"WEBHOOK_PORT": "9443"}, []string{"--shutdown-delay=15s", "--webhook-timeout-seconds=8"},
			addresses{":9443", ":8080", ":8000", 15 * time.Second, 8 * time.Second},
		},
		"an address beats the port": {
			map[string]string{"WEBHOOK_PORT": "9443"}, []string{"--bind-address=127.0.0.1:1"},
			addresses{"127.0.0.1:1", ":8080", ":8000", 10 * time.Second, 5 * time.Second},
		},
		"alone":          {nil, []string{"--standalone"}, addresses{"127.0.0.1:9443", "", "", 0, 5 * time.Second}},
		"alone, as told": {nil, []string{"--standalone", "--bind-address=:1", "--metrics-addr=:2", "--health-probe-addr=:3", "--shutdown-delay=4s"}, addresses{":1", ":2", ":3", 4 * time.Second, 5 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			flags, err := parsed(t, tt.env, tt.args...)
			if err != nil {
				t.Fatal(err)
			}
			o := flags.options
			got := addresses{o.BindAddress, o.MetricsAddr, o.HealthAddr, o.ShutdownDelay, o.ShutdownGrace}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWebhookTable(t *testing.T) {
	flags, err := parsed(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := table.Config{
		Namespace: "kruise-system", Service: "kruise-admission", TimeoutSeconds: 5,
		FailurePolicies: map[string]admissionv1.FailurePolicyType{},
	}
	if diff := cmp.Diff(want, flags.options.Table); diff != "" {
		t.Error(diff)
	}
	flags, err = parsed(t,
		map[string]string{"POD_NAMESPACE": "ops", "SERVICE_NAME": "hooks", "WEBHOOK_HOST": "box.example.com", "WEBHOOK_PORT": "9443"},
		"--webhook-timeout-seconds=30", "--webhook-failure-policies=mpod.kb.io=Ignore,vpod.kb.io=Fail", "--aks-integration")
	if err != nil {
		t.Fatal(err)
	}
	want = table.Config{
		Namespace: "ops", Service: "hooks", Host: "box.example.com:9443", TimeoutSeconds: 30, AKSIntegration: true,
		FailurePolicies: map[string]admissionv1.FailurePolicyType{"mpod.kb.io": "Ignore", "vpod.kb.io": "Fail"},
	}
	if diff := cmp.Diff(want, flags.options.Table); diff != "" {
		t.Error(diff)
	}
}

// apiServer is a kubeconfig by which nobody is reached.
const apiServer = `{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}],
contexts: [{name: c, context: {cluster: c, user: ""}}]}`

func TestWebhooksAreRegisteredUnlessToldOtherwise(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte(apiServer), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", kubeconfig)
	for arg, byOthers := range map[string]bool{"--v=0": false, "--register": false, "--register=false": true} {
		flags, err := parsed(t, nil, arg)
		if err != nil {
			t.Fatal(err)
		}
		got, err := flags.inCluster(func(string) string { return "" })
		if err != nil {
			t.Fatal(err)
		}
		if got.RegisteredByOthers != byOthers {
			t.Errorf("with %s others register: %v, want %v", arg, got.RegisteredByOthers, byOthers)
		}
	}
}

func TestWebhookFlagsOfTheReference(t *testing.T) {
	flags, err := parsed(t, map[string]string{"CUSTOM_RESOURCE_ENABLE": "CloneSet"},
		"--rest-config-qps=7", "--rest-config-burst=9", "--feature-gates=ImagePullJobGate=true", "--logging-format=json", "--v=4", "--logtostderr=true")
	if err != nil {
		t.Fatal(err)
	}
	if flags.qps != 7 || flags.burst != 9 {
		t.Errorf("qps %v, burst %d", flags.qps, flags.burst)
	}
	if gates := flags.options.Gates; !gates.Enabled(features.ImagePullJobGate) || gates.Enabled(features.PodWebhook) {
		t.Errorf("gates %s", gates)
	}
	if flags, err = parsed(t, nil, "--kube-api-qps=70", "--kube-api-burst=90"); err != nil || flags.qps != 70 || flags.burst != 90 {
		t.Errorf("qps %v, burst %d, error %v", flags.qps, flags.burst, err)
	}
}

func TestWebhookMistakes(t *testing.T) {
	for args, want := range map[string]string{
		"webhook --objects=x":      "add --standalone",
		"webhook --tls-cert-out=x": "add --standalone",
		"webhook --standalone":     "--objects must name a directory",
		"webhook --standalone --objects=/does/not/exist --bind-address=:0": "/does/not/exist",
		"webhook --feature-gates=podWebhook=true":                          "did you mean PodWebhook?",
		"webhook --logging-format=xml":                                     "use text or json",
		"webhook --standalone extra":                                       "unknown command \"extra\"",
		"webhok":                                                           "unknown command \"webhok\"",
	} {
		var out bytes.Buffer
		err := execute(newRootCommand("fairlead", func(string) string { return "" }), &out, strings.Fields(args)...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("fairlead %s gives %v, want %q in it", args, err, want)
		}
	}
}

func TestVersion(t *testing.T) {
	var out bytes.Buffer
	if err := execute(newRootCommand("fairlead", func(string) string { return "" }), &out, "version"); err != nil || !strings.HasPrefix(out.String(), "fairlead ") {
		t.Errorf("%v: %s", err, out.String())
	}
}

func execute(root *cobra.Command, out *bytes.Buffer, args ...string) error {
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(out)
	return root.Execute()
}
