package kwok

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"
)

// TestPodsOnFakeNodes follows Pods through what controllers do with them. Its parts share one cluster.
func TestPodsOnFakeNodes(t *testing.T) {
	w := newWorld(t, 20)
	for _, part := range []struct {
		name string
		run  func(*world)
	}{
		{"two hundred become ready", (*world).twoHundred},
		{"an image changes in place", (*world).imageChanges},
		{"readiness gates", (*world).readinessGates},
		{"native sidecars and init containers", (*world).initContainers},
		{"a resize", (*world).resize},
		{"a deletion", (*world).deletion},
		{"a Pod that ends", (*world).ends},
		{"a timed Pod", (*world).timed},
		{"nodes come and go", (*world).nodes},
	} {
		t.Run(part.name, func(t *testing.T) {
			inner := *w
			inner.T = t
			part.run(&inner)
		})
	}
}

func (w *world) twoHundred() {
	const count, atOnce = 200, 16
	var g errgroup.Group
	g.SetLimit(atOnce)
	for i := range count {
		g.Go(func() error {
			p := pod(fmt.Sprintf("many-%d", i), "bank.test/web:v1")
			p.Labels = map[string]string{"part": "many"}
			_, err := w.client.CoreV1().Pods(w.namespace).Create(w.Context(), p, metav1.CreateOptions{})
			return err
		})
	}
	if err := g.Wait(); err != nil {
		w.Fatal(err)
	}
	list := func() (*corev1.PodList, error) {
		return w.client.CoreV1().Pods(w.namespace).List(w.Context(), metav1.ListOptions{LabelSelector: "part=many"})
	}
	w.eventually("all are ready", func() error {
		pods, err := list()
		if err != nil {
			return err
		}
		n := 0
		for i := range pods.Items {
			if ready(&pods.Items[i]) {
				n++
			}
		}
		if n != count {
			return fmt.Errorf("%d of %d are", n, count)
		}
		return nil
	})
	pods, err := list()
	if err != nil {
		w.Fatal(err)
	}
	nodes, addresses := sets.New[string](), sets.New[string]()
	for _, p := range pods.Items {
		nodes.Insert(p.Spec.NodeName)
		addresses.Insert(p.Status.PodIP)
		if s := p.Status.ContainerStatuses[0]; s.RestartCount != 0 || s.State.Running == nil || p.Status.Phase != corev1.PodRunning || p.Status.StartTime == nil {
			w.Fatalf("%s has the status %+v", p.Name, p.Status)
		}
	}
	if nodes.Len() < 15 || addresses.Len() != count {
		w.Errorf("they are on %d nodes and have %d addresses, want nearly all 20 and %d", nodes.Len(), addresses.Len(), count)
	}
}

// The container is restarted, and only that: kubelet's container hash of the other did not change.
func (w *world) imageChanges() {
	w.create(pod("image", "bank.test/web:v1", "bank.test/tool:v1"))
	before := w.await("image", "ready", ready)
	w.patch("image", `{"spec":{"containers":[{"name":"c0","image":"bank.test/web:v2"}]}}`)
	after := w.await("image", "restarted", func(p *corev1.Pod) bool { return container(p, "c0").RestartCount == 1 && ready(p) })
	was, is := container(before, "c0"), container(after, "c0")
	if is.Image != "bank.test/web:v2" || is.ImageID == was.ImageID || is.ContainerID == was.ContainerID || !is.Ready {
		w.Errorf("the restarted container was %+v and is %+v", was, is)
	}
	if !strings.HasPrefix(is.ImageID, "bank.test/web@sha256:") || len(is.ImageID) != len("bank.test/web@sha256:")+64 {
		w.Errorf("image ID %s, want one of the repository", is.ImageID)
	}
	if last := is.LastTerminationState.Terminated; last == nil || last.ContainerID != was.ContainerID {
		w.Errorf("last state %+v, want the end of %s", is.LastTerminationState, was.ContainerID)
	}
	if other, same := container(after, "c1"), container(before, "c1"); other.RestartCount != 0 || other.ContainerID != same.ContainerID {
		w.Errorf("the other container was %+v and is %+v", same, other)
	}
	if after.UID != before.UID || after.Status.PodIP != before.Status.PodIP {
		w.Error("the Pod is another one")
	}
	// back to the first: a new container of the first image
	w.patch("image", `{"spec":{"containers":[{"name":"c0","image":"bank.test/web:v1"}]}}`)
	back := w.await("image", "restarted again", func(p *corev1.Pod) bool { return container(p, "c0").RestartCount == 2 && ready(p) })
	if got := container(back, "c0"); got.ImageID != was.ImageID || got.ContainerID == was.ContainerID {
		w.Errorf("back at the first image it is %+v, was %+v", got, was)
	}
}

