//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/fairlead-io/fairlead/test/cluster/cluster"
	"github.com/fairlead-io/fairlead/test/images"
	"github.com/fairlead-io/fairlead/test/installation"
)

const (
	// soon is for what takes a moment on an idle machine and a while on a busy one.
	soon = time.Minute
)

const shop = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: web, tier: front}}
  template:
    metadata: {labels: {app: web, tier: front}}
    spec: {containers: [{name: web, image: "bank.test/web:v1"}]}
`

// lifecycle is the chart on real nodes, with a Deployment that must run on whatever happens to the release.
type lifecycle struct {
	c      *cluster.Cluster
	client *kubernetes.Clientset
	// tag is the image's.
	tag string
	// running is the Deployment's Pods at the start: uid, and how often each container was restarted.
	running map[string]string
}

// TestChartLifecycle takes a release through its life. Its steps need each other in this order.
func TestChartLifecycle(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{Nodes: 2})
	client, err := c.Client()
	if err != nil {
		t.Fatal(err)
	}
	tag, err := installation.PushImage(t.Context(), c)
	if err := errors.Join(err, images.PushAll(t.Context(), c)); err != nil {
		t.Fatal(err)
	}
	l := &lifecycle{c: c, client: client, tag: tag}
	steps := []struct {
		name string
		long bool
		run  func(*testing.T)
	}{
		{"install", false, l.install},
		{"upgrade while Pods are created", true, l.upgradeUnderTraffic},
		{"roll back while Pods are created", true, l.rollBackUnderTraffic},
		{"switch the webhooks off and on again", true, l.breakGlass},
		{"uninstall while Pods are created", false, l.uninstallUnderTraffic},
		{"install again", false, l.installAgain},
		{"uninstall while Pods are created and no controller of Kubernetes runs", false, l.uninstallWithoutControllers},
		{"uninstall after the namespace was deleted", true, l.uninstallWithoutNamespace},
	}
	for _, step := range steps {
		if step.long && testing.Short() {
			continue
		}
		if !t.Run(step.name, step.run) {
			t.Fatalf("the steps after %q need it", step.name)
		}
	}
}

// install checks that helm --wait returns when it works: the very next Pod has its sidecar.
func (l *lifecycle) install(t *testing.T) {
	l.upgrade(t)
	apply(t, l.c, sidecarSet)
	l.assertInjects(t)
	apply(t, l.c, shop)
	kubectl(t, l.c, "-n", trafficNamespace, "rollout", "status", "deployment/web", "--timeout=3m")
	l.running = l.pods(t)
	if len(l.running) != 2 {
		t.Fatalf("the Deployment has the Pods %v, want 2", l.running)
	}
	for uid, containers := range l.running {
		if want := "sidecar 0 ready=true, web 0 ready=true"; containers != want {
			t.Errorf("Pod %s has the containers %q, want %q", uid, containers, want)
		}
	}
	for _, deployment := range []string{"kruise-webhook", "kruise-controller-manager"} {
		ready := kubectl(t, l.c, "-n", installation.Namespace, "get", "deployment", deployment, "-o", "jsonpath={.status.readyReplicas}")
		if ready != "2" {
			t.Errorf("helm --wait returned with %s ready replicas of %s, want 2", ready, deployment)
		}
	}
	if uid := l.anchorUID(t); l.owner(t) != uid {
		t.Errorf("the configuration's owner is %q, want the anchor %q", l.owner(t), uid)
	}
}

func (l *lifecycle) upgradeUnderTraffic(t *testing.T) {
	ca := l.bundle(t)
	traffic, reads := startTraffic(t, l.client), startReads(t, l.client)
	l.upgrade(t, "manager.log.level=5", "webhook.shutdownDelaySeconds=5")
	traffic.assertUndisturbed(t, "during the upgrade")
	traffic.assertInjected(t, "during the upgrade")
	reads.assertAnswered(t, "during the upgrade")
	if args := l.webhookArgs(t); !strings.Contains(args, "--v=5") {
		t.Errorf("after the upgrade the admission service runs with %s, want --v=5", args)
	}
	if after := l.bundle(t); after != ca {
		t.Error("the upgrade changed the CA")
	}
	l.assertUntouched(t)
}

func (l *lifecycle) rollBackUnderTraffic(t *testing.T) {
	traffic, reads := startTraffic(t, l.client), startReads(t, l.client)
	if _, err := l.c.Helm(t.Context(), "rollback", installation.Release, "--wait", "--timeout", "3m"); err != nil {
		t.Fatal(err)
	}
	traffic.assertUndisturbed(t, "during the rollback")
	traffic.assertInjected(t, "during the rollback")
	reads.assertAnswered(t, "during the rollback")
	if args := l.webhookArgs(t); !strings.Contains(args, "--v=4") {
		t.Errorf("after the rollback the admission service runs with %s, want --v=4", args)
	}
	l.assertUntouched(t)
}

// breakGlass does what docs/install.md tells someone who must create Pods now.
func (l *lifecycle) breakGlass(t *testing.T) {
	kubectl(t, l.c, "delete", "validatingwebhookconfiguration", "kruise-anchor")
	l.assertNoConfigurations(t)
	l.eventually(t, "a Pod is created without the sidecar", func(ctx context.Context) error {
		pod, err := l.dryRun(ctx)
		if err == nil && hasSidecar(pod) {
			return errors.New("it has the sidecar")
		}
		return err
	})
	l.upgrade(t)
	l.eventually(t, "Pods are injected again", func(ctx context.Context) error {
		pod, err := l.dryRun(ctx)
		if err == nil && !hasSidecar(pod) {
			return errors.New("it lacks the sidecar")
		}
		return err
	})
}

func (l *lifecycle) uninstallUnderTraffic(t *testing.T) {
	traffic := startTraffic(t, l.client)
	l.uninstall(t)
	l.assertNoConfigurations(t)
	traffic.assertUndisturbed(t, "during the uninstallation")
	l.assertPodsComeAndGo(t)
	l.assertUntouched(t)
	l.eventually(t, "our Pods are gone", l.oursAreGone)
	if left := leftovers(t, l.c); left != "" {
		t.Errorf("uninstalling left:\n%s", left)
	}
	if !exists(t, l.c, "sidecarset", "kept") {
		t.Error("uninstalling deleted the SidecarSet")
	}
}

func (l *lifecycle) installAgain(t *testing.T) {
	l.upgrade(t)
	l.assertInjects(t)
	l.assertUntouched(t)
}

// uninstallWithoutControllers has no garbage collector to fall back upon.
func (l *lifecycle) uninstallWithoutControllers(t *testing.T) {
	if err := l.c.StopProcess(cluster.ControllerManager); err != nil {
		t.Fatal(err)
	}
	traffic := startTraffic(t, l.client)
	l.uninstall(t)
	l.assertNoConfigurations(t)
	traffic.assertUndisturbed(t, "during the uninstallation")
	l.assertPodsComeAndGo(t)
	l.assertUntouched(t)
	if err := l.c.StartProcess(t.Context(), cluster.ControllerManager); err != nil {
		t.Fatal(err)
	}
	l.eventually(t, "our Pods are gone", l.oursAreGone)
	l.assertNoConfigurations(t)
}

// uninstallWithoutNamespace is the way out of `kubectl delete namespace kruise-system`. Replicas that live to see the
// namespace go would take the configurations away, so there are none.
func (l *lifecycle) uninstallWithoutNamespace(t *testing.T) {
	l.upgrade(t)
	l.assertInjects(t)
	kubectl(t, l.c, "-n", installation.Namespace, "scale", "deployment/kruise-webhook", "--replicas=0")
	kubectl(t, l.c, "-n", installation.Namespace, "wait", "pods", "-l", "control-plane=kruise-webhook", "--for=delete", "--timeout=3m")
	kubectl(t, l.c, "delete", "namespace", installation.Namespace, "--timeout=3m")
	if _, err := l.dryRun(t.Context()); err == nil {
		t.Error("a Pod was created while the webhook is registered and its service is gone; this test shows nothing")
	}
	l.uninstall(t)
	l.assertNoConfigurations(t)
	l.assertPodsComeAndGo(t)
	l.assertUntouched(t)
}

func (l *lifecycle) upgrade(t *testing.T, set ...string) {
	t.Helper()
	if err := installation.Upgrade(t.Context(), l.c, l.tag, set...); err != nil {
		t.Fatal(errors.Join(err, errors.New(l.state(t))))
	}
}

func (l *lifecycle) uninstall(t *testing.T) {
	t.Helper()
	if _, err := l.c.Helm(t.Context(), "uninstall", installation.Release); err != nil {
		t.Fatal(err)
	}
}

// state is what one would look at when an installation does not get ready.
func (l *lifecycle) state(t *testing.T) string {
	pods, _ := l.c.Kubectl(t.Context(), "-n", installation.Namespace, "get", "pods", "-o", "wide")
	webhook, _ := l.c.Kubectl(t.Context(), "-n", installation.Namespace, "logs", "-l", "control-plane=kruise-webhook", "--tail=20")
	manager, _ := l.c.Kubectl(t.Context(), "-n", installation.Namespace, "logs", "-l", "control-plane=controller-manager", "--tail=20")
	events, _ := l.c.Kubectl(t.Context(), "-n", installation.Namespace, "get", "events", "--field-selector", "type=Warning")
	return fmt.Sprintf("Pods:\n%s\nWarnings:\n%s\nkruise-webhook:\n%s\nkruise-controller-manager:\n%s", pods, events, webhook, manager)
}

// dryRun is a Pod as the API server would create it.
func (l *lifecycle) dryRun(ctx context.Context) (*corev1.Pod, error) {
	return l.client.CoreV1().Pods("default").Create(ctx, trafficPod(), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
}

// assertInjects waits for the SidecarSet to reach both replicas, which have just seen it created.
func (l *lifecycle) assertInjects(t *testing.T) {
	t.Helper()
	l.eventually(t, "a Pod has the sidecar", func(ctx context.Context) error {
		pod, err := l.dryRun(ctx)
		if err != nil {
			t.Fatalf("creating a Pod right after helm returned: %v", err)
		}
		if !hasSidecar(pod) {
			return errors.New("it lacks the sidecar")
		}
		return nil
	})
}

// assertNoConfigurations waits until nothing of ours is in the way of Pods.
func (l *lifecycle) assertNoConfigurations(t *testing.T) {
	t.Helper()
	l.eventually(t, "the webhook configurations are gone", func(ctx context.Context) error {
		out, err := l.c.Kubectl(ctx, "get", "mutatingwebhookconfigurations,validatingwebhookconfigurations", "-o", "name")
		if err == nil && strings.Contains(out, "kruise") {
			return fmt.Errorf("there are %s", strings.Fields(out))
		}
		return err
	})
}

// assertPodsComeAndGo runs a Pod that the SidecarSet matches on a node, and deletes it.
func (l *lifecycle) assertPodsComeAndGo(t *testing.T) {
	t.Helper()
	pods := l.client.CoreV1().Pods(trafficNamespace)
	pod := trafficPod()
	pod.GenerateName, pod.Name, pod.Spec.NodeSelector = "", "after", nil
	if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Errorf("creating a Pod after uninstalling: %v", err)
		return
	}
	l.eventually(t, "the new Pod runs", func(ctx context.Context) error {
		live, err := pods.Get(ctx, "after", metav1.GetOptions{})
		if err == nil && live.Status.Phase != corev1.PodRunning {
			return fmt.Errorf("it is %s", live.Status.Phase)
		}
		return err
	})
	if err := pods.Delete(t.Context(), "after", metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](1)}); err != nil {
		t.Errorf("deleting a Pod after uninstalling: %v", err)
	}
	l.eventually(t, "the Pod is gone", func(ctx context.Context) error {
		_, err := pods.Get(ctx, "after", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("it is still there"), err)
	})
}

// pods are the Deployment's.
func (l *lifecycle) pods(t *testing.T) map[string]string {
	t.Helper()
	list, err := l.client.CoreV1().Pods(trafficNamespace).List(t.Context(), metav1.ListOptions{LabelSelector: "tier=front"})
	if err != nil {
		t.Fatal(err)
	}
	pods := map[string]string{}
	for _, pod := range list.Items {
		var restarts []string
		for _, s := range pod.Status.ContainerStatuses {
			restarts = append(restarts, fmt.Sprintf("%s %d ready=%t", s.Name, s.RestartCount, s.Ready))
		}
		slices.Sort(restarts)
		pods[string(pod.UID)] = strings.Join(restarts, ", ")
	}
	return pods
}

func (l *lifecycle) assertUntouched(t *testing.T) {
	t.Helper()
	if diff := cmp.Diff(l.running, l.pods(t)); diff != "" {
		t.Errorf("running Pods changed (-before +now):\n%s", diff)
	}
}

func (l *lifecycle) oursAreGone(ctx context.Context) error {
	list, err := l.client.CoreV1().Pods(installation.Namespace).List(ctx, metav1.ListOptions{})
	if err == nil && len(list.Items) > 0 {
		return fmt.Errorf("%d are left", len(list.Items))
	}
	return err
}

func (l *lifecycle) anchorUID(t *testing.T) string {
	t.Helper()
	return kubectl(t, l.c, "get", "validatingwebhookconfiguration", "kruise-anchor", "-o", "jsonpath={.metadata.uid}")
}

func (l *lifecycle) owner(t *testing.T) string {
	t.Helper()
	return l.mutating(t, "{.metadata.ownerReferences[0].uid}")
}

func (l *lifecycle) bundle(t *testing.T) string {
	t.Helper()
	return l.mutating(t, "{.webhooks[0].clientConfig.caBundle}")
}

func (l *lifecycle) mutating(t *testing.T, path string) string {
	t.Helper()
	return kubectl(t, l.c, "get", "mutatingwebhookconfiguration", "kruise-mutating-webhook-configuration", "-o", "jsonpath="+path)
}

func (l *lifecycle) webhookArgs(t *testing.T) string {
	t.Helper()
	return kubectl(t, l.c, "-n", installation.Namespace, "get", "pods", "-l", "control-plane=kruise-webhook",
		"-o", "jsonpath={.items[*].spec.containers[0].args}")
}

// eventually tries until it succeeds, and fails the test after a while with what was wrong last.
func (l *lifecycle) eventually(t *testing.T, what string, try func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	for {
		err := try(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("waiting until %s: %v", what, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}
