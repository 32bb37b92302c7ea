package registration

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typed "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/fairlead-io/fairlead/certs"
	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/test/addresses"
	"github.com/fairlead-io/fairlead/test/cluster/cluster"
	"github.com/fairlead-io/fairlead/webhook"
	"github.com/fairlead-io/fairlead/webhook/registration"
	"github.com/fairlead-io/fairlead/webhook/table"
)

const (
	namespace = table.DefaultNamespace
	// patience is for what takes a Lease, which is sought every 2 s, and a busy machine.
	patience = 30 * time.Second
)

// world is a cluster that has the release namespace and nothing else of ours.
type world struct {
	*testing.T
	rest       *rest.Config
	client     *kubernetes.Clientset
	mutating   typed.MutatingWebhookConfigurationInterface
	validating typed.ValidatingWebhookConfigurationInterface
	source     certs.Source
	config     table.Config
	entries    []table.Entry
}

// newWorld leaves the cluster as it found it, so that tests can share one.
func newWorld(t *testing.T, c *cluster.Cluster) *world {
	t.Helper()
	client, err := c.Client()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		T: t, rest: c.RESTConfig(), client: client,
		mutating:   client.AdmissionregistrationV1().MutatingWebhookConfigurations(),
		validating: client.AdmissionregistrationV1().ValidatingWebhookConfigurations(),
		// Two mutating ones, whatever else there is by now, so that the tests know a configuration that no entry is left for.
		entries: slices.DeleteFunc(webhook.Entries(webhook.Deps{Gates: features.New("")}), func(entry table.Entry) bool { return entry.Name != "mpod.kb.io" && entry.Name != "msidecarset.kb.io" }),
	}
	if w.config, err = (table.Config{}).Complete(w.entries); err != nil {
		t.Fatal(err)
	}
	if w.source, err = certs.SelfSigned([]string{w.config.ServerName()}, clock.RealClock{}); err != nil {
		t.Fatal(err)
	}
	_, err = client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	t.Cleanup(w.clean)
	return w
}

func (w *world) clean() {
	ctx, all, gone := context.Background(), metav1.ListOptions{}, metav1.DeleteOptions{}
	for _, err := range []error{
		w.validating.DeleteCollection(ctx, gone, all),
		w.mutating.DeleteCollection(ctx, gone, all),
		w.client.DiscoveryV1().EndpointSlices(namespace).DeleteCollection(ctx, gone, all),
		w.client.CoordinationV1().Leases(namespace).DeleteCollection(ctx, gone, all),
		w.client.CoreV1().Secrets(namespace).DeleteCollection(ctx, gone, all),
	} {
		if err != nil {
			w.Error(err)
		}
	}
}

// anchor makes the chart's anchor.
func (w *world) anchor() {
	w.Helper()
	_, err := w.validating.Create(w.Context(), &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: table.AnchorName},
	}, metav1.CreateOptions{})
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) dropAnchor() {
	if err := w.validating.Delete(context.Background(), table.AnchorName, metav1.DeleteOptions{}); err != nil {
		w.Error(err)
	}
}

// renewNamespace makes the release namespace anew once it is deleted, for which no controller of namespaces may run.
func (w *world) renewNamespace() {
	ctx, namespaces := context.Background(), w.client.CoreV1().Namespaces()
	w.until("the release namespace is new", func() bool {
		there, err := namespaces.Get(ctx, namespace, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			_, err = namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
			return err == nil
		}
		if err == nil && there.DeletionTimestamp != nil {
			there.Spec.Finalizers = nil
			_, _ = namespaces.Finalize(ctx, there, metav1.UpdateOptions{}) // seen at the next turn
			return false
		}
		return err == nil
	})
}