func (w *world) readinessGates() {
	p := pod("gates", "bank.test/web:v1")
	p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "a.test/one"}, {ConditionType: "a.test/two"}}
	w.create(p)
	unready := w.await("gates", "running", func(p *corev1.Pod) bool { return condition(p, corev1.ContainersReady).Status == corev1.ConditionTrue })
	if got := condition(unready, corev1.PodReady); got.Status != corev1.ConditionFalse || got.Reason != "ReadinessGatesNotReady" ||
		!strings.Contains(got.Message, `pod readiness gate "a.test/one" does not exist`) {
		w.Errorf("without the gates' conditions it has %+v", got)
	}
	w.patch("gates", `{"status":{"conditions":[{"type":"a.test/one","status":"True"},{"type":"a.test/two","status":"False"}]}}`, "status")
	w.await("gates", "unready for the second gate", func(p *corev1.Pod) bool {
		return !ready(p) && condition(p, corev1.PodReady).Message == `the status of pod readiness gate "a.test/two" is not "True", but False`
	})
	w.patch("gates", `{"status":{"conditions":[{"type":"a.test/two","status":"True"}]}}`, "status")
	isReady := w.await("gates", "ready", ready)
	if got := condition(isReady, corev1.PodReady); got.Reason != "" || got.Message != "" {
		w.Errorf("ready, but %+v", got)
	}
	w.patch("gates", `{"status":{"conditions":[{"type":"a.test/one","status":"False"}]}}`, "status")
	w.await("gates", "unready again", func(p *corev1.Pod) bool { return condition(p, corev1.PodReady).Status == corev1.ConditionFalse })
}

func (w *world) initContainers() {
	p := pod("init", "bank.test/web:v1")
	p.Spec.InitContainers = []corev1.Container{
		{Name: "sidecar", Image: "bank.test/tool:v1", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways)},
		{Name: "once", Image: "bank.test/job:v1"},
	}
	w.create(p)
	got := w.await("init", "ready", ready)
	if s := container(got, "once"); s.State.Terminated == nil || s.State.Terminated.ExitCode != 0 {
		w.Errorf("the init container is %+v, want it ended with 0", s)
	}
	if s := container(got, "sidecar"); s.State.Running == nil || !s.Ready {
		w.Errorf("the native sidecar is %+v, want it running", s)
	}
	w.patch("init", `{"spec":{"initContainers":[{"name":"sidecar","image":"bank.test/tool:v2"}]}}`)
	w.await("init", "restarted in its sidecar", func(p *corev1.Pod) bool {
		return ready(p) && container(p, "sidecar").RestartCount == 1 && container(p, "c0").RestartCount == 0 && container(p, "once").RestartCount == 0
	})
}

// Processors are given without a restart, memory with one, as the Pod's policies say.
func (w *world) resize() {
	w.needs("1.33.0", "Pods are resized")
	p := pod("resize", "bank.test/web:v1")
	p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("1Gi"),
	}
	p.Spec.Containers[0].ResizePolicy = []corev1.ContainerResizePolicy{
		{ResourceName: corev1.ResourceCPU, RestartPolicy: corev1.NotRequired},
		{ResourceName: corev1.ResourceMemory, RestartPolicy: corev1.RestartContainer},
	}
	w.create(p)
	w.await("resize", "ready", ready)
	w.patch("resize", `{"spec":{"containers":[{"name":"c0","resources":{"requests":{"cpu":"200m"}}}]}}`, "resize")
	w.await("resize", "given more processors, without a restart", func(p *corev1.Pod) bool {
		s := container(p, "c0")
		return s.Resources != nil && s.Resources.Requests.Cpu().String() == "200m" && s.RestartCount == 0 &&
			p.Status.ObservedGeneration == p.Generation
	})
	w.patch("resize", `{"spec":{"containers":[{"name":"c0","resources":{"requests":{"memory":"2Gi"}}}]}}`, "resize")
	w.await("resize", "given more memory, with a restart", func(p *corev1.Pod) bool {
		s := container(p, "c0")
		return s.Resources != nil && s.Resources.Requests.Memory().String() == "2Gi" && s.RestartCount == 1 && ready(p)
	})
}

func (w *world) deletion() {
	w.create(pod("deleted", "bank.test/web:v1"))
	w.await("deleted", "ready", ready)
	if err := w.client.CoreV1().Pods(w.namespace).Delete(w.Context(), "deleted", metav1.DeleteOptions{}); err != nil {
		w.Fatal(err)
	}
	w.eventually("the Pod goes", func() error {
		_, err := w.client.CoreV1().Pods(w.namespace).Get(w.Context(), "deleted", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is still there (%w)", err)
	})
}

func (w *world) ends() {
	p := pod("ends", "bank.test/job:v1")
	p.Spec.RestartPolicy = corev1.RestartPolicyNever
	w.create(p)
	got := w.await("ends", "done", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodSucceeded })
	if s := container(got, "c0"); s.State.Terminated == nil || s.State.Terminated.ExitCode != 0 || ready(got) {
		w.Errorf("done, its status is %+v", got.Status)
	}
}

func (w *world) nodes() {
	before := len(w.cluster.Nodes())
	if err := w.cluster.AddNodes(w.Context(), 2); err != nil {
		w.Fatal(err)
	}
	names := w.cluster.Nodes()
	if len(names) != before+2 {
		w.Fatalf("%d nodes, want %d", len(names), before+2)
	}
	last := names[len(names)-1]
	node, err := w.client.CoreV1().Nodes().Get(w.Context(), last, metav1.GetOptions{})
	if err != nil || node.Status.NodeInfo.KubeletVersion != "v"+w.cluster.KubernetesVersion() {
		w.Errorf("%s (%v) says of itself %+v", last, err, node.Status.NodeInfo)
	}
	if err := w.cluster.RemoveNode(w.Context(), last); err != nil {
		w.Fatal(err)
	}
	if _, err := w.client.CoreV1().Nodes().Get(w.Context(), last, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		w.Errorf("%s was removed, but: %v", last, err)
	}
}
