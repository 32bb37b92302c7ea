//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/test/cluster/cluster"
)

// TestPods runs what admission makes of Pods on real nodes: sidecars run and can be entered, ordered containers start in
// order, and a Pod of a workload of ours turns Ready through its gate. Then it tries what admission refuses and captures.
func TestPods(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{Nodes: 2})
	install(t, c)
	t.Run("sidecars", func(t *testing.T) { sidecarsRun(t, c) })
	t.Run("ordered containers", func(t *testing.T) { orderedContainersStartInOrder(t, c) })
	t.Run("readiness gate", func(t *testing.T) { gateOpens(t, c) })
	t.Run("hot-upgrade pair", func(t *testing.T) { hotUpgradePairRuns(t, c) })
	t.Run("captured restart", func(t *testing.T) { restartIsCaptured(t, c) })
	t.Run("refused SidecarSet", func(t *testing.T) { mistakesAreNamed(t, c) })
	t.Run("deletion protection", func(t *testing.T) { labelsProtect(t, c) })
}

const sidecarManifests = `
apiVersion: apps.kruise.io/v1beta1
kind: SidecarSet
metadata: {name: agents}
spec:
  selector: {matchLabels: {app: shop}}
  updateStrategy: {type: NotUpdate}
  initContainers:
    - {name: prepare, image: "bank.test/tool:v1", command: [/bin/busybox, touch, /data/prepared], volumeMounts: [{name: data, mountPath: /data}]}
    - {name: native, image: "bank.test/tool:v2", restartPolicy: Always}
  containers:
    - name: first
      image: bank.test/tool:v1
      volumeMounts: [{name: data, mountPath: /data}]
      transferEnv: [{sourceContainerName: shop, envName: TIER}]
    - {name: last, image: "bank.test/tool:v1", podInjectPolicy: AfterAppContainer, shareVolumePolicy: {type: enabled}}
  volumes: [{name: data, emptyDir: {}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec:
      terminationGracePeriodSeconds: 2
      volumes: [{name: own, emptyDir: {}}]
      containers:
        - {name: shop, image: "bank.test/web:v1", env: [{name: TIER, value: front}], volumeMounts: [{name: own, mountPath: /own}]}
`

func sidecarsRun(t *testing.T, c *cluster.Cluster) {
	apply(t, c, sidecarManifests)
	kubectl(t, c, "rollout", "status", "deployment/shop", "--timeout=2m")
	pods := strings.Fields(kubectl(t, c, "get", "pods", "-l", "app=shop", "-o", "jsonpath={.items[*].metadata.name}"))
	if len(pods) != 2 {
		t.Fatalf("the Deployment has the Pods %v, want 2", pods)
	}
	for _, pod := range pods {
		names := kubectl(t, c, "get", "pod", pod, "-o", "jsonpath={.spec.initContainers[*].name} / {.spec.containers[*].name}")
		if want := "native prepare / first shop last"; names != want {
			t.Errorf("Pod %s has the containers %q, want %q", pod, names, want)
		}
		running := kubectl(t, c, "get", "pod", pod, "-o", "jsonpath={.status.containerStatuses[*].ready} {.status.initContainerStatuses[?(@.name=='native')].ready}")
		if want := strings.TrimSpace(strings.Repeat("true ", 4)); running != want {
			t.Errorf("Pod %s: its containers are ready: %s, want %s", pod, running, want)
		}
	}
	for _, tc := range []struct{ container, want string }{
		{"first", "TIER=front"},
		{"first", "IS_INJECTED=true"},
		{"last", "IS_INJECTED=true"},
	} {
		if env := kubectl(t, c, "exec", pods[0], "-c", tc.container, "--", "/bin/busybox", "env"); !strings.Contains(env, tc.want) {
			t.Errorf("container %s has the environment %s, want %s in it", tc.container, env, tc.want)
		}
	}
	kubectl(t, c, "exec", pods[0], "-c", "first", "--", "/bin/busybox", "test", "-f", "/data/prepared")
	kubectl(t, c, "exec", pods[0], "-c", "shop", "--", "/bin/busybox", "touch", "/own/here")
	kubectl(t, c, "exec", pods[0], "-c", "last", "--", "/bin/busybox", "test", "-f", "/own/here")
}

const orderedManifest = `
apiVersion: v1
kind: Pod
metadata:
  name: ordered
  namespace: default
  annotations: {apps.kruise.io/container-launch-priority: Ordered}
spec:
  terminationGracePeriodSeconds: 2
  containers:
    - {name: first, image: "bank.test/web:v1", readinessProbe: {httpGet: {path: /, port: 8080}, initialDelaySeconds: 3, periodSeconds: 1}}
    - {name: second, image: "bank.test/tool:v1"}
    - {name: third, image: "bank.test/tool:v2"}
`

