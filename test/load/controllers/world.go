package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api"
	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/test/cluster/cluster"
	"github.com/fairlead-io/fairlead/test/installation"
)

const (
	// podsPerNode is below the 250 that a node has room for, so that the scheduler always finds one.
	podsPerNode = 200
	// patience is for the slowest step, thousands of Pods on a busy machine.
	patience = 30 * time.Minute
	// pollInterval is how often to look for what has no event.
	pollInterval = 500 * time.Millisecond
)

// world is a cluster of pretended nodes with the controllers beside it.
type world struct {
	options
	*cluster.Cluster
	client.Client
	core        *kubernetes.Clientset
	dir         string
	audit       *auditLog
	controllers *controllers
}

func newWorld(ctx context.Context, o options) (*world, error) {
	dir, err := os.MkdirTemp("", "bench-controllers")
	if err != nil {
		return nil, err
	}
	w := &world{options: o, dir: dir, audit: &auditLog{path: filepath.Join(dir, "audit.log")}}
	policy := filepath.Join(dir, "audit-policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return nil, err
	}
	most := max(o.pods, o.large, 2*o.raced)
	w.Cluster, err = cluster.Start(ctx, cluster.Options{
		Name: "bench-controllers", Level: cluster.LevelKwok, Nodes: most/podsPerNode + 1, Log: os.Stderr,
		ExtraArgs: map[string][]string{
			cluster.APIServer: {"--audit-policy-file=" + policy, "--audit-log-path=" + w.audit.path, "--audit-log-maxsize=10000"},
			cluster.ControllerManager: {
				fmt.Sprintf("--kube-api-qps=%d", o.qps), fmt.Sprintf("--kube-api-burst=%d", o.burst),
			},
		},
	})
	if err != nil {
		return nil, err
	}
	if err := w.prepare(ctx); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

func (w *world) prepare(ctx context.Context) error {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, api.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	var err error
	if w.Client, err = client.New(w.RESTConfig(), client.Options{Scheme: scheme}); err != nil {
		return err
	}
	// What follows the Pods takes of the two cores that are measured: less in the form that the controllers too ask for.
	compact := rest.CopyConfig(w.RESTConfig())
	compact.ContentType = runtime.ContentTypeProtobuf
	if w.core, err = kubernetes.NewForConfig(compact); err != nil {
		return err
	}
	if err := installation.Define(ctx, w.Client, "*.yaml"); err != nil {
		return err
	}
	w.controllers, err = startControllers(ctx, w)
	return err
}

func (w *world) close() {
	if w.controllers != nil {
		w.controllers.Stop()
	}
	if err := w.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stopping the cluster:", err)
	}
	_ = os.RemoveAll(w.dir)
}

// eventually polls until check returns nil.
func eventually(ctx context.Context, what string, check func() error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := check()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting until %s: %w", what, err)
		case <-time.After(pollInterval):
		}
	}
}

// namespace makes one with the account that Pods need.
func (w *world) namespace(ctx context.Context, name string) error {
	if err := w.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
		return err
	}
	return eventually(ctx, "namespace "+name+" has its account", func() error {
		_, err := w.core.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

// remove takes a namespace away with all in it: first what makes Pods, then the Pods.
func (w *world) remove(ctx context.Context, name string) error {
	for _, kind := range []client.Object{&v1beta1.CloneSet{}, &appsv1.Deployment{}, &appsv1.ReplicaSet{}, &corev1.Pod{}} {
		// Thousands may take longer than a request: then the next one goes on.
		err := eventually(ctx, "namespace "+name+" is empty", func() error {
			return w.DeleteAllOf(ctx, kind, client.InNamespace(name), client.GracePeriodSeconds(0),
				client.PropagationPolicy(metav1.DeletePropagationBackground))
		})
		if err != nil {
			return err
		}
	}
	if err := client.IgnoreNotFound(w.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})); err != nil {
		return err
	}
	return eventually(ctx, "namespace "+name+" is gone", func() error {
		err := w.Get(ctx, client.ObjectKey{Name: name}, &corev1.Namespace{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is still there (%w)", err)
	})
}

// in runs do in a namespace of its own.
func (w *world) in(ctx context.Context, namespace string, do func() error) error {
	if err := w.namespace(ctx, namespace); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	return w.remove(ctx, namespace)
}
