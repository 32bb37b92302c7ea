//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/api"
	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/test/cluster/cluster"
	"github.com/fairlead-io/fairlead/test/inprocess"
)

// cloneSets is the chart on real nodes, seen from one namespace.
type cloneSets struct {
	inprocess.World
	client    client.Client
	namespace string
}

func newCloneSets(t *testing.T, c *cluster.Cluster) cloneSets {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, api.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	log.SetLogger(logr.Discard()) // controller-runtime complains of a process that sets none
	cl, err := client.New(c.RESTConfig(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return cloneSets{World: inprocess.World{T: t, Cluster: c}, client: cl}
}

// in is a namespace of its own for a part of the test, which goes with it. A failed part says what was there.
func (w cloneSets) in(t *testing.T, namespace string) cloneSets {
	t.Helper()
	w.World, w.namespace = w.On(t), namespace
	w.Must("", "create", "namespace", namespace)
	t.Cleanup(func() {
		if t.Failed() {
			state, _ := w.Try("", "-n", namespace, "get", "clonesets,pods,pvc,events", "-o", "wide")
			w.Log(state)
		}
		w.dropFinalizers()
		if _, err := w.Try("", "delete", "namespace", namespace, "--wait=false"); err != nil {
			t.Error(err)
		}
	})
	return w
}

// dropFinalizers lets Pods go that wait for an operator.
func (w cloneSets) dropFinalizers() {
	for _, pod := range strings.Fields(w.Must("", "-n", w.namespace, "get", "pods", "-o", "name")) {
		_, _ = w.Try("", "-n", w.namespace, "patch", pod, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`) // it may be gone
	}
}

// kubectl runs in the namespace, and must not fail.
func (w cloneSets) kubectl(args ...string) string {
	w.Helper()
	return strings.TrimSpace(w.Must("", append([]string{"-n", w.namespace}, args...)...))
}

// exec runs a command of busybox in a Pod. A kubelet may know a container as ready a second before it finds it for this.
func (w cloneSets) exec(pod, container string, command ...string) string {
	w.Helper()
	args := append([]string{"-n", w.namespace, "exec", pod, "-c", container, "--", "/bin/busybox"}, command...)
	var out string
	w.until(func() string {
		var err error
		if out, err = w.Try("", args...); err != nil && strings.Contains(err.Error(), "container not found") {
			return err.Error()
		} else if err != nil {
			w.Fatal(err)
		}
		return ""
	})
	return strings.TrimSpace(out)
}

func (w cloneSets) apply(manifest string) {
	w.Helper()
	w.Must(manifest, "-n", w.namespace, "apply", "-f", "-")
}

// patch merges into a CloneSet, in the stored version.
func (w cloneSets) patch(name, merge string) {
	w.Helper()
	w.kubectl("patch", "clonesets.v1beta1.apps.kruise.io", name, "--type=merge", "-p", merge)
}

// setImage of the first container, as kubectl set image cannot for kinds that it does not know.
func (w cloneSets) setImage(name, image string) {
	w.Helper()
	w.kubectl("patch", "clonesets.v1beta1.apps.kruise.io", name, "--type=json",
		"-p", fmt.Sprintf(`[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":%q}]`, image))
}

func (w cloneSets) read(name string) *v1beta1.CloneSet {
	w.Helper()
	set := &v1beta1.CloneSet{}
	if err := w.client.Get(context.WithoutCancel(w.Context()), client.ObjectKey{Namespace: w.namespace, Name: name}, set); err != nil {
		w.Fatal(err)
	}
	return set
}

// pods are those of the namespace by name, also those that are being deleted.
func (w cloneSets) pods() []corev1.Pod {
	w.Helper()
	list := &corev1.PodList{}
	if err := w.client.List(context.WithoutCancel(w.Context()), list, client.InNamespace(w.namespace)); err != nil {
		w.Fatal(err)
	}
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return list.Items
}

func (w cloneSets) pod(name string) *corev1.Pod {
	w.Helper()
	pod := &corev1.Pod{}
	if err := w.client.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, pod); err != nil {
		w.Fatal(err)
	}
	return pod
}

// until waits, and tells the last reason why it waited in vain.
func (w cloneSets) until(reason func() string) {
	w.Helper()
	// An update in place on a busy machine: the kubelet stops a container, pulls and starts.
	const patience = 3 * time.Minute
	for deadline := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
		why := reason()
		if why == "" {
			return
		}
		if time.Now().After(deadline) {
			w.Fatalf("not within %s: %s", patience, why)
		}
	}
}

// counts are what a status is waited for to say.
type counts struct{ replicas, ready, available, updated int32 }

func countsOf(s v1beta1.CloneSetStatus) counts {
	return counts{s.Replicas, s.ReadyReplicas, s.AvailableReplicas, s.UpdatedReplicas}
}

// settled waits until the status is of the present generation and has the counts, and no other Pod is left.
func (w cloneSets) settled(name string, want counts) {
	w.Helper()
	w.until(func() string {
		set, pods := w.read(name), w.pods()
		if set.Status.ObservedGeneration == set.Generation && countsOf(set.Status) == want && len(pods) == int(want.replicas) {
			return ""
		}
		return fmt.Sprintf("%s at generation %d has %d Pods and status %+v, want %+v", name, set.Generation, len(pods), set.Status, want)
	})
}

func inFull(n int32) counts { return counts{n, n, n, n} }

// restarts by the container's name.
func restarts(pod *corev1.Pod) map[string]int32 {
	all := map[string]int32{}
	for _, c := range pod.Status.ContainerStatuses {
		all[c.Name] = c.RestartCount
	}
	return all
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func stateOf(pod *corev1.Pod) v1beta1.LifecycleStateType {
	return v1beta1.LifecycleStateType(pod.Labels[v1beta1.LifecycleStateLabel])
}
