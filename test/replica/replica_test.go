package replica

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fairlead-io/fairlead/test/addresses"
	"github.com/fairlead-io/fairlead/test/inprocess"
	"github.com/fairlead-io/fairlead/webhook/replica"
	"github.com/fairlead-io/fairlead/webhook/table"
)

const (
	secret   = "kruise-webhook-certs"
	crd      = "../../charts/kruise/files/crds/apps.kruise.io_sidecarsets.yaml"
	manifest = `
apiVersion: v1
kind: Namespace
metadata: {name: kruise-system}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: kruise-anchor}
---
apiVersion: apps.kruise.io/v1beta1
kind: SidecarSet
metadata: {name: agents}
spec:
  selector: {matchLabels: {app: web}}
  namespaceSelector: {matchLabels: {team: a}}
  containers: [{name: agent, image: "bank.test/tool:v1"}]
`
)

// world is an API server with the SidecarSet above, and the service that replicas join.
type world struct {
	inprocess.World
	client  *kubernetes.Clientset
	service *service
	started int
	// replicas are all that were started, in their order.
	replicas []*running
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{World: inprocess.NewWorld(t), service: newService(t)}
	var err error
	if w.client, err = w.Client(); err != nil {
		t.Fatal(err)
	}
	w.Define(crd)
	w.Must(manifest, "apply", "-f", "-")
	return w
}

// running is a replica of the service.
type running struct {
	webhooks, health string
	ready            atomic.Bool
	// quit tells it to stop, stop also waits until it has.
	quit, stop func()
}

// start runs a replica, changed by options, and waits until the service sends requests to it.
func (w *world) start(options ...func(*replica.Cluster)) *running {
	w.Helper()
	w.started++
	r := &running{webhooks: addresses.Free(w.T, addresses.Loopback), health: addresses.Free(w.T, addresses.Loopback)}
	run := w.Replica(r.webhooks)
	run.REST, run.Identity, run.HealthAddr = w.RESTConfig(), fmt.Sprintf("replica-%d", w.started), r.health
	run.Table, run.ShutdownDelay = table.Config{Host: w.service.address}, 1500*time.Millisecond
	for _, option := range options {
		option(run)
	}
	ctx, quit := context.WithCancel(w.Context())
	r.quit = quit
	r.stop = w.Part("replica "+run.Identity, func(stopped context.Context) error {
		defer context.AfterFunc(stopped, quit)()
		return run.Run(ctx)
	})
	probing, end := context.WithCancel(w.Context())
	w.Cleanup(end)
	go r.probe(probing)
	w.service.add(r)
	w.replicas = append(w.replicas, r)
	w.Until("replica "+run.Identity+" is ready", r.ready.Load)
	return r
}

// namespace makes a namespace of a team with the account that Pods need, which no controller is here to make.
func (w *world) namespace(name, team string) {
	w.Helper()
	labelled := metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": team}}
	if _, err := w.client.CoreV1().Namespaces().Create(w.Context(), &corev1.Namespace{ObjectMeta: labelled}, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if _, err := w.client.CoreV1().ServiceAccounts(name).Create(w.Context(), account, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
}

// admit says which containers a Pod of app web would have.
func (w *world) admit(namespace string) ([]string, error) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "web-", Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "bank.test/web:v1"}}},
	}
	admitted, err := w.client.CoreV1().Pods(namespace).Create(w.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, c := range admitted.Spec.Containers {
		names = append(names, c.Name)
	}
	return names, nil
}

func (w *world) untilAdmitted(namespace string, want ...string) {
	w.Helper()
	w.Until(fmt.Sprintf("a Pod has the containers %v", want), func() bool {
		got, err := w.admit(namespace)
		return err == nil && slices.Equal(got, want)
	})
}

var injected = []string{"agent", "web"}

