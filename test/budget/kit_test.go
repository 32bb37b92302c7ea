package budget

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api"
	policyv1beta1 "github.com/fairlead-io/fairlead/api/policy/v1beta1"
	"github.com/fairlead-io/fairlead/controllers"
	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/test/addresses"
	"github.com/fairlead-io/fairlead/test/cluster/cluster"
	"github.com/fairlead-io/fairlead/test/installation"
	"github.com/fairlead-io/fairlead/webhook/replica"
	"github.com/fairlead-io/fairlead/webhook/table"
)

const (
	// gates lets budgets judge updates too.
	gates = "PodUnavailableBudgetUpdateGate=true"
	// patience is for what takes a Lease, and a busy machine.
	patience = 2 * time.Minute
	replicas = 3
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard()) // controller-runtime complains of a process that sets none
	os.Exit(m.Run())
}

// world is an API server with the service and the controllers.
type world struct {
	*testing.T
	*cluster.Cluster
	client.Client
	namespace string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := newAPI(t)
	w.define("apps.kruise.io_sidecarsets.yaml")
	w.ensure(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: table.DefaultNamespace}})
	w.must(w.command("apply", "-f", "-"))
	w.serve()
	w.control()
	return w
}

// newAPI is an API server with budgets, and nobody who serves them.
func newAPI(t *testing.T) *world {
	t.Helper()
	c := cluster.ForTest(t, cluster.Options{Level: cluster.LevelAPIServer})
	scheme := runtime.NewScheme()
	w := &world{T: t, Cluster: c, namespace: fmt.Sprintf("shop-%d", time.Now().UnixNano())}
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, api.AddToScheme} {
		w.must(add(scheme))
	}
	config := c.RESTConfig()
	config.QPS = -1
	var err error
	w.Client, err = client.New(config, client.Options{Scheme: scheme})
	w.must(err)
	w.define("policy.kruise.io_podunavailablebudgets.yaml")
	w.ensure(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}})
	w.ensure(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "default"}})
	return w
}

// command applies the anchor, without which the service registers nothing.
func (w *world) command(args ...string) error {
	const anchor = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: kruise-anchor}\n"
	out, err := w.KubectlInput(w.Context(), strings.NewReader(anchor), args...)
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) ensure(object client.Object) {
	w.Helper()
	if err := w.Create(w.Context(), object); !apierrors.IsAlreadyExists(err) {
		w.must(err)
	}
}

// define installs kinds of the chart, by a pattern of their files' names.
func (w *world) define(files string) {
	w.Helper()
	w.must(installation.Define(w.Context(), w.Client, files))
}

func (w *world) eventually(state func() string) {
	w.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		reason := state()
		if reason == "" {
			return
		}
		if time.Now().After(deadline) {
			w.Fatal(reason)
		}
	}
}

// serve starts the replicas behind one address, which sends each connection to the next of them.
func (w *world) serve() {
	w.Helper()
	front, err := net.Listen("tcp", "127.0.0.1:0")
	w.must(err)
	w.Cleanup(func() { _ = front.Close() })
	backends, healths := make([]string, replicas), make([]string, replicas)
	for i := range replicas {
		backends[i], healths[i] = addresses.Free(w.T, addresses.Loopback), addresses.Free(w.T, addresses.Loopback)
		run := replica.Cluster{
			REST: w.RESTConfig(), Secret: "kruise-webhook-certs", Identity: fmt.Sprintf("replica-%d", i),
			Options: replica.Options{
				BindAddress: backends[i], HealthAddr: healths[i], Gates: w.gates(), Log: logr.Discard(), AccessLog: io.Discard,
				Table: table.Config{Host: front.Addr().String()}, ShutdownDelay: 100 * time.Millisecond, ShutdownGrace: 5 * time.Second,
			},
		}
		w.background("replica", run.Run)
	}
	go balance(front, backends)
	for _, health := range healths {
		w.eventually(func() string {
			response, err := (&http.Client{Timeout: 5 * time.Second}).Get("http://" + health + "/readyz")
			if err != nil {
				return err.Error()
			}
			defer func() { _ = response.Body.Close() }()
			if body, _ := io.ReadAll(response.Body); response.StatusCode != http.StatusOK {
				return string(body)
			}
			return ""
		})
	}
}

func (w *world) gates() *features.Gates {
	set := features.New("")
	w.must(set.Set(gates))
	return set
}

// background runs something until the test ends.
func (w *world) background(what string, run func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	w.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			w.Errorf("%s: %v", what, err)
		}
	})
}

