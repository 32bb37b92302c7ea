//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/test/cluster/cluster"
)

const orderService = `
apiVersion: v1
kind: Namespace
metadata: {name: prod}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: order-service, namespace: prod}
spec:
  replicas: 3
  strategy: {rollingUpdate: {maxUnavailable: 3, maxSurge: 0}}
  selector: {matchLabels: {app: order-service}}
  template:
    metadata: {labels: {app: order-service}}
    spec:
      terminationGracePeriodSeconds: 2
      containers: [{name: web, image: "bank.test/web:v1", readinessProbe: {httpGet: {port: 8080}, initialDelaySeconds: 5, periodSeconds: 1}}]
`

const tenPercentBudget = `
apiVersion: policy.kruise.io/v1alpha1
kind: PodUnavailableBudget
metadata: {name: order-service-pub, namespace: prod}
spec:
  selector: {matchLabels: {app: order-service}}
  maxUnavailable: 10%
`

const renamedBudget = `
apiVersion: policy.kruise.io/v1beta1
kind: PodUnavailableBudget
metadata: {name: order-pub-v2, namespace: prod}
spec:
  selector: {matchLabels: {app: order-service}}
  maxUnavailable: 1
  protectOperations: [DELETE, EVICT]
`

// TestBudget adds a budget to Pods that run, disturbs them in every way, rolls them out, renames the budget, and drains
// their node.
func TestBudget(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{Nodes: 2})
	install(t, c)
	apply(t, c, orderService)
	kubectl(t, c, "-n", "prod", "rollout", "status", "deployment/order-service", "--timeout=3m")
	b := &shopBudget{T: t, Cluster: c, name: "order-service-pub"}
	t.Run("added to running Pods", b.added)
	t.Run("disturbed", b.disturbed)
	t.Run("rolled out", b.rolledOut)
	t.Run("renamed", b.renamed)
	t.Run("drained", b.drained)
}

// shopBudget is the budget as it is called now.
type shopBudget struct {
	*testing.T
	*cluster.Cluster
	name string
}

func (b *shopBudget) pods(t *testing.T) []string {
	t.Helper()
	return strings.Fields(kubectl(t, b.Cluster, "-n", "prod", "get", "pods", "-l", "app=order-service", "-o", "jsonpath={.items[*].metadata.name}"))
}

// becomes waits for total, desired, current and allowed.
func (b *shopBudget) becomes(t *testing.T, within time.Duration, want string) {
	t.Helper()
	b.until(t, within, func() error {
		got, err := b.Kubectl(t.Context(), "-n", "prod", "get", "pub", b.name, "-o",
			"jsonpath={.status.totalReplicas} {.status.desiredAvailable} {.status.currentAvailable} {.status.unavailableAllowed}")
		if err == nil && got != want {
			err = fmt.Errorf("total, desired, current, allowed are %s, want %s", got, want)
		}
		return err
	})
}

// told waits until every Pod names the budget in both annotations.
func (b *shopBudget) told(t *testing.T, within time.Duration) {
	t.Helper()
	b.until(t, within, func() error {
		got, err := b.Kubectl(t.Context(), "-n", "prod", "get", "pods", "-l", "app=order-service", "-o",
			`jsonpath={range .items[*]}{.metadata.annotations.pub\.kruise\.io/related-pub}/{.metadata.annotations.kruise\.io/related-pub} {end}`)
		if err != nil {
			return err
		}
		for _, pair := range strings.Fields(got) {
			if pair != b.name+"/"+b.name {
				return fmt.Errorf("the Pods are told %s, want %s", got, b.name)
			}
		}
		return nil
	})
}

func (b *shopBudget) until(t *testing.T, within time.Duration, holds func() error) {
	t.Helper()
	for deadline := time.Now().Add(within); ; time.Sleep(300 * time.Millisecond) {
		err := holds()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %v", within, err)
		}
	}
}

// evict asks as a client does that does not wait for budgets.
func (b *shopBudget) evict(t *testing.T, pod string) error {
	t.Helper()
	file := filepath.Join(t.TempDir(), "eviction.json")
	body := fmt.Sprintf(`{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":%q,"namespace":"prod"}}`, pod)
	if err := os.WriteFile(file, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := b.Kubectl(t.Context(), "create", "--raw", "/api/v1/namespaces/prod/pods/"+pod+"/eviction", "-f", file)
	return err
}

func forbidden(t *testing.T, what string, err error, budget string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), "Forbidden") && !strings.Contains(err.Error(), "forbidden") || !strings.Contains(err.Error(), budget) {
		t.Errorf("%s: %v, want a 403 that names %s", what, err, budget)
	}
}

func (b *shopBudget) added(t *testing.T) {
	apply(t, b.Cluster, tenPercentBudget)
	b.becomes(t, 30*time.Second, "3 2 3 1")
	b.told(t, 30*time.Second)
}

