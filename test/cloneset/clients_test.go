package cloneset

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/test/cluster/cluster"
)

// TestClients has kubectl, the cluster's autoscaler and what plugins for rollouts do work on one CloneSet, on pretended
// nodes.
func TestClients(t *testing.T) {
	t.Setenv("FAIRLEAD_TEST_CLUSTER", "") // those of the other tests have no nodes
	w := newWorldOn(t, cluster.Options{Level: cluster.LevelKwok, Nodes: 2, ExtraArgs: map[string][]string{
		cluster.ControllerManager: {"--horizontal-pod-autoscaler-sync-period=1s"},
	}})
	w.run("")
	ns := w.createNamespace("clients")
	c := &clients{world: w, set: w.apply(ns, plain)}
	w.settled(c.set, 3, 3, 3)
	for _, part := range []struct {
		name string
		run  func(*clients)
	}{
		{"scale", (*clients).scale},
		{"autoscale", (*clients).autoscale},
		{"columns", (*clients).columns},
		{"pause and resume", (*clients).pause},
		{"restart", (*clients).restart},
		{"undo", (*clients).undo},
	} {
		t.Run(part.name, func(t *testing.T) { part.run(&clients{world: w.in(t), set: c.set}) })
	}
}

// createNamespace makes one whose accounts the controller manager makes.
func (w *world) createNamespace(name string) string {
	w.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: name + "-"}}
	w.must(w.Create(w.Context(), ns))
	w.eventually(func() string {
		err := w.Get(w.Context(), client.ObjectKey{Namespace: ns.Name, Name: "default"}, &corev1.ServiceAccount{})
		if apierrors.IsNotFound(err) {
			return "the namespace has no account"
		}
		w.must(err)
		return ""
	})
	return ns.Name
}

type clients struct {
	*world
	set *v1beta1.CloneSet
}

func (c *clients) kubectl(args ...string) string {
	c.Helper()
	out, err := c.Kubectl(c.Context(), append([]string{"--namespace", c.set.Namespace}, args...)...)
	if err != nil {
		c.Fatalf("kubectl %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return out
}

func (c *clients) scale() {
	c.kubectl("scale", "clone/web", "--replicas=5")
	c.settled(c.set, 5, 5, 5)
	if _, err := c.Kubectl(c.Context(), "--namespace", c.set.Namespace, "scale", "cloneset.apps.kruise.io/web", "--current-replicas=3", "--replicas=9"); err == nil {
		c.Error("scaling from 3 succeeds with 5")
	}
	c.kubectl("scale", "cloneset.v1beta1.apps.kruise.io/web", "--current-replicas=5", "--replicas=2")
	c.settled(c.set, 2, 2, 2)
}

// autoscale has the autoscaler keep bounds, for which it needs no metrics.
func (c *clients) autoscale() {
	c.kubectl("autoscale", "clone/web", "--min=4", "--max=6", "--cpu-percent=50")
	c.settled(c.set, 4, 4, 4)
	c.kubectl("patch", "hpa", "web", "--type=merge", "-p", `{"spec":{"minReplicas":1,"maxReplicas":3}}`)
	c.settled(c.set, 3, 3, 3)
	c.eventually(func() string {
		able := c.kubectl("get", "hpa", "web", "-o", `jsonpath={.status.conditions[?(@.type=="AbleToScale")].status} {.status.currentReplicas}`)
		if able == "True 3" {
			return ""
		}
		return "the autoscaler says " + able
	})
	c.kubectl("delete", "hpa", "web")
}

func (c *clients) columns() {
	lines := strings.Split(strings.TrimSpace(c.kubectl("get", "clone", "web", "-o", "wide")), "\n")
	head, values := strings.Fields(lines[0]), strings.Fields(lines[len(lines)-1])
	values = slices.Delete(values, 7, 8) // the age; of containers and images the API server shows the first
	want := []string{"NAME", "DESIRED", "UPDATED", "UPDATED_READY", "UPDATED_AVAILABLE", "READY", "TOTAL", "AGE", "CONTAINERS", "IMAGES", "SELECTOR"}
	if diff := cmp.Diff(want, head); diff != "" {
		c.Errorf("columns: %s", diff)
	}
	if diff := cmp.Diff([]string{"web", "3", "3", "3", "3", "3", "3", "web", "web:v1", "app=web"}, values); diff != "" {
		c.Errorf("values: %s", diff)
	}
}

// pause is what plugins do to hold a rollout and to let it go on.
func (c *clients) pause() {
	c.kubectl("patch", "clone", "web", "--type=merge", "-p", `{"spec":{"updateStrategy":{"rollingUpdate":{"paused":true}}}}`)
	c.kubectl("patch", "clone", "web", "--type=json", "-p", `[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"web:v2"}]`)
	c.settled(c.set, 3, 3, 0)
	before := c.images()
	if diff := cmp.Diff(map[string]int{"web:v1": 3}, before); diff != "" {
		c.Errorf("paused: %s", diff)
	}
	c.kubectl("patch", "clone", "web", "--type=merge", "-p", `{"spec":{"updateStrategy":{"rollingUpdate":{"paused":null}}}}`)
	c.settled(c.set, 3, 3, 3)
	if diff := cmp.Diff(map[string]int{"web:v2": 3}, c.images()); diff != "" {
		c.Errorf("resumed: %s", diff)
	}
}

// images counts the Pods that are not ending by the image that their first container runs.
func (c *clients) images() map[string]int {
	c.Helper()
	n := map[string]int{}
	for _, pod := range c.pods(c.set.Namespace) {
		if pod.DeletionTimestamp == nil && len(pod.Status.ContainerStatuses) > 0 {
			i := slices.IndexFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Name == "web" })
			n[pod.Status.ContainerStatuses[i].Image]++
		}
	}
	return n
}

