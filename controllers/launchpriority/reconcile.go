package launchpriority

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-io/fairlead/controllers/podevents"
)

const (
	// Name is the controller's name in logs and metrics.
	Name = "launchpriority"
	// workers as in OpenKruise: a reconcile waits for one read and at most two writes.
	workers = 4
	// conflictDelay gives the cache time to see the write that we conflicted with.
	conflictDelay = 200 * time.Millisecond
	// awaitDelay is how often to look whether a ConfigMap that is being deleted is gone; no event would tell.
	awaitDelay = time.Second
)

// errReplaced says that the Pod was deleted and another one has its name.
var errReplaced = errors.New("another Pod has the name now")

// Reconciler opens the barriers of Pods. It has no state, so that events may be lost, doubled or late.
type Reconciler struct {
	pods client.Client
	live client.Client
}

// New makes the reconciler. pods reads from a cache that keeps what Keep takes, and patches Pods. live reads and writes
// ConfigMaps, and reads Pods, past any cache: caching the ConfigMaps of a cluster for the few barriers among them would
// cost more, in memory and in rights, than a read for each event of a Pod that starts.
func New(pods, live client.Client) *Reconciler { return &Reconciler{pods: pods, live: live} }

// AddTo registers the controller with a manager; options gives limits, the number of workers is ours.
func (r *Reconciler) AddTo(mgr manager.Manager, options controller.Options) error {
	return podevents.Controller{Name: Name, Workers: workers, Concerns: mayWait}.AddTo(mgr, options, r)
}

// Reconcile brings the barrier of one Pod as far as its containers are.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	pod := &corev1.Pod{}
	if err := r.pods.Get(ctx, req.NamespacedName, pod); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if isOver(pod) || !hasBarrier(pod) {
		return reconcile.Result{}, nil
	}
	barrier, err := r.barrier(ctx, pod)
	if err != nil {
		return reconcile.Result{}, err
	}
	return r.act(ctx, pod, barrier, plan(pod, barrier))
}

// barrier is the live ConfigMap, nil if there is none.
func (r *Reconciler) barrier(ctx context.Context, pod *corev1.Pod) (*corev1.ConfigMap, error) {
	barrier := &corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: pod.Namespace, Name: configMapName(pod)}
	if err := r.live.Get(ctx, key, barrier); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return nil, nil
		}
		return nil, fmt.Errorf("reading ConfigMap %s: %w", key.Name, err)
	}
	return barrier, nil
}

// act does what was planned: first the key, then the mark, because a mark without the key would strand the Pod, and a
// key without the mark is found by the next look.
func (r *Reconciler) act(ctx context.Context, pod *corev1.Pod, barrier *corev1.ConfigMap, p Plan) (reconcile.Result, error) {
	if p.Write == Await {
		return reconcile.Result{RequeueAfter: awaitDelay}, nil
	}
	err := r.write(ctx, pod, barrier, p)
	if err == nil && p.Complete {
		err = r.complete(ctx, pod)
	}
	if err != nil && changedUnderneath(err) {
		log.FromContext(ctx).V(1).Info("looking again, something changed meanwhile", "reason", err.Error())
		return reconcile.Result{RequeueAfter: conflictDelay}, nil
	}
	if err == nil && p.Write != None {
		log.FromContext(ctx).V(1).Info("opened the barrier", "key", p.Key, "completed", p.Complete)
	}
	return reconcile.Result{}, err
}