func (b *shopBudget) disturbed(t *testing.T) {
	pods := b.pods(t)
	if err := b.evict(t, pods[0]); err != nil {
		t.Fatal(err)
	}
	forbidden(t, "another eviction", b.evict(t, pods[1]), b.name)
	_, err := b.Kubectl(t.Context(), "-n", "prod", "delete", "pod", pods[1], "--wait=false")
	forbidden(t, "a deletion", err, b.name)
	_, err = b.Kubectl(t.Context(), "-n", "prod", "delete", "pod", pods[2], "--dry-run=server")
	forbidden(t, "a dry run", err, b.name)
	if _, err := b.Kubectl(t.Context(), "-n", "prod", "delete", "pod", pods[0], "--wait=false"); err != nil && !strings.Contains(err.Error(), "NotFound") {
		t.Errorf("the Pod that is paid for: %v", err)
	}
	kubectl(t, b.Cluster, "-n", "prod", "get", "pod", pods[1], pods[2])
	b.until(t, 30*time.Second, func() error {
		events, err := b.Kubectl(t.Context(), "-n", "prod", "get", "events", "--field-selector", "reason=PubPreventPodDeletion,type=Warning", "-o", "jsonpath={.items[*].involvedObject.name}")
		if err == nil && !strings.Contains(events, pods[1]) {
			err = errors.New("there is no event on " + pods[1])
		}
		return err
	})
	b.becomes(t, 90*time.Second, "3 2 3 1")
	b.told(t, time.Second) // those that were made meanwhile were told at once
}

// rolledOut: the Deployment would take all three down at once; its controller tries again until it may.
func (b *shopBudget) rolledOut(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	least := make(chan int, 1)
	go func() {
		fewest := 3
		for ctx.Err() == nil {
			ready, err := b.Kubectl(ctx, "-n", "prod", "get", "deployment", "order-service", "-o", "jsonpath={.status.readyReplicas}")
			if n, bad := strconv.Atoi(ready); err == nil && ready != "" && bad == nil {
				fewest = min(fewest, n)
			} else if err == nil && ready == "" {
				fewest = 0
			}
			time.Sleep(200 * time.Millisecond)
		}
		least <- fewest
	}()
	kubectl(t, b.Cluster, "-n", "prod", "set", "image", "deployment/order-service", "web=bank.test/web:v2")
	kubectl(t, b.Cluster, "-n", "prod", "rollout", "status", "deployment/order-service", "--timeout=180s")
	stop()
	if n := <-least; n < 2 {
		t.Errorf("%d Pods were ready during the rollout, want 2 at all times", n)
	}
	b.becomes(t, 90*time.Second, "3 2 3 1")
}

func (b *shopBudget) renamed(t *testing.T) {
	kubectl(t, b.Cluster, "-n", "prod", "delete", "pub", b.name)
	apply(t, b.Cluster, renamedBudget)
	b.name = "order-pub-v2"
	b.told(t, time.Minute)
	b.becomes(t, time.Minute, "3 2 3 1")
	pods := b.pods(t)
	kubectl(t, b.Cluster, "-n", "prod", "delete", "pod", pods[0], "--wait=false")
	_, err := b.Kubectl(t.Context(), "-n", "prod", "delete", "pod", pods[1], "--wait=false")
	forbidden(t, "a second deletion", err, b.name)
	annotation := kubectl(t, b.Cluster, "-n", "prod", "get", "podunavailablebudgets.v1alpha1.policy.kruise.io", b.name, "-o",
		`jsonpath={.metadata.annotations.kruise\.io/pub-protect-operations}`)
	if annotation != "DELETE,EVICT" {
		t.Errorf("v1alpha1 shows protectOperations as %q", annotation)
	}
	b.becomes(t, 90*time.Second, "3 2 3 1")
}

// drained: a drain gives up at a denial; whoever asks again gets the node empty, and at least two Pods serve all along.
func (b *shopBudget) drained(t *testing.T) {
	node := kubectl(t, b.Cluster, "-n", "prod", "get", "pods", "-l", "app=order-service", "-o", "jsonpath={.items[0].spec.nodeName}")
	b.until(t, 4*time.Minute, func() error {
		ready, err := b.Kubectl(t.Context(), "-n", "prod", "get", "pods", "-l", "app=order-service", "-o",
			`jsonpath={range .items[*]}{.status.conditions[?(@.type=="Ready")].status} {end}`)
		if n := strings.Count(ready, "True"); err == nil && n < 2 {
			t.Errorf("%d Pods are ready during the drain", n)
		}
		_, err = b.Kubectl(t.Context(), "drain", node, "--pod-selector=app=order-service", "--timeout=20s")
		return err
	})
	left := kubectl(t, b.Cluster, "-n", "prod", "get", "pods", "-l", "app=order-service", "--field-selector", "spec.nodeName="+node, "-o", "name")
	if left != "" {
		t.Errorf("on the drained node there are %s", left)
	}
	b.becomes(t, 2*time.Minute, "3 2 3 1")
}
