package conversion

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/controllers"
	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/test/addresses"
	"github.com/fairlead-io/fairlead/test/cluster/cluster"
	"github.com/fairlead-io/fairlead/test/installation"
	"github.com/fairlead-io/fairlead/webhook/replica"
	"github.com/fairlead-io/fairlead/webhook/table"
)

// patience is for what waits for a Lease, which is sought every 2 s, and a busy machine.
const patience = time.Minute

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard()) // controller-runtime complains of a process that sets none
	os.Exit(m.Run())
}

// world is a cluster without nodes: the chart's Pods run in the test's process, with the rights of their accounts.
type world struct {
	*testing.T
	*cluster.Cluster
	client      *kubernetes.Clientset
	dynamic     *dynamic.DynamicClient
	definitions apiextensions.CustomResourceDefinitionInterface
	chart       string
	host        string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	c := cluster.ForTest(t, cluster.Options{Level: cluster.LevelAPIServer, Controllers: true})
	root, err := installation.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, Cluster: c, chart: filepath.Join(root, "charts", "kruise"), host: addresses.Host(t)}
	definitions, e1 := apiextensions.NewForConfig(c.RESTConfig())
	var e2, e3 error
	w.client, e2 = c.Client()
	fast := c.RESTConfig()
	fast.QPS, fast.Burst = 2000, 2000 // for thousands of objects
	w.dynamic, e3 = dynamic.NewForConfig(fast)
	if err := errors.Join(e1, e2, e3); err != nil {
		t.Fatal(err)
	}
	w.definitions = definitions.CustomResourceDefinitions()
	w.clean()
	t.Cleanup(w.clean)
	return w
}

// clean leaves a cluster that other tests can use.
func (w *world) clean() {
	ctx := context.Background()
	_, _ = w.Helm(ctx, "uninstall", installation.Release, "--namespace", "default", "--no-hooks", "--ignore-not-found")
	crds, err := w.definitions.List(ctx, metav1.ListOptions{})
	if err != nil {
		w.Error(err)
		return
	}
	for i := range crds.Items { // a definition goes with its objects, which nobody may be there to convert
		_, _ = w.Kubectl(ctx, "patch", "crd", crds.Items[i].Name, "--type", "merge", "-p", `{"spec":{"conversion":{"strategy":"None","webhook":null}}}`)
	}
	for _, what := range [][]string{
		{"crd", "-l", "app.kubernetes.io/name=kruise"},
		{"mutatingwebhookconfigurations,validatingwebhookconfigurations", "--all"},
		{"endpointslices", "-n", installation.Namespace, "-l", "test=conversion"},
		{"leases", "-n", installation.Namespace, "--all"},
	} {
		if _, err := w.Kubectl(ctx, append([]string{"delete", "--ignore-not-found"}, what...)...); err != nil {
			w.Error(err)
		}
	}
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) kubectl(args ...string) string {
	w.Helper()
	out, err := w.Kubectl(w.Context(), args...)
	w.must(err)
	return strings.TrimSpace(out)
}

func (w *world) apply(text string) {
	w.Helper()
	_, err := w.KubectlInput(w.Context(), strings.NewReader(text), "apply", "-f", "-")
	w.must(err)
}

func (w *world) helm(args ...string) {
	w.Helper()
	_, err := w.Helm(w.Context(), args...)
	w.must(err)
}

