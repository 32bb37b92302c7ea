package kwok

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/kubernetes"

	"github.com/fairlead-io/fairlead/test/cluster/cluster"
)

// world is a cluster with fake nodes and a namespace of the test in it.
type world struct {
	*testing.T
	cluster   *cluster.Cluster
	client    *kubernetes.Clientset
	namespace string
}

// soon is for what takes seconds on an idle machine and longer on a busy one.
const soon = 3 * time.Minute

func newWorld(t *testing.T, nodes int) *world {
	t.Helper()
	c := cluster.ForTest(t, cluster.Options{Level: cluster.LevelKwok, Nodes: nodes})
	client, err := c.Client()
	if err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "kwok-"}}
	namespace, err = client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, cluster: c, client: client, namespace: namespace.Name}
	w.eventually("the service account default", func() error {
		_, err := client.CoreV1().ServiceAccounts(w.namespace).Get(t.Context(), "default", metav1.GetOptions{})
		return err
	})
	return w
}

// needs skips the test on a Kubernetes before the release from which on something is so.
func (w *world) needs(release, what string) {
	w.Helper()
	if version.MustParseSemantic(w.cluster.KubernetesVersion()).LessThan(version.MustParseSemantic(release)) {
		w.Skipf("%s from Kubernetes %s on", what, release)
	}
}

// eventually polls check until it returns nil.
func (w *world) eventually(what string, check func() error) {
	w.Helper()
	var last error
	for deadline := time.Now().Add(soon); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		if last = check(); last == nil {
			return
		}
	}
	w.Fatalf("%s: %v", what, last)
}

// pod is a Pod with a container for each image.
func pod(name string, images ...string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for i, image := range images {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: fmt.Sprintf("c%d", i), Image: image})
	}
	return p
}

func (w *world) create(p *corev1.Pod) {
	w.Helper()
	if _, err := w.client.CoreV1().Pods(w.namespace).Create(w.Context(), p, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
}

// patch changes a Pod, or a subresource of it, by a strategic merge patch.
func (w *world) patch(name, patch string, subresource ...string) {
	w.Helper()
	_, err := w.client.CoreV1().Pods(w.namespace).Patch(w.Context(), name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, subresource...)
	if err != nil {
		w.Fatal(err)
	}
}

// await waits until a Pod is as check wants it, and returns it.
func (w *world) await(name, what string, check func(*corev1.Pod) bool) *corev1.Pod {
	w.Helper()
	var got *corev1.Pod
	w.eventually(name+" is "+what, func() (err error) {
		got, err = w.client.CoreV1().Pods(w.namespace).Get(w.Context(), name, metav1.GetOptions{})
		if err == nil && !check(got) {
			err = fmt.Errorf("its status is %+v", got.Status)
		}
		return err
	})
	return got
}

// condition is a condition of a Pod, empty if it has none of the type.
func condition(p *corev1.Pod, kind corev1.PodConditionType) corev1.PodCondition {
	for _, c := range p.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return corev1.PodCondition{}
}

func ready(p *corev1.Pod) bool { return condition(p, corev1.PodReady).Status == corev1.ConditionTrue }

// container is the status of a container.
func container(p *corev1.Pod, name string) corev1.ContainerStatus {
	for _, s := range append(p.Status.ContainerStatuses, p.Status.InitContainerStatuses...) {
		if s.Name == name {
			return s
		}
	}
	return corev1.ContainerStatus{}
}
