package cloneset

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/api"
	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/controllers"
	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/test/cluster/cluster"
	"github.com/fairlead-io/fairlead/test/installation"
)

// patience is for a busy machine; most of what is waited for comes within a second.
const patience = time.Minute

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard()) // controller-runtime complains of a process that sets none
	os.Exit(m.Run())
}

// world is an API server with the kinds of the chart, and a client of all of them.
type world struct {
	*testing.T
	*cluster.Cluster
	client.Client
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldOn(t, cluster.Options{Level: cluster.LevelAPIServer})
}

func newWorldOn(t *testing.T, o cluster.Options) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, api.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c := cluster.ForTest(t, o)
	fast := c.RESTConfig()
	fast.QPS, fast.Burst = 1000, 1000
	plain, err := client.New(fast, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, Cluster: c, Client: plain}
	w.define("apps.kruise.io_clonesets.yaml")
	return w
}

// define installs kinds of the chart, by a pattern of their files' names.
func (w *world) define(files string) {
	w.Helper()
	w.must(installation.Define(w.Context(), w.Client, files))
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) eventually(state func() string) {
	w.Helper()
	deadline := time.Now().Add(patience)
	for {
		reason := state()
		if reason == "" {
			return
		}
		if time.Now().After(deadline) {
			w.Fatal(reason)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// namespace makes one with the account that Pods need, for one test.
func (w *world) namespace(name string) string {
	w.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: name + "-"}}
	w.must(w.Create(w.Context(), ns))
	w.must(w.Create(w.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "default"}}))
	return ns.Name
}

// run starts the process for the rest of the test.
func (w *world) run(gates string) *recorder {
	w.Helper()
	written, stop := w.start(gates, 0)
	w.Cleanup(stop)
	return written
}

// start starts the process, which looks at everything again after each resync, and tells how to end it.
func (w *world) start(gates string, resync time.Duration) (*recorder, func()) {
	w.Helper()
	written := &recorder{}
	cfg := w.RESTConfig()
	cfg.UserAgent, cfg.QPS, cfg.Burst = "kruise-manager", 300, 300
	cfg.Wrap(written.wrap)
	gateset := features.New("")
	w.must(gateset.Set("PodWebhook=false," + gates))
	ctx, cancel := context.WithCancel(w.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- controllers.Run(ctx, cfg, controllers.Options{
			Gates: gateset, Log: logr.Discard(), MetricsAddr: "0", HealthAddr: "0", CacheSyncTimeout: time.Minute, Resync: resync,
			Retries:  controllers.Retries{BaseDelay: 5 * time.Millisecond, MaxDelay: time.Second, QPS: 10, Bucket: 100},
			CloneSet: controllers.CloneSet{Workers: 3},
		})
	}()
	return written, func() {
		cancel()
		if err := <-ended; err != nil {
			w.Errorf("the controllers ended with %v", err)
		}
	}
}

// runNodes starts the kubelet for the rest of the test.
func (w *world) runNodes() {
	w.Helper()
	binding, err := w.Cluster.Client()
	w.must(err)
	ctx, cancel := context.WithCancel(w.Context())
	var done sync.WaitGroup
	done.Go(func() { (&kubelet{client: w.Client, binding: binding}).run(ctx) })
	w.Cleanup(func() { cancel(); done.Wait() })
}

// apply creates a CloneSet from a manifest.
func (w *world) apply(namespace, manifest string) *v1beta1.CloneSet {
	w.Helper()
	made := &v1beta1.CloneSet{}
	w.must(yaml.UnmarshalStrict([]byte(manifest), made))
	made.Namespace = namespace
	w.must(w.Create(w.Context(), made))
	return made
}

// edit changes a CloneSet as a user does.
func (w *world) edit(of *v1beta1.CloneSet, change func(*v1beta1.CloneSet)) {
	w.Helper()
	current := w.read(of)
	base := current.DeepCopy()
	change(current)
	w.must(w.Patch(w.Context(), current, client.MergeFrom(base)))
}

func (w *world) read(of *v1beta1.CloneSet) *v1beta1.CloneSet {
	w.Helper()
	current := &v1beta1.CloneSet{}
	w.must(w.Get(w.Context(), client.ObjectKeyFromObject(of), current))
	return current
}

// pods are those of the namespace, by name.
func (w *world) pods(namespace string) []corev1.Pod {
	w.Helper()
	list := &corev1.PodList{}
	w.must(w.List(w.Context(), list, client.InNamespace(namespace)))
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return list.Items
}

// settled waits until the status is of this generation and has these counts: replicas, available, updated available.
func (w *world) settled(of *v1beta1.CloneSet, replicas, available, updated int32) {
	w.Helper()
	w.eventually(func() string {
		current := w.read(of)
		s := current.Status
		if s.ObservedGeneration == current.Generation && s.Replicas == replicas && s.AvailableReplicas == available && s.UpdatedAvailableReplicas == updated {
			return ""
		}
		return fmt.Sprintf("at generation %d the status is %+v; want %d replicas, %d available, %d updated", current.Generation, s, replicas, available, updated)
	})
}

// recorder counts the writes that arrived at the API server, by verb and resource; creations of events are not counted.
type recorder struct {
	mu   sync.Mutex
	list []string
}

func (r *recorder) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(req)
		if req.Method != http.MethodGet && !strings.Contains(req.URL.Path, "/events") && err == nil {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.list = append(r.list, fmt.Sprintf("%s %s %d", req.Method, req.URL.Path, response.StatusCode))
		}
		return response, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// all are the writes since the last call, whatever became of them.
func (r *recorder) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.list
	r.list = nil
	return list
}

// in counts the writes to the objects of a namespace since the last call, such as "PATCH pods/status", without
// those that conflicted with someone else's.
func (r *recorder) in(namespace string) map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	counts := map[string]int{}
	for _, line := range r.list {
		fields := strings.Fields(line)
		_, path, ours := strings.Cut(fields[1], "/namespaces/"+namespace+"/")
		if !ours {
			continue
		}
		parts := strings.Split(path, "/")
		what := fields[0] + " " + parts[0]
		if len(parts) > 2 {
			what += "/" + parts[2]
		}
		switch {
		case fields[2] == "409":
			continue // the kubelet was faster; nothing was written
		case fields[2] >= "400":
			what += " " + fields[2]
		}
		counts[what]++
	}
	r.list = nil
	return counts
}