// until waits until state says "".
func (w *world) until(what string, state func() string) {
	w.Helper()
	deadline := time.Now().Add(patience)
	last := state()
	for ; last != ""; last = state() {
		if time.Now().After(deadline) {
			w.Fatalf("%s: after %s: %s", what, patience, last)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// chartDefinitions are the chart's, as Helm would install them.
func (w *world) chartDefinitions() []*apiextensionsv1.CustomResourceDefinition {
	w.Helper()
	rendered, err := w.Helm(w.Context(), "template", installation.Release, w.chart, "--show-only", "templates/crds.yaml")
	w.must(err)
	var all []*apiextensionsv1.CustomResourceDefinition
	for document := range strings.SplitSeq(rendered, "\n---\n") {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		w.must(yaml.Unmarshal([]byte(document), crd))
		if crd.Name != "" {
			all = append(all, crd)
		}
	}
	return all
}

// installOldDefinitions makes the cluster one whose objects are stored as v1alpha1, by a release of ours that did not
// know better: nothing is converted.
func (w *world) installOldDefinitions() {
	w.Helper()
	for _, crd := range w.chartDefinitions() {
		for i := range crd.Spec.Versions {
			crd.Spec.Versions[i].Storage = crd.Spec.Versions[i].Name == "v1alpha1"
		}
		crd.Spec.Conversion = nil
		crd.Annotations["meta.helm.sh/release-name"], crd.Annotations["meta.helm.sh/release-namespace"] = installation.Release, "default"
		_, err := w.definitions.Create(w.Context(), crd, metav1.CreateOptions{FieldManager: "helm"})
		w.must(err)
	}
	for _, crd := range w.chartDefinitions() {
		w.until(crd.Name, func() string {
			live := w.definition(crd.Name)
			for _, condition := range live.Status.Conditions {
				if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
					return ""
				}
			}
			return "it is not established"
		})
	}
}

func (w *world) definition(name string) *apiextensionsv1.CustomResourceDefinition {
	w.Helper()
	crd, err := w.definitions.Get(w.Context(), name, metav1.GetOptions{})
	w.must(err)
	return crd
}

// account is a client configuration with the rights of one of the chart's accounts.
func (w *world) account(name string) *rest.Config {
	config := rest.CopyConfig(w.RESTConfig())
	config.QPS, config.Burst = 100, 200
	config.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + installation.Namespace + ":" + name,
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:" + installation.Namespace, "system:authenticated"},
	}
	return config
}

// process is a part of the product that runs in this process.
type process struct {
	name   string
	health string
	stop   func()
	writes *atomic.Int64
}

// run runs a part until the test ends or it is stopped. It must not fail.
func (w *world) run(p *process, part func(context.Context) error) *process {
	w.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- part(ctx) }()
	p.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			w.Errorf("%s ended with %v", p.name, err)
		}
	})
	w.Cleanup(p.stop)
	return p
}

// counting counts requests that change something, but those of elections.
func counting(config *rest.Config, writes *atomic.Int64) {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method != http.MethodGet && !strings.Contains(r.URL.Path, "/leases") && !strings.Contains(r.URL.Path, "/events") && !r.URL.Query().Has("dryRun") {
				writes.Add(1)
			}
			return next.RoundTrip(r)
		})
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// startReplica runs a replica of the admission service, which the Services reach: the one for conversion as soon as it listens,
// the one for admission when it is ready.
func (w *world) startReplica(name string) *process {
	w.Helper()
	address, health := addresses.Free(w, w.host), addresses.Free(w, addresses.Loopback)
	p := &process{name: name, health: health, writes: &atomic.Int64{}}
	config := w.account("kruise-webhook")
	counting(config, p.writes)
	w.run(p, func(ctx context.Context) error {
		return replica.Cluster{
			Options: replica.Options{
				BindAddress: address, MetricsAddr: "0", HealthAddr: health, Gates: features.New(""), Table: table.Config{},
				ShutdownGrace: 10 * time.Second, Log: logr.Discard(), AccessLog: io.Discard, Version: "test",
			},
			REST: config, Secret: "kruise-webhook-certs", Identity: name, ConversionService: "kruise-conversion", PodIP: w.host,
		}.Run(ctx)
	})
	w.until("replica "+name+" listens", func() string {
		if !addresses.Listened(address) {
			return "nobody listens at " + address
		}
		return ""
	})
	w.endpoints("kruise-conversion", name, address)
	w.until("replica "+name+" is ready", p.unready)
	w.endpoints("kruise-admission", name, address)
	return p
}

// endpoints lets a Service reach an address.
func (w *world) endpoints(service, name, address string) {
	w.Helper()
	slice := addresses.Slice(w, service+"-"+name, service, address)
	slice.Labels["test"] = "conversion"
	_, err := w.client.DiscoveryV1().EndpointSlices(installation.Namespace).Create(w.Context(), slice, metav1.CreateOptions{})
	w.must(err)
	// Older API servers look here. Nothing undoes it while the Service stays as it is and no Pod of it has an address.
	w.apply(fmt.Sprintf(`{"apiVersion":"v1","kind":"Endpoints","metadata":{"name":%q,"namespace":%q},"subsets":[{"addresses":[{"ip":%q}],"ports":[{"name":"https","port":%d}]}]}`,
		service, installation.Namespace, slice.Endpoints[0].Addresses[0], *slice.Ports[0].Port))
}

