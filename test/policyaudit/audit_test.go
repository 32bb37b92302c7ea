package policyaudit

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/kubernetes"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fairlead-io/fairlead/controllers/policyaudit"
	"github.com/fairlead-io/fairlead/test/inprocess"
	"github.com/fairlead-io/fairlead/test/installation"
)

const template = `template: {metadata: {labels: {app: %[1]s}}, spec: {containers: [{name: web, image: "bank.test/web%[2]s"}]}}`

func deployment(name, tag string, replicas int) string {
	return fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: %[1]s, namespace: shop}\nspec:\n  replicas: %[3]d\n  selector: {matchLabels: {app: %[1]s}}\n  "+template+"\n", name, tag, replicas)
}

func pod(namespace, name, tag string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: %s, namespace: %s}\nspec: {automountServiceAccountToken: false, containers: [{name: web, image: \"bank.test/web%s\"}]}\n", name, namespace, tag)
}

type world struct {
	inprocess.World
	clock *clocktesting.FakeClock
}

func newWorld(t *testing.T) *world {
	w := &world{World: inprocess.NewWorld(t), clock: clocktesting.NewFakeClock(time.Now())}
	w.Define(w.Chart() + "/files/crds")
	w.Grant(
		"policies.audit.resources[0].group=apps", "policies.audit.resources[0].resource=deployments",
		"policies.inventory[0].group=policy.kruise.io", "policies.inventory[0].resource=podunavailablebudgets",
	)
	for _, namespace := range []string{"shop", "bank"} {
		w.Must("", "create", "namespace", namespace)
	}
	for _, namespace := range []string{"shop", "bank", "kube-system", installation.Namespace} {
		w.Must(fmt.Sprintf("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: default, namespace: %s}\n", namespace), "apply", "-f", "-")
	}
	return w
}

// set makes a ConfigMap of an example, with a change of its settings.
func (w *world) set(name, from, to string) {
	w.Helper()
	folder := w.Chart() + "/../../docs/policies/" + name
	text := w.Must("", "create", "configmap", name, "-n", installation.Namespace, "--from-file="+folder, "--dry-run=client", "-o", "yaml")
	if from != "" && !strings.Contains(text, from) {
		w.Fatalf("%s has no %q", name, from)
	}
	w.Must(strings.Replace(text, from, to, 1), "apply", "--server-side", "--force-conflicts", "-f", "-")
	w.Must("", "label", "configmap", name, "-n", installation.Namespace, "fairlead.io/policy=true", "--overwrite")
}

// run audits with the rights of the controllers' account, in a time that passes fast.
func (w *world) run() {
	w.Helper()
	client, err := kubernetes.NewForConfig(w.Account(inprocess.Manager))
	if err != nil {
		w.Fatal(err)
	}
	w.Part("the audit", policyaudit.New(policyaudit.Options{
		Client: client.CoreV1().RESTClient(), Discovery: client.Discovery(), Namespace: installation.Namespace, Interval: time.Hour,
		Clock: w.clock, Random: func() float64 { return 0 }, Log: logr.Discard(), Registerer: prometheus.NewRegistry(),
	}).Start)
	ticker := time.NewTicker(20 * time.Millisecond)
	done := make(chan struct{})
	w.Cleanup(func() { ticker.Stop(); close(done) })
	go func() {
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				w.clock.Step(30 * time.Second)
			}
		}
	}()
}

// summary is that of a set; nil for none.
func (w *world) summary(name string) (s *policyaudit.Summary) {
	w.Helper()
	var c struct {
		Metadata struct{ Annotations map[string]string }
	}
	if err := json.Unmarshal([]byte(w.Must("", "get", "configmap", name, "-n", installation.Namespace, "-o", "json")), &c); err != nil {
		w.Fatal(err)
	}
	if text := c.Metadata.Annotations[policyaudit.Annotation]; text != "" {
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			w.Fatal(err)
		}
	}
	return s
}

