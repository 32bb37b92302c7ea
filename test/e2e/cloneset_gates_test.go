//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/test/cluster/cluster"
	"github.com/fairlead-io/fairlead/test/installation"
)

// TestCloneSetGates runs on real nodes what the gates that are off by default do in place.
func TestCloneSetGates(t *testing.T) {
	if testing.Short() {
		t.Skip("not among the short tests")
	}
	c := cluster.ForTest(t, cluster.Options{Nodes: 1})
	const gates = `featureGates=ImagePullJobGate=true\,PreDownloadImageForInPlaceUpdate=true\,InPlaceWorkloadVerticalScaling=true`
	install(t, c, gates)
	w := newCloneSets(t, c)
	w.replicasAreNew()
	t.Run("parts", func(t *testing.T) {
		for name, part := range map[string]func(cloneSets){
			"resized": resizesInPlace, "fetched": imagesAreFetchedBefore, "same-digest": sameDigestIsComplete, "env": envIsChangedByRecreation,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				part(w.in(t, "clone-"+name))
			})
		}
	})
	if w.resizes() {
		w.logsAreClean()
	} else {
		w.logsAreClean(resizeRefused)
	}
}

const sized = `
apiVersion: apps.kruise.io/v1beta1
kind: CloneSet
metadata: {name: sized}
spec:
  replicas: 2
  updateStrategy: {rollingUpdate: {podUpdatePolicy: InPlaceIfPossible, maxUnavailable: 1}}
  selector: {matchLabels: {app: sized}}
  template:
    metadata: {labels: {app: sized}}
    spec:
      terminationGracePeriodSeconds: 2
      containers:
      - name: web
        image: "bank.test/web:v1"
        readinessProbe: {httpGet: {port: 8080}, periodSeconds: 1}
        resources: {requests: {cpu: 20m, memory: 32Mi}, limits: {cpu: 200m, memory: 64Mi}}
        resizePolicy: [{resourceName: memory, restartPolicy: RestartContainer}]
      - {name: agent, image: "bank.test/tool:v1"}
`

// resizesInPlace changes the CPU of running containers, which stay in service, then memory, which restarts the container by its
// own policy, then image and CPU at once, and last the quality of service, which no Pod can change.
func resizesInPlace(w cloneSets) {
	w.apply(sized)
	w.settled("sized", inFull(2))
	before := keptOf(w.pods())
	seen := w.observe()
	if !w.resizes() {
		w.refusesToResize(before, seen)
		return
	}
	w.apply(strings.Replace(sized, "cpu: 200m", "cpu: 300m", 1))
	w.settled("sized", inFull(2))
	if fewest := seen.reset().fewest; fewest < 2 {
		w.Errorf("only %d Pods were ready while their CPU changed", fewest)
	}
	w.runsWith(before, "300m", "64Mi", 0)
	w.apply(strings.NewReplacer("cpu: 200m", "cpu: 300m", "memory: 64Mi", "memory: 96Mi").Replace(sized))
	w.settled("sized", inFull(2))
	w.runsWith(before, "300m", "96Mi", 1)
	w.apply(strings.NewReplacer("cpu: 200m", "cpu: 400m", "memory: 64Mi", "memory: 96Mi", "web:v1", "web:v2").Replace(sized))
	w.settled("sized", inFull(2))
	w.runsWith(before, "400m", "96Mi", 2)
	w.restsQuietly("sized")
	w.apply(strings.NewReplacer("requests: {cpu: 20m, memory: 32Mi}, limits: {cpu: 200m, memory: 64Mi}", "requests: {cpu: 20m}", "web:v1", "web:v2").Replace(sized))
	w.settled("sized", inFull(2))
	for _, pod := range w.pods() {
		if _, same := before[pod.Name]; same {
			w.Errorf("Pod %s is still there", pod.Name)
		}
	}
}

// refusesToResize is a Kubernetes before 1.33: the CloneSet says that the change is refused, and its Pods serve on as they are,
// but for one that has left service for the change of its image beside. A change that is taken back, or one of an image, is made.
func (w cloneSets) refusesToResize(before map[string]kept, seen *podWatcher) {
	w.Helper()
	w.apply(strings.Replace(sized, "cpu: 200m", "cpu: 300m", 1))
	w.until(w.refused)
	w.apply(sized)
	w.settled("sized", inFull(2))
	if fewest := seen.reset().fewest; fewest < 2 {
		w.Errorf("only %d Pods were ready while their CPU could not be changed", fewest)
	}
	w.apply(strings.NewReplacer("cpu: 200m", "cpu: 300m", "web:v1", "web:v2").Replace(sized))
	w.until(w.refused)
	w.apply(sized)
	w.settled("sized", inFull(2))
	if fewest := seen.reset().fewest; fewest < 1 {
		w.Error("no Pod was ready while CPU and image could not be changed, and maxUnavailable is 1")
	}
	w.setImage("sized", "bank.test/web:v2")
	w.settled("sized", inFull(2))
	w.keptButForWeb(before)
	w.restsQuietly("sized")
}

// resizeRefused is what an API server without the subresource says.
const resizeRefused = "pod updates may not change fields"

// refused tells that the condition does not say of this generation that the API server refused the change.
func (w cloneSets) refused() string {
	set := w.read("sized")
	if set.Status.ObservedGeneration == set.Generation && slices.ContainsFunc(set.Status.Conditions, func(c v1beta1.CloneSetCondition) bool {
		return c.Type == v1beta1.CloneSetConditionFailedUpdate && c.Status == corev1.ConditionTrue && strings.Contains(c.Message, resizeRefused)
	}) {
		return ""
	}
	return fmt.Sprintf("no condition tells that the change is refused: %+v", set.Status.Conditions)
}