// noEndpoints lets the Services reach nobody.
func (w *world) noEndpoints() {
	w.Helper()
	w.must(w.client.DiscoveryV1().EndpointSlices(installation.Namespace).DeleteCollection(w.Context(), metav1.DeleteOptions{},
		metav1.ListOptions{LabelSelector: "test=conversion"}))
	w.kubectl("delete", "endpoints", "kruise-conversion", "kruise-admission", "-n", installation.Namespace, "--ignore-not-found")
}

// unready says why a process is not ready, "" if it is.
func (p *process) unready() string {
	client := &http.Client{Timeout: 5 * time.Second}
	response, err := client.Get("http://" + p.health + "/readyz?verbose")
	if err != nil {
		return err.Error()
	}
	body, err := io.ReadAll(response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil || response.StatusCode != http.StatusOK {
		return fmt.Sprintf("%s: %v", body, err)
	}
	return ""
}

// startControllers runs the controllers.
func (w *world) startControllers() *process {
	w.Helper()
	p := &process{name: "controllers", health: addresses.Free(w, addresses.Loopback), writes: &atomic.Int64{}}
	config := w.account("kruise-manager")
	counting(config, p.writes)
	return w.run(p, func(ctx context.Context) error {
		return controllers.Run(ctx, config, controllers.Options{
			Gates: features.New(""), Log: logr.Discard(), MetricsAddr: "0", HealthAddr: p.health,
			CloneSet: controllers.CloneSet{Workers: 1},
			Election: controllers.Election{
				Enabled: true, Namespace: installation.Namespace, ID: "kruise-manager", ResourceLock: "leases",
				LeaseDuration: 4 * time.Second, RenewDeadline: 3 * time.Second, RetryPeriod: 500 * time.Millisecond,
			},
			CacheSyncTimeout: time.Minute,
			Retries:          controllers.Retries{BaseDelay: 5 * time.Millisecond, MaxDelay: time.Second, QPS: 10, Bucket: 100},
			ProbeNamespace:   "kruise-daemon-config",
		})
	})
}

// resource is a kind of ours in a version.
func resource(plural, version string) schema.GroupVersionResource {
	group := "apps.kruise.io"
	if plural == "podunavailablebudgets" {
		group = "policy.kruise.io"
	}
	return schema.GroupVersionResource{Group: group, Version: version, Resource: plural}
}

// get reads an object in a version.
func (w *world) get(plural, version, name string) (*unstructured.Unstructured, error) {
	return w.in(plural, version).Get(w.Context(), name, metav1.GetOptions{})
}

// read is get of an object that must be there.
func (w *world) read(plural, version, name string) *unstructured.Unstructured {
	w.Helper()
	object, err := w.get(plural, version, name)
	w.must(err)
	return object
}

func (w *world) in(plural, version string) dynamic.ResourceInterface {
	if plural == "sidecarsets" {
		return w.dynamic.Resource(resource(plural, version))
	}
	return w.dynamic.Resource(resource(plural, version)).Namespace("default")
}

// patch is a merge patch through a version, perhaps of a subresource.
func (w *world) patch(plural, version, name, patch string, subresources ...string) {
	w.Helper()
	_, err := w.in(plural, version).Patch(w.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
	w.must(err)
}

// has checks fields of an object, given as JSON by a dotted path; "" is a field that must not be there.
func (w *world) has(what string, object *unstructured.Unstructured, fields map[string]string) {
	w.Helper()
	for path, want := range fields {
		value, found, err := unstructured.NestedFieldNoCopy(object.Object, strings.Split(path, "/")...)
		got := ""
		if found && err == nil {
			raw, err := json.Marshal(value)
			w.must(err)
			got = string(raw)
		}
		if got != want {
			w.Errorf("%s: %s is %s, want %s", what, path, got, want)
		}
	}
}
