package cloneset

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

const plain = `
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  updateStrategy: {type: RollingUpdate, rollingUpdate: {podUpdatePolicy: InPlaceIfPossible, maxUnavailable: 1}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: "web:v1"}, {name: side, image: "side:v1"}]
`

func image(to string) func(*v1beta1.CloneSet) {
	return func(s *v1beta1.CloneSet) { s.Spec.Template.Spec.Containers[0].Image = to }
}

// TestCloneSets shares one API server and one process.
func TestCloneSets(t *testing.T) {
	w := newWorld(t)
	w.runNodes()
	written := w.run("")
	t.Run("writes", func(t *testing.T) { writes(w.in(t), written) })
	t.Run("surge, partition and an autoscaler", func(t *testing.T) { surge(w.in(t)) })
	t.Run("hooks", func(t *testing.T) { hooks(w.in(t)) })
	t.Run("volume claims", func(t *testing.T) { volumes(w.in(t)) })
}

// in is the world for a subtest.
func (w *world) in(t *testing.T) *world { return &world{T: t, Cluster: w.Cluster, Client: w.Client} }

// writes counts what a scale-out, an update in place and one that recreates cost.
func writes(w *world, written *recorder) {
	ns := w.namespace("writes")
	set := w.apply(ns, plain)
	w.settled(set, 3, 3, 3)
	time.Sleep(3 * time.Second)
	got := written.in(ns)
	delete(got, "PATCH clonesets/status")
	if diff := cmp.Diff(map[string]int{"POST controllerrevisions": 1, "POST pods": 3, "PATCH pods/status": 3}, got); diff != "" {
		w.Errorf("scaling out: %s", diff)
	}
	before := w.pods(ns)
	w.edit(set, image("web:v2"))
	w.settled(set, 3, 3, 3)
	w.eventually(func() string {
		if s := w.read(set).Status; s.CurrentRevision != s.UpdateRevision {
			return "the update is not over"
		}
		return ""
	})
	time.Sleep(3 * time.Second)
	got = written.in(ns)
	delete(got, "PATCH clonesets/status")
	if diff := cmp.Diff(map[string]int{"POST controllerrevisions": 1, "PATCH pods": 3, "PATCH pods/status": 6}, got); diff != "" {
		w.Errorf("updating in place: %s", diff)
	}
	for i, pod := range w.pods(ns) {
		web, side := pod.Status.ContainerStatuses[0], pod.Status.ContainerStatuses[1]
		if pod.UID != before[i].UID || pod.Spec.Containers[0].Image != "web:v2" || web.RestartCount != 1 || side.RestartCount != 0 || !isTrue(&pod, corev1.PodReady) {
			w.Errorf("%s, which was %s, runs %s, restarted %d and %d times", pod.UID, before[i].UID, web.Image, web.RestartCount, side.RestartCount)
		}
	}
	w.edit(set, func(s *v1beta1.CloneSet) { s.Spec.Template.Spec.TerminationGracePeriodSeconds = ptr.To[int64](3) })
	w.settled(set, 3, 3, 3)
	time.Sleep(3 * time.Second)
	got = written.in(ns)
	delete(got, "PATCH clonesets/status")
	want := map[string]int{"POST controllerrevisions": 1, "POST pods": 3, "DELETE pods": 3, "PATCH pods/status": 3}
	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("recreating: %s", diff)
	}
}