// resizes says whether the API server has the subresource.
func (w cloneSets) resizes() bool {
	return strings.Contains(w.Must("", "get", "--raw", "/api/v1"), `"pods/resize"`)
}

// runsWith: the Pods are those of before, and web has these limits, in its status too, and was restarted so often.
func (w cloneSets) runsWith(before map[string]kept, cpu, memory string, restarted int32) {
	w.Helper()
	pods := w.pods()
	if diff := cmp.Diff(before, keptOf(pods)); diff != "" {
		w.Errorf("Pods are not the same (-before +now):\n%s", diff)
	}
	for _, pod := range pods {
		of := slices.IndexFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Name == "web" })
		status := pod.Status.ContainerStatuses[of]
		if status.Resources == nil {
			w.Errorf("Pod %s reports no resources", pod.Name)
			continue
		}
		for where, limits := range map[string]corev1.ResourceList{"spec": pod.Spec.Containers[0].Resources.Limits, "status": status.Resources.Limits} {
			if limits.Cpu().String() != cpu || limits.Memory().String() != memory {
				w.Errorf("Pod %s has limits %s and %s in its %s, want %s and %s", pod.Name, limits.Cpu(), limits.Memory(), where, cpu, memory)
			}
		}
		if status.RestartCount != restarted {
			w.Errorf("web of Pod %s was restarted %d times, want %d", pod.Name, status.RestartCount, restarted)
		}
	}
}

// imagesAreFetchedBefore: while a partition holds the rollout, a job asks for the new image on the nodes of the Pods that
// do not have it. It goes when the rollout is over.
func imagesAreFetchedBefore(w cloneSets) {
	w.apply(strings.NewReplacer("replicas: 3", "replicas: 4", "maxUnavailable: 1", "maxUnavailable: 1, partition: 3", "metadata: {name: shop}",
		`metadata: {name: shop, annotations: {apps.kruise.io/image-predownload-parallelism: "2"}}`).Replace(shopInPlace))
	w.settled("shop", inFull(4))
	w.setImage("shop", "bank.test/web:v2")
	w.settled("shop", counts{4, 4, 4, 1})
	jobs := &v1beta1.ImagePullJobList{}
	w.until(func() string {
		if err := w.client.List(w.Context(), jobs, client.InNamespace(w.namespace)); err != nil || len(jobs.Items) != 1 {
			return fmt.Sprintf("there are %d ImagePullJobs, %v", len(jobs.Items), err)
		}
		return ""
	})
	set, job := w.read("shop"), jobs.Items[0]
	if job.Name != set.Status.UpdateRevision+"-web" || job.Spec.Image != "bank.test/web:v2" || job.Spec.Parallelism.IntValue() != 2 {
		w.Errorf("the job is %s for %s, %s at once", job.Name, job.Spec.Image, job.Spec.Parallelism)
	}
	w.patch("shop", `{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}`)
	w.settled("shop", inFull(4))
	w.until(func() string {
		if err := w.client.List(w.Context(), jobs, client.InNamespace(w.namespace)); err != nil || len(jobs.Items) > 0 {
			return fmt.Sprintf("there are still %d ImagePullJobs, %v", len(jobs.Items), err)
		}
		return ""
	})
}

// sameDigestIsComplete changes to another tag of the image that runs: the container restarts, and its image ID stays.
func sameDigestIsComplete(w cloneSets) {
	w.apply(strings.ReplaceAll(shopInPlace, "web:v1", "web:v3"))
	w.settled("shop", inFull(3))
	before := keptOf(w.pods())
	w.setImage("shop", "bank.test/web:stable")
	if pod := w.anyPod(); pod.Status.ObservedGeneration == 0 {
		// A kubelet before 1.34 does not say which spec it knows: the Pod waits until its image gets another digest.
		w.settled("shop", counts{3, 2, 2, 1})
		w.setImage("shop", "bank.test/web:v2")
		w.settled("shop", inFull(3))
		return
	}
	w.settled("shop", inFull(3))
	w.keptButForWeb(before)
}

// anyPod is one of the product's.
func (w cloneSets) anyPod() corev1.Pod {
	w.Helper()
	list := &corev1.PodList{}
	if err := w.client.List(w.Context(), list, client.InNamespace(installation.Namespace)); err != nil || len(list.Items) == 0 {
		w.Fatalf("there are %d Pods, %v", len(list.Items), err)
	}
	return list.Items[0]
}

// envIsChangedByRecreation: no daemon of the node restarts a container for a label that its env is made of.
func envIsChangedByRecreation(w cloneSets) {
	tiered := strings.NewReplacer("labels: {app: shop}", "labels: {app: shop, tier: TIER}", `image: "bank.test/web:v1",`,
		`image: "bank.test/web:v1", env: [{name: TIER, valueFrom: {fieldRef: {fieldPath: "metadata.labels['tier']"}}}],`).Replace(shopInPlace)
	w.apply(strings.ReplaceAll(tiered, "TIER}", "front}"))
	w.settled("shop", inFull(3))
	before := keptOf(w.pods())
	w.apply(strings.ReplaceAll(tiered, "TIER}", "back}"))
	w.settled("shop", inFull(3))
	for _, pod := range w.pods() {
		if _, same := before[pod.Name]; same {
			w.Errorf("Pod %s is still there", pod.Name)
		}
		if env := w.exec(pod.Name, "web", "env"); !slices.Contains(strings.Split(env, "\n"), "TIER=back") {
			w.Errorf("Pod %s has not TIER=back but %s", pod.Name, env)
		}
	}
}
