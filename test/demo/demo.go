package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/test/cluster/cluster"
	"github.com/fairlead-io/fairlead/test/images"
	"github.com/fairlead-io/fairlead/test/installation"
)

const (
	// clusterName is the demo's own, so that it and the tests do not disturb each other.
	clusterName = "demo"
	nodes       = 3
	// patience is how long the examples' Pods may take: images are small and local, but the machine may be slow.
	patience = "120s"
)

type demo struct {
	out             io.Writer
	kubernetes      string
	installPackages bool

	began   time.Time
	cluster *cluster.Cluster
	tag     string // of the product's image
}

// run is the demo from a bare machine to running Pods.
func (d *demo) run(ctx context.Context) error {
	d.began = time.Now()
	steps := []struct {
		title string
		do    func(context.Context) error
	}{
		{"checking this machine", d.checkMachine},
		{fmt.Sprintf("starting Kubernetes %s with %d nodes", d.kubernetes, nodes), d.startCluster},
		{"building Fairlead's image and the examples'", d.pushImages},
		{"installing the chart and waiting until admission works", d.install},
		{"applying docs/examples", d.applyExamples},
		{"waiting for the examples' Pods", d.awaitPods},
	}
	for i, step := range steps {
		fmt.Fprintf(d.out, "[%d/%d %4.0fs] %s\n", i+1, len(steps), time.Since(d.began).Seconds(), step.title)
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.title, err)
		}
	}
	return d.show(ctx)
}

func (d *demo) checkMachine(ctx context.Context) error {
	if d.installPackages {
		return cluster.InstallPackages(ctx, d.out)
	}
	return cluster.Preflight(cluster.LevelReal)
}

func (d *demo) startCluster(ctx context.Context) error {
	c, err := cluster.Start(ctx, cluster.Options{
		Name: clusterName, Level: cluster.LevelReal, Nodes: nodes, KubernetesVersion: d.kubernetes, KeepRunning: true, Log: d.out,
	})
	d.cluster = c
	return err
}

func (d *demo) pushImages(ctx context.Context) (err error) {
	if err := images.PushAll(ctx, d.cluster); err != nil {
		return err
	}
	d.tag, err = installation.PushImage(ctx, d.cluster)
	return err
}

func (d *demo) install(ctx context.Context) error { return installation.Upgrade(ctx, d.cluster, d.tag) }

// applyExamples also removes the Pods of a run before: those that were made while Fairlead was uninstalled have no sidecars.
func (d *demo) applyExamples(ctx context.Context) error {
	root, err := installation.Root(ctx)
	if err != nil {
		return err
	}
	for _, old := range [][]string{{"-l", "app=shop"}, {"ordered", "--ignore-not-found"}} {
		if _, err := d.cluster.Kubectl(ctx, append([]string{"delete", "pods", "--now"}, old...)...); err != nil {
			return err
		}
	}
	_, err = d.cluster.Kubectl(ctx, "apply", "-f", filepath.Join(root, "docs", "examples", "objects"))
	return err
}

func (d *demo) awaitPods(ctx context.Context) error {
	if _, err := d.cluster.Kubectl(ctx, "rollout", "status", "deployment/shop", "--timeout", patience); err != nil {
		return err
	}
	_, err := d.cluster.Kubectl(ctx, "wait", "--for=condition=Ready", "pod/ordered", "--timeout", patience)
	return err
}

// show prints the Pods with their containers, and what to try next.
func (d *demo) show(ctx context.Context) error {
	pods, err := d.cluster.Kubectl(ctx, "get", "pods", "-o", "custom-columns=POD:.metadata.name,PHASE:.status.phase,"+
		"CONTAINERS:.spec.containers[*].name,SIDECARSETS:.metadata.annotations.kruise\\.io/sidecarset-injected-list,NODE:.spec.nodeName")
	if err != nil {
		return err
	}
	tier, err := d.cluster.Kubectl(ctx, "exec", "deployment/shop", "-c", "log-agent", "--", "/bin/busybox", "env")
	if err != nil {
		return err
	}
	started, err := d.cluster.Kubectl(ctx, "get", "pod", "ordered", "-o",
		`jsonpath={range .status.containerStatuses[*]}{.state.running.startedAt} {.name}{"\n"}{end}`)
	if err != nil {
		return err
	}
	fmt.Fprintf(d.out, "\n%s\nThe Deployment shop has one container; SidecarSet log-agent added the other, with the shop's variable %s.\n"+
		"Pod ordered started its containers one after the other:\n%s", pods, variable(tier, "TIER"), inOrder(started))
	if err := d.showJudgements(ctx); err != nil {
		return err
	}
	fmt.Fprintf(d.out, next, time.Since(d.began).Seconds(), d.cluster.Name())
	return nil
}

