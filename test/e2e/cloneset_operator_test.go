//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

const (
	deleteHook  = "example.com/unready-blocker-delete"
	inPlaceHook = "example.com/unready-blocker-inplace"
	newlyMade   = "example.com/newly-create"
)

// registry is a service registry of one's own, and the operator that keeps it by the hooks of Pods, as a user writes both.
type registry struct {
	client    client.Client
	namespace string

	mutex sync.Mutex
	// calls by the Pod's name, in their order.
	calls map[string][]string
	// wrong are calls that came when the Pod was not as the call takes for granted.
	wrong []string
}

// run is the operator's loop.
func (r *registry) run(ctx context.Context) error {
	for ctx.Err() == nil {
		list := &corev1.PodList{}
		if err := r.client.List(ctx, list, client.InNamespace(r.namespace)); err != nil {
			return client.IgnoreNotFound(err)
		}
		for i := range list.Items {
			if err := r.reconcile(ctx, &list.Items[i]); err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	return nil
}

func (r *registry) reconcile(ctx context.Context, pod *corev1.Pod) error {
	state, labels := stateOf(pod), pod.Labels
	switch {
	case state == v1beta1.LifecycleStateNormal && labels[newlyMade] == "true" && isReady(pod):
		r.call("register", pod, "bank.test/web:v1")
		return r.label(ctx, pod, newlyMade, "false")
	case state == v1beta1.LifecycleStatePreparingUpdate && labels[inPlaceHook] == "true":
		r.call("fail over", pod, "bank.test/web:v1")
		return r.label(ctx, pod, inPlaceHook, "false")
	case state == v1beta1.LifecycleStateUpdated && labels[inPlaceHook] == "false" && isReady(pod):
		r.call("register", pod, "bank.test/web:v2")
		return r.label(ctx, pod, inPlaceHook, "true")
	case state == v1beta1.LifecycleStatePreparingDelete && labels[deleteHook] == "true":
		r.call("unregister", pod, "bank.test/web:v2")
		return r.label(ctx, pod, deleteHook, "false")
	}
	return nil
}

// call notes a call for a Pod, which must be serving this image.
func (r *registry) call(what string, pod *corev1.Pod, image string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.calls[pod.Name] = append(r.calls[pod.Name], what)
	status := pod.Status.ContainerStatuses
	if len(status) != 1 || status[0].Image != image || !status[0].Ready || pod.DeletionTimestamp != nil {
		r.wrong = append(r.wrong, fmt.Sprintf("%s of %s, which is to run %s, while its containers are %+v, deleted at %v", what, pod.Name, image, status, pod.DeletionTimestamp))
	}
}

func (r *registry) label(ctx context.Context, pod *corev1.Pod, key, value string) error {
	return r.client.Patch(ctx, pod, client.RawPatch(types.StrategicMergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, key, value)))
}

// histories are the calls of all Pods, sorted.
func (r *registry) histories() []string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	var list []string
	for _, calls := range r.calls {
		list = append(list, strings.Join(calls, ", "))
	}
	slices.Sort(list)
	return list
}

// operatorKeepsARegistry with the article's manifest and its operator: Pods are told to the registry when they are ready,
// taken out before their update, told again after it, and taken out before their deletion.
func operatorKeepsARegistry(w cloneSets) {
	r := &registry{client: w.client, namespace: w.namespace, calls: map[string][]string{}}
	ctx, stop := context.WithCancel(w.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.run(ctx) }()
	w.Cleanup(func() {
		stop()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			w.Errorf("the operator: %v", err)
		}
	})
	const name = "cloneset-lifecycle-demo"
	w.apply(strings.Replace(w.article("corrected/cloneset-lifecycle-containers-in-spec"), "nginx:latest", "bank.test/web:v1", 1))
	w.settled(name, inFull(2))
	w.calls(r, "register", "register")
	before := keptOf(w.pods())

	w.setImage(name, "bank.test/web:v2")
	w.settled(name, inFull(2))
	w.calls(r, "register, fail over, register", "register, fail over, register")
	if diff := cmp.Diff(before, keptOf(w.pods())); diff != "" {
		w.Errorf("Pods are not the same after an update in place (-before +now):\n%s", diff)
	}

	w.kubectl("scale", "clone", name, "--replicas=1")
	w.settled(name, inFull(1))
	w.calls(r, "register, fail over, register", "register, fail over, register, unregister")
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, wrong := range r.wrong {
		w.Error(wrong)
	}
}

// calls waits until the operator has made these, by Pod.
func (w cloneSets) calls(r *registry, want ...string) {
	w.Helper()
	w.until(func() string { return cmp.Diff(want, r.histories()) })
}