// ready adds a ready replica to the Service, which says that it serves these webhooks.
func (w *world) ready(name string, webhooks ...string) {
	w.Helper()
	served := map[string]string{}
	for _, entry := range w.entries {
		if slices.Contains(webhooks, entry.Name) {
			served[entry.Name] = entry.Path
		}
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(rw).Encode(served)
	}))
	var err error
	// An EndpointSlice may not have loopback addresses.
	if server.Listener, err = net.Listen("tcp", net.JoinHostPort(addresses.Host(w), "0")); err != nil {
		w.Fatal(err)
	}
	server.TLS = &tls.Config{GetCertificate: w.source.GetCertificate}
	server.StartTLS()
	w.Cleanup(server.Close)
	slice := addresses.Slice(w, name, table.DefaultService, server.Listener.Addr().String())
	_, err = w.client.DiscoveryV1().EndpointSlices(namespace).Create(w.Context(), slice, metav1.CreateOptions{})
	if err != nil {
		w.Fatal(err)
	}
}

// running is a registrar of one replica.
type running struct {
	*spy
	registry *prometheus.Registry
	// stop is SIGTERM: nothing more is registered, but the guard stays.
	stop func()
}

// spy counts writes of configurations and lets a test do something just before one.
type spy struct {
	next   http.RoundTripper
	writes atomic.Int64
	before atomic.Pointer[func(*http.Request)]
}

func (s *spy) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodGet && strings.Contains(request.URL.Path, "webhookconfigurations") {
		s.writes.Add(1)
		if before := s.before.Load(); before != nil {
			(*before)(request)
		}
	}
	return s.next.RoundTrip(request)
}

// start runs a replica's registrar until the test ends, and its guard if wanted.
func (w *world) start(identity string, guarded bool) *running {
	w.Helper()
	r := &running{spy: &spy{}, registry: prometheus.NewRegistry()}
	config := rest.CopyConfig(w.rest)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { r.next = next; return r.spy })
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		w.Fatal(err)
	}
	registrar, err := registration.New(registration.Options{
		Client: client, Config: w.config, Entries: w.entries, Certificates: w.source,
		Identity: identity, Clock: clock.RealClock{}, Registerer: r.registry,
	})
	if err != nil {
		w.Fatal(err)
	}
	living, end := context.WithCancel(context.Background())
	serving, stop := context.WithCancel(living)
	r.stop = stop
	var group sync.WaitGroup
	group.Go(func() { w.check(registrar.Run(serving)) })
	if guarded {
		group.Go(func() { w.check(registrar.Guard(living)) })
	}
	w.Cleanup(func() { end(); group.Wait() })
	return r
}

func (w *world) check(err error) {
	if err != nil {
		w.Error(err)
	}
}

// live returns the mutating configuration, or nil.
func (w *world) live() *admissionv1.MutatingWebhookConfiguration {
	w.Helper()
	live, err := w.mutating.Get(context.Background(), table.MutatingName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.Fatal(err)
	}
	return live
}

// registered returns the names of its entries.
func (w *world) registered() string {
	w.Helper()
	live := w.live()
	if live == nil {
		return "nothing"
	}
	var names []string
	for _, entry := range live.Webhooks {
		names = append(names, entry.Name)
	}
	return strings.Join(names, " ")
}

const both = "mpod.kb.io msidecarset.kb.io"

// until waits for a condition and returns how long that took.
func (w *world) until(what string, condition func() bool) time.Duration {
	w.Helper()
	start := time.Now()
	for !condition() {
		if time.Since(start) > patience {
			w.Fatalf("%s: not within %v; registered: %s", what, patience, w.registered())
		}
		time.Sleep(20 * time.Millisecond)
	}
	return time.Since(start)
}

func (w *world) untilRegistered(names string) time.Duration {
	w.Helper()
	return w.until("registered are "+names, func() bool { return w.registered() == names })
}

// count is the value of a metric for the mutating configuration.
func (r *running) count(t *testing.T, name string) float64 {
	t.Helper()
	families, err := r.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() == name && metric.GetLabel()[0].GetValue() == table.MutatingName {
				return metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
			}
		}
	}
	return 0
}