// inOrder are lines with the time that a container started and its name, as sentences in the order of the times. The API server has
// containers in the order of their names.
func inOrder(started string) string {
	var text strings.Builder
	for _, line := range slices.Sorted(strings.Lines(started)) {
		if at, name, told := strings.Cut(strings.TrimSpace(line), " "); told {
			fmt.Fprintf(&text, "  %s started at %s\n", name, at)
		}
	}
	return text.String()
}

// showJudgements tries what is to be refused, and what is to be captured.
func (d *demo) showJudgements(ctx context.Context) error {
	root, err := installation.Root(ctx)
	if err != nil {
		return err
	}
	judged := filepath.Join(root, "docs", "examples", "judged")
	for _, refused := range [][]string{
		{"delete", "deployment", "shop", "--wait=false"},
		{"apply", "-f", filepath.Join(judged, "refused-sidecarset.yaml")},
	} {
		if err := d.showRefusal(ctx, root, refused...); err != nil {
			return err
		}
	}
	if _, err := d.cluster.Kubectl(ctx, "replace", "--force", "-f", filepath.Join(judged, "restart.yaml")); err != nil {
		return err
	}
	captured, err := d.cluster.Kubectl(ctx, "get", "crr", "restart-client", "-o", "jsonpath={.spec.containers[0]}")
	if err != nil {
		return err
	}
	fmt.Fprintf(d.out, "\nA restart request, with what admission recorded of the container:\n%s\n", captured)
	return nil
}

// showRefusal runs a kubectl command that has to fail, and shows why it does.
func (d *demo) showRefusal(ctx context.Context, root string, args ...string) error {
	_, err := d.cluster.Kubectl(ctx, args...)
	if err == nil {
		return fmt.Errorf("kubectl %s was to be refused, and was not", strings.Join(args, " "))
	}
	_, reason, _ := strings.Cut(err.Error(), "exit status 1: ")
	command := strings.ReplaceAll(strings.Join(args, " "), root+string(filepath.Separator), "")
	fmt.Fprintf(d.out, "\n$ kubectl %s\n%s\n", command, reason)
	return nil
}

// variable finds NAME=value in the output of env.
func variable(env, name string) string {
	for line := range strings.Lines(env) {
		if strings.HasPrefix(line, name+"=") {
			return strings.TrimSpace(line)
		}
	}
	return name + " (missing)"
}

const next = `
Ready after %.0f s. What to try next:

  eval "$(go run ./test/cluster env --name %[2]s)"     # kubectl and helm for this cluster
  kubectl get sidecarsets                             # nothing counts their Pods yet
  kubectl exec deployment/shop -c log-agent -- /bin/busybox env
  kubectl scale deployment/shop --replicas=5          # new Pods are injected too
  kubectl run tried --image=bank.test/web:v1 --labels=app=shop --dry-run=server -o yaml   # what admission adds
  kubectl label deployment shop policy.kruise.io/delete-protection-   # then it can be deleted
  kubectl -n kruise-system get deployments,pods

  kubectl apply -f docs/examples/workloads            # a CloneSet; its Pods get another image where they are:
  kubectl wait clonesets.v1beta1.apps.kruise.io/site --for=jsonpath='{.status.readyReplicas}'=3 --timeout=60s
  kubectl patch clonesets.v1beta1.apps.kruise.io site --type=json \
    -p '[{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "bank.test/web:v2"}]'
  kubectl get pods -l app=site -o wide -w             # the same Pods, restarted one by one; Ctrl-C ends it

  kubectl create configmap no-latest-tag -n kruise-system --from-file=docs/policies/no-latest-tag   # a policy of yours,
  kubectl label configmap no-latest-tag -n kruise-system fairlead.io/policy=true                    # see docs/policies.md
  kubectl get configmap no-latest-tag -n kruise-system -o jsonpath='{.metadata.annotations.fairlead\.io/policy-status}'
  kubectl run refused --image=bank.test/web           # is refused when that status says Active

  make build && bin/fairlead doctor                   # what is wrong with the installation; docs/cli.md has more
  bin/fairlead explain pod ordered                    # which SidecarSets a Pod has, and why not the others

  helm uninstall kruise                               # leaves the Pods running, and Pods can still be created

  make down                                           # stops the cluster and undoes everything
`
