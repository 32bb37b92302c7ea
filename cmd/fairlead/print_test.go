package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/certs"
)

// printed runs `fairlead webhook print`.
func printed(stdin []byte, args ...string) (string, error) {
	var out bytes.Buffer
	command := newPrintCommand(func(string) string { return "" })
	command.SetArgs(args)
	command.SetIn(bytes.NewReader(stdin))
	command.SetOut(&out)
	command.SetErr(&out)
	err := command.Execute()
	return out.String(), err
}

func caBundle(t *testing.T) []byte {
	t.Helper()
	source, err := certs.SelfSigned([]string{"localhost"}, clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	return source.Bundle()
}

func TestPrintWritesTheConfigurationThatWouldBeRegistered(t *testing.T) {
	bundle := caBundle(t)
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, bundle, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{"file": {file}, "standard input": {"-"}} {
		out, err := printed(bundle, append([]string{
			"--namespace=policies", "--webhook-timeout-seconds=7", "--webhook-failure-policies=mpod.kb.io=Ignore",
			"--annotations=a=b", "--ca-bundle-file",
		}, args...)...)
		if err != nil {
			t.Fatal(err)
		}
		mutating, _, _ := strings.Cut(strings.TrimPrefix(out, "---\n"), "---\n")
		var got admissionv1.MutatingWebhookConfiguration
		if err := yaml.UnmarshalStrict([]byte(mutating), &got); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		pods := got.Webhooks[0]
		if got.Name != "kruise-mutating-webhook-configuration" || got.Kind != "MutatingWebhookConfiguration" || got.Annotations["a"] != "b" {
			t.Errorf("%s: metadata of %s %s: %v", name, got.Kind, got.Name, got.Annotations)
		}
		if pods.Name != "mpod.kb.io" || *pods.TimeoutSeconds != 7 || *pods.FailurePolicy != "Ignore" || !bytes.Equal(pods.ClientConfig.CABundle, bundle) {
			t.Errorf("%s: webhook %+v", name, pods)
		}
		if diff := cmp.Diff([]string{"kube-system", "policies"}, pods.NamespaceSelector.MatchExpressions[0].Values); diff != "" {
			t.Errorf("%s: namespaces left out:\n%s", name, diff)
		}
	}
}

func TestPrintFollowsFeatureGatesAndLeavesTheBundleToAnInjector(t *testing.T) {
	out, err := printed(nil, "--feature-gates=PodWebhook=false", "--annotations=cert-manager.io/inject-ca-from=kruise-system/webhook")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out, "mpod.kb.io") || strings.Contains(out, "caBundle") || !strings.Contains(out, "msidecarset.kb.io") {
		t.Errorf("printed:\n%s", out)
	}
}

func TestPrintRefusesWhatCannotWork(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no such file":    {[]string{"--ca-bundle-file=/does/not/exist"}, "reading the CA bundle: open /does/not/exist"},
		"not a CA":        {[]string{"--ca-bundle-file=-"}, "--ca-bundle-file must name PEM certificates"},
		"timeout":         {[]string{"--webhook-timeout-seconds=60"}, "60 s is not between 1 and 30 s"},
		"unknown webhook": {[]string{"--webhook-failure-policies=pods=Ignore"}, `there is no webhook "pods"`},
	} {
		if _, err := printed([]byte("rubbish"), c.args...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}