func TestReplicasOnAnAPIServer(t *testing.T) {
	if _, err := os.Stat(crd); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	w.namespace("shop", "a")
	w.namespace("other", "b")
	first := w.start()
	w.untilAdmitted("shop", injected...)
	w.untilAdmitted("other", "web")
	w.Run("a new namespace is known at once", func(*testing.T) { newNamespaces(w) })
	w.Run("rolling restarts go unnoticed", func(*testing.T) { rollingRestarts(w, first) })
	w.Run("rules are swapped each second", func(*testing.T) { swappedRules(w) })
	w.Run("SidecarSets are followed", func(*testing.T) { changes(w) })
	w.Run("what concerns no webhook needs no replica", func(*testing.T) { unconcerned(w) })
	w.start()
	w.Run("a Secret that is uninstalled stays away", func(*testing.T) { uninstalledSecret(w) })
	w.Run("what others register is left to them", func(*testing.T) { registeredByOthers(w) })
}

// newNamespaces: the first Pod of a namespace comes before any watch can have told of it.
func newNamespaces(w *world) {
	for i := range 10 {
		name := fmt.Sprintf("new-%d", i)
		w.namespace(name, "a")
		if got, err := w.admit(name); err != nil || !slices.Equal(got, injected) {
			w.Errorf("the first Pod in %s has %v (%v), want %v", name, got, err, injected)
		}
	}
}

// rollingRestarts replaces the replica three times under load.
func rollingRestarts(w *world, old *running) {
	ctx, cancel := context.WithCancel(w.Context())
	var load sync.WaitGroup
	var admitted atomic.Int64
	for range 6 {
		load.Go(func() {
			for ctx.Err() == nil {
				if got, err := w.admit("shop"); err != nil || !slices.Equal(got, injected) {
					w.Errorf("a Pod has %v (%v), want %v", got, err, injected)
				}
				admitted.Add(1)
			}
		})
	}
	for range 3 {
		before := admitted.Load()
		fresh := w.start()
		old.stop()
		old = fresh
		if admitted.Load() == before {
			w.Error("there was no load during a restart")
		}
	}
	cancel()
	load.Wait()
	w.Logf("%d Pods admitted during three restarts", admitted.Load())
}

func changes(w *world) {
	pause := func(paused bool) {
		w.Must("", "patch", "sidecarset", "agents", "--type=merge", "-p",
			fmt.Sprintf(`{"spec":{"injectionStrategy":{"paused":%t}}}`, paused))
	}
	pause(true)
	w.untilAdmitted("shop", "web")
	pause(false)
	w.untilAdmitted("shop", injected...)
	w.Must("", "label", "namespace", "shop", "team=b", "--overwrite")
	w.untilAdmitted("shop", "web")
	w.Must("", "label", "namespace", "shop", "team=a", "--overwrite")
	w.untilAdmitted("shop", injected...)
	w.Must("", "delete", "sidecarset", "agents")
	w.untilAdmitted("shop", "web")
}

// uninstalledSecret: uninstalling tells every replica to stop, and deletes their Secret while they still drain.
func uninstalledSecret(w *world) {
	for _, r := range w.replicas {
		r.quit()
	}
	secrets := w.client.CoreV1().Secrets(table.DefaultNamespace)
	if err := secrets.Delete(w.Context(), secret, metav1.DeleteOptions{}); err != nil {
		w.Fatal(err)
	}
	for _, r := range w.replicas {
		r.stop()
	}
	if _, err := secrets.Get(w.Context(), secret, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		w.Errorf("after the last replica ended the Secret is there, or not to be read: %v", err)
	}
}

// registeredByOthers: a replica that must not register turns ready, and registers nothing although the Lease is free.
func registeredByOthers(w *world) {
	configurations := w.client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	if err := configurations.Delete(w.Context(), table.MutatingName, metav1.DeleteOptions{}); err != nil {
		w.Fatal(err)
	}
	w.start(func(c *replica.Cluster) { c.RegisteredByOthers = true })
	time.Sleep(5 * time.Second) // the Lease is sought every 2 s, and whoever has it registers at once
	if _, err := configurations.Get(w.Context(), table.MutatingName, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		w.Errorf("the configuration is there, or not to be read: %v", err)
	}
}