// orderedContainersStartInOrder needs the times that kubelet records, which have whole seconds: the first container is
// ready three seconds after its start at the earliest.
func orderedContainersStartInOrder(t *testing.T, c *cluster.Cluster) {
	apply(t, c, orderedManifest)
	kubectl(t, c, "wait", "--for=condition=Ready", "pod/ordered", "--timeout=2m")
	var started []time.Time
	for _, name := range []string{"first", "second", "third"} {
		at := kubectl(t, c, "get", "pod", "ordered", "-o", "jsonpath={.status.containerStatuses[?(@.name=='"+name+"')].state.running.startedAt}")
		when, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatalf("container %s: %v", name, err)
		}
		started = append(started, when)
	}
	if wait := started[1].Sub(started[0]); wait < 3*time.Second {
		t.Errorf("the second container started %s after the first, which was ready after 3s at the earliest", wait)
	}
	if started[2].Before(started[1]) {
		t.Errorf("the third container started at %s, before the second at %s", started[2], started[1])
	}
	owner := kubectl(t, c, "get", "configmap", "ordered-barrier", "-o", "jsonpath={.metadata.ownerReferences[0].kind}/{.metadata.ownerReferences[0].name} {.data}")
	if want := `Pod/ordered {"p_-1":"true","p_-2":"true","p_0":"true"}`; owner != want {
		t.Errorf("the barrier is %s, want %s", owner, want)
	}
}

const gatedManifest = `
apiVersion: apps.kruise.io/v1beta1
kind: CloneSet
metadata: {name: gated, namespace: default}
spec:
  replicas: 1
  selector: {matchLabels: {app: gated}}
  template:
    metadata: {labels: {app: gated}}
    spec:
      terminationGracePeriodSeconds: 2
      containers: [{name: c, image: "bank.test/web:v1"}]
`

func gateOpens(t *testing.T, c *cluster.Cluster) {
	apply(t, c, gatedManifest)
	kubectl(t, c, "wait", "--for=jsonpath={.status.availableReplicas}=1", "clone/gated", "--timeout=2m")
	for _, gate := range []string{"KruisePodReady", "InPlaceUpdateReady"} {
		state := kubectl(t, c, "get", "pods", "-l", "app=gated", "-o",
			"jsonpath={.items[*].spec.readinessGates[?(@.conditionType=='"+gate+"')].conditionType} {.items[*].status.conditions[?(@.type=='"+gate+"')].status}")
		if want := gate + " True"; state != want {
			t.Errorf("the Pod's gate and condition are %q, want %q", state, want)
		}
	}
}

const hotUpgradeManifests = `
apiVersion: apps.kruise.io/v1beta1
kind: SidecarSet
metadata: {name: proxies}
spec:
  selector: {matchLabels: {app: mesh}}
  containers:
    - {name: proxy, image: "bank.test/tool:v1", upgradeStrategy: {upgradeType: HotUpgrade, hotUpgradeEmptyImage: "bank.test/empty:v1"}}
---
apiVersion: v1
kind: Pod
metadata: {name: mesh, namespace: default, labels: {app: mesh}}
spec: {terminationGracePeriodSeconds: 2, containers: [{name: web, image: "bank.test/web:v1"}]}
`

func hotUpgradePairRuns(t *testing.T, c *cluster.Cluster) {
	apply(t, c, hotUpgradeManifests)
	kubectl(t, c, "wait", "--for=condition=Ready", "pod/mesh", "--timeout=1m")
	images := kubectl(t, c, "get", "pod", "mesh", "-o", "jsonpath={range .spec.containers[*]}{.name}={.image} {end}")
	if want := "proxy-1=bank.test/tool:v1 proxy-2=bank.test/empty:v1 web=bank.test/web:v1"; images != want {
		t.Errorf("the containers are %q, want %q", images, want)
	}
	for container, want := range map[string][2]string{"proxy-1": {"1", "0"}, "proxy-2": {"0", "1"}} {
		env := kubectl(t, c, "exec", "mesh", "-c", container, "--", "/bin/busybox", "env")
		if !strings.Contains(env, "SIDECARSET_VERSION="+want[0]+"\n") || !strings.Contains(env, "SIDECARSET_VERSION_ALT="+want[1]+"\n") {
			t.Errorf("%s has the environment %s, want versions %v", container, env, want)
		}
	}
}