func balance(front net.Listener, backends []string) {
	var next atomic.Int64
	for {
		conn, err := front.Accept()
		if err != nil {
			return
		}
		backend := backends[next.Add(1)%int64(len(backends))]
		go func() {
			defer func() { _ = conn.Close() }()
			other, err := net.Dial("tcp", backend)
			if err != nil {
				return
			}
			defer func() { _ = other.Close() }()
			var pipes sync.WaitGroup
			for _, pipe := range [][2]net.Conn{{conn, other}, {other, conn}} {
				pipes.Go(func() {
					_, _ = io.Copy(pipe[0], pipe[1])
					_, _ = pipe[0].Close(), pipe[1].Close()
				})
			}
			pipes.Wait()
		}()
	}
}

func (w *world) control() {
	config := w.RESTConfig()
	config.QPS = -1
	w.background("controllers", func(ctx context.Context) error {
		return controllers.Run(ctx, config, controllers.Options{
			Gates: w.gates(), Log: logr.Discard(), MetricsAddr: "0", HealthAddr: "0", CacheSyncTimeout: time.Minute,
			Retries:  controllers.Retries{BaseDelay: 5 * time.Millisecond, MaxDelay: time.Second, QPS: 10, Bucket: 100},
			CloneSet: controllers.CloneSet{Workers: 1}, ProbeNamespace: w.namespace, Namespace: w.namespace,
		})
	})
}

// deploy makes a Deployment with Pods that are ready, as no controller or kubelet is here to make them.
func (w *world) deploy(name string, pods int) {
	w.Helper()
	labels := map[string]string{"app": name}
	meta := metav1.ObjectMeta{Namespace: w.namespace, Name: name}
	spec := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podSpec()}
	deployment := &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
		Replicas: ptr.To(int32(pods)), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: spec,
	}}
	w.must(w.Create(w.Context(), deployment))
	set := &appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: spec}}
	set.Name += "-5d4"
	set.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(deployment, appsv1.SchemeGroupVersion.WithKind("Deployment"))}
	w.must(w.Create(w.Context(), set))
	for i := range pods {
		w.pod(set, fmt.Sprintf("%s-%d", name, i))
	}
}

func podSpec() corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{
		Name: "web", Image: "bank.test/web:v1", Resources: corev1.ResourceRequirements{Requests: cpu("100m")},
	}}}
}

// cpu is there from the start, as no resize may change how well a Pod is served.
func cpu(value string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(value)}
}

// pod makes one of a ReplicaSet and has it ready.
func (w *world) pod(set *appsv1.ReplicaSet, name string) {
	w.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: set.Spec.Template.Labels}, Spec: podSpec()}
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}
	w.must(w.Create(w.Context(), pod))
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
	w.must(w.Status().Update(w.Context(), pod))
}

// replace makes those of so many Pods anew that are gone.
func (w *world) replace(name string, pods int) {
	w.Helper()
	set := &appsv1.ReplicaSet{}
	w.must(w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name + "-5d4"}, set))
	for i := range pods {
		pod := fmt.Sprintf("%s-%d", name, i)
		if err := w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: pod}, &corev1.Pod{}); apierrors.IsNotFound(err) {
			w.pod(set, pod)
		} else {
			w.must(err)
		}
	}
}

func (w *world) status(name string) policyv1beta1.PodUnavailableBudgetStatus {
	w.Helper()
	budget := &policyv1beta1.PodUnavailableBudget{}
	w.must(w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, budget))
	if budget.Status.ObservedGeneration != budget.Generation {
		return policyv1beta1.PodUnavailableBudgetStatus{UnavailableAllowed: -1}
	}
	return budget.Status
}

// allows waits until so many may go, and every Pod knows its budget.
func (w *world) allows(name string, allowed int32) {
	w.Helper()
	w.eventually(func() string {
		if s := w.status(name); s.UnavailableAllowed != allowed {
			return fmt.Sprintf("the budget says %+v, want %d allowed", s, allowed)
		}
		list := &corev1.PodList{}
		w.must(w.List(w.Context(), list, client.InNamespace(w.namespace), client.MatchingLabels{"app": name}))
		for i := range list.Items {
			if a := list.Items[i].Annotations; a["pub.kruise.io/related-pub"] != name || a["kruise.io/related-pub"] != name {
				return fmt.Sprintf("Pod %s has annotations %v", list.Items[i].Name, a)
			}
		}
		return ""
	})
}