// restart is the annotation by which kubectl restarts workloads. Metadata is changed in place, so that it restarts
// nothing unless the policy is to recreate.
func (c *clients) restart() {
	const patch = `{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"2026-01-02T03:04:05Z"}}}}}`
	before := slices.Sorted(maps.Keys(byName(c.pods(c.set.Namespace))))
	c.edit(c.set, func(s *v1beta1.CloneSet) {
		s.Spec.UpdateStrategy.RollingUpdate.PodUpdatePolicy = v1beta1.RecreatePodUpdateStrategyType
	})
	c.kubectl("patch", "clone", "web", "--type=merge", "-p", patch)
	c.settled(c.set, 3, 3, 3)
	for _, name := range slices.Sorted(maps.Keys(byName(c.pods(c.set.Namespace)))) {
		if slices.Contains(before, name) {
			c.Errorf("Pod %s was not restarted", name)
		}
	}
	c.edit(c.set, func(s *v1beta1.CloneSet) {
		s.Spec.UpdateStrategy.RollingUpdate.PodUpdatePolicy = v1beta1.InPlaceIfPossiblePodUpdateStrategyType
	})
}

// undo is what plugins do to go back: the history is the revisions by their number, and the template of one is merged
// into the CloneSet.
func (c *clients) undo() {
	history := c.history()
	if len(history) != 3 {
		c.Fatalf("the history has %d revisions", len(history))
	}
	c.goBack(history[1]) // web:v2, from before the restart
	c.settled(c.set, 3, 3, 3)
	after := c.history()
	if len(after) != 3 || after[2].Name != history[1].Name || after[2].Revision != 4 {
		c.Errorf("of %v the history became %v; want the second one as the fourth", names(history), names(after))
	}
	if s := c.read(c.set).Status; s.UpdateRevision != history[1].Name || s.CurrentRevision != history[1].Name {
		c.Errorf("the revisions are %s and %s", s.UpdateRevision, s.CurrentRevision)
	}
	before := byName(c.pods(c.set.Namespace))
	c.goBack(history[0])
	c.settled(c.set, 3, 3, 3)
	c.eventually(func() string {
		return cmp.Diff(map[string]int{"web:v1": 3}, c.images())
	})
	for name, pod := range byName(c.pods(c.set.Namespace)) {
		if before[name].UID != pod.UID {
			c.Errorf("Pod %s is another one; going back is done in place too", name)
		}
	}
}

func (c *clients) history() []appsv1.ControllerRevision {
	c.Helper()
	list := &appsv1.ControllerRevisionList{}
	c.must(c.List(c.Context(), list, client.InNamespace(c.set.Namespace), client.MatchingLabels{"app": "web"}))
	slices.SortFunc(list.Items, func(a, b appsv1.ControllerRevision) int { return int(a.Revision - b.Revision) })
	return list.Items
}

func names(revisions []appsv1.ControllerRevision) (all []string) {
	for _, r := range revisions {
		all = append(all, fmt.Sprintf("%d %s", r.Revision, r.Name))
	}
	return all
}

func (c *clients) goBack(to appsv1.ControllerRevision) {
	c.Helper()
	current := c.read(c.set)
	before, err := json.Marshal(current)
	c.must(err)
	after, err := strategicpatch.StrategicMergePatch(before, to.Data.Raw, &v1beta1.CloneSet{})
	c.must(err)
	var back struct {
		Spec struct{ Template json.RawMessage }
	}
	c.must(json.Unmarshal(after, &back))
	patch, err := json.Marshal([]any{map[string]any{"op": "replace", "path": "/spec/template", "value": back.Spec.Template}})
	c.must(err)
	c.must(c.Patch(c.Context(), current, client.RawPatch(types.JSONPatchType, patch)))
}