// found waits until a summary names these objects, as action kind namespace/name.
func (w *world) found(set string, want ...string) *policyaudit.Summary {
	w.Helper()
	var last *policyaudit.Summary
	var got []string
	w.Until(fmt.Sprintf("the audit of %s finds %v", set, want), func() bool {
		if last = w.summary(set); last == nil {
			return false
		}
		got = nil
		for _, e := range last.First {
			got = append(got, fmt.Sprintf("%s %s %s/%s", e.Action, e.Kind, e.Namespace, e.Name))
		}
		slices.Sort(got)
		return slices.Equal(got, want) && last.Violations == len(want)
	})
	return last
}

func TestAudit(t *testing.T) {
	w := newWorld(t)
	w.Must(strings.Join([]string{
		deployment("good", ":1.0", 1), deployment("bad", "", 3), pod("shop", "latest", ":latest"), pod("bank", "latest", ""), pod("bank", "fine", ":2"),
		pod("kube-system", "own", ""), pod(installation.Namespace, "own", ""),
	}, "---\n"), "apply", "-f", "-")
	w.set("no-latest-tag", "", "")
	w.run()

	t.Run("what breaks rules is found, and what may not be listed is said", func(t *testing.T) {
		s := w.found("no-latest-tag", "deny Deployment shop/bad", "deny Pod bank/latest", "deny Pod shop/latest")
		if s.Scanned != 5 || !slices.Contains(s.NotScanned, "jobs.batch: may not be listed: see policies.audit.resources of the chart") ||
			slices.ContainsFunc(s.NotScanned, func(text string) bool {
				return strings.HasPrefix(text, "deployments.apps:") || strings.HasPrefix(text, "pods:")
			}) {
			t.Errorf("%+v", s)
		}
		want := policyaudit.Example{
			Kind: "Deployment", Namespace: "shop", Name: "bad", Rule: "no-latest-tag", Action: "deny", Field: "spec.template.spec.containers[0].image",
			Message: `the image "bank.test/web" has the tag latest, which means another image tomorrow: give it a version or a digest`,
		}
		i := slices.IndexFunc(s.First, func(e policyaudit.Example) bool { return e.Kind == "Deployment" })
		if diff := cmp.Diff(want, s.First[i]); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("what is found again is not written again", func(t *testing.T) {
		version := func() string {
			return w.Must("", "get", "configmap", "no-latest-tag", "-n", installation.Namespace, "-o", "jsonpath={.metadata.resourceVersion}")
		}
		before, now := version(), w.clock.Now()
		w.Until("two more audits", func() bool { return w.clock.Since(now) > 3*time.Hour })
		if after := version(); after != before {
			t.Errorf("version %s, and %s before", after, before)
		}
	})
	t.Run("what is mended is found no more", func(t *testing.T) {
		w.Must(deployment("bad", ":1.1", 3), "apply", "-f", "-")
		w.Must("", "delete", "pod", "latest", "-n", "shop", "--force", "--grace-period=0")
		w.found("no-latest-tag", "deny Pod bank/latest")
	})
	t.Run("settings count", func(t *testing.T) {
		w.Must("", "label", "namespace", "bank", "env=test")
		w.set("no-latest-tag", "    enforcement: deny", "    enforcement: warn\n    exemptions: [{namespaces: [shop]}]")
		w.found("no-latest-tag", "warn Pod bank/latest")
		w.set("no-latest-tag", "    enforcement: deny", "    enforcement: warn\n    namespaceSelector: {matchLabels: {env: prod}}")
		w.found("no-latest-tag")
	})
	t.Run("a rule sees its inventory", func(t *testing.T) {
		w.set("budget-required", "", "")
		w.found("budget-required", "warn Deployment shop/bad")
		w.Must("apiVersion: policy.kruise.io/v1beta1\nkind: PodUnavailableBudget\nmetadata: {name: bad, namespace: shop}\n"+
			"spec: {selector: {matchLabels: {app: bad}}, maxUnavailable: 1}\n", "apply", "-f", "-")
		if s := w.found("budget-required"); len(s.NotAsked) != 0 {
			t.Errorf("%+v", s)
		}
	})
	t.Run("a set that wants no audit has no summary", func(t *testing.T) {
		w.set("budget-required", "    enforcement: warn", "    enforcement: warn\n    audit: false")
		w.Until("the summary is gone", func() bool { return w.summary("budget-required") == nil })
	})
}
