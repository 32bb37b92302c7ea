package inprocess

import (
	"context"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/test/installation"
	"github.com/fairlead-io/fairlead/webhook/replica"
)

// The accounts of the chart.
const (
	Webhook = "kruise-webhook"
	Manager = "kruise-manager"
)

// Account is a client configuration with the rights of one of the chart's accounts, and no others.
func (w World) Account(name string) *rest.Config {
	limited := rest.CopyConfig(w.RESTConfig())
	limited.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + installation.Namespace + ":" + name,
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:" + installation.Namespace, "system:authenticated"},
	}
	return limited
}

// Grant makes the chart's accounts, with all rights that the chart gives them with these values, and its namespaces.
func (w World) Grant(values ...string) {
	w.Helper()
	args := make([]string, 0, 5+2*len(values))
	args = append(args, "template", installation.Release, w.Chart(), "--set", "crds.managed=false")
	for _, value := range values {
		args = append(args, "--set", value)
	}
	rendered, err := w.Helm(w.Context(), args...)
	if err != nil {
		w.Fatalf("rendering the chart: %v: %s", err, rendered)
	}
	var rights []string
	for object := range strings.SplitSeq(rendered, "\n---\n") {
		var about metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(object), &about); err != nil {
			w.Fatalf("reading the rendered chart: %v", err)
		}
		switch about.Kind {
		case "Namespace", "ServiceAccount", "Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding":
			rights = append(rights, object)
		}
	}
	w.Must(strings.Join(rights, "\n---\n"), "apply", "--server-side", "--force-conflicts", "-f", "-")
}

// Part runs a part of the product until it is stopped or the test ends. It must not fail.
func (w World) Part(name string, part func(context.Context) error) (stop func()) {
	w.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.Context())) // what a test cleans up may need the part
	ended := make(chan error, 1)
	go func() { ended <- part(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			w.Errorf("%s ended with %v", name, err)
		}
	})
	w.Cleanup(stop)
	return stop
}

// Replica is one of the admission service, for a test to change before it runs it: with the rights of its account and without a
// log, listening at an address, which is not yet where the API server looks.
func (w World) Replica(address string, gates ...string) *replica.Cluster {
	w.Helper()
	on := features.New("")
	for _, gate := range gates {
		if err := on.Set(gate); err != nil {
			w.Fatal(err)
		}
	}
	return &replica.Cluster{
		REST: w.Account(Webhook), Secret: "kruise-webhook-certs", Identity: "replica",
		Options: replica.Options{
			BindAddress: address, MetricsAddr: "0", Gates: on, Log: logr.Discard(), AccessLog: io.Discard, Version: "test",
			ShutdownGrace: 5 * time.Second,
		},
	}
}
