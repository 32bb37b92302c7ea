//go:build e2e

package cluster_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/internal/oci"
	"github.com/fairlead-io/fairlead/test/cluster/cluster"
	"github.com/fairlead-io/fairlead/test/images"
)

// start is ForTest with a name that leftovers can be looked for by.
func start(t *testing.T, suffix string, opts cluster.Options) *cluster.Cluster {
	t.Helper()
	opts.Name = name(suffix)
	return cluster.ForTest(t, opts)
}

func name(suffix string) string { return "e" + strconv.Itoa(os.Getpid()) + suffix }

// must returns a command's output or ends the test.
func must(t *testing.T) func(string, error) string {
	return func(out string, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
}

// eventually polls check until it returns nil.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	const limit = time.Minute
	var last error
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		if last = check(); last == nil {
			return
		}
	}
	t.Fatalf("%s: %v", what, last)
}

// answer is what a server says.
func answer(url string) (string, error) {
	client := http.Client{Timeout: 2 * time.Second}
	resp, err := client.Get(url)
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(resp.Body)
	return strings.TrimSpace(string(body)), errors.Join(err, resp.Body.Close())
}

func answers(url, want string) func() error {
	return func() error {
		got, err := answer(url)
		if err == nil && got != want {
			err = fmt.Errorf("%s says %q, want %q", url, got, want)
		}
		return err
	}
}

const pods = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  nodeName: node1
  terminationGracePeriodSeconds: 1
  containers:
  - name: web
    image: bank.test/web:v1
    readinessProbe: {httpGet: {port: 8080}, periodSeconds: 1}
    volumeMounts: [{name: memory, mountPath: /memory}]
  volumes: [{name: memory, emptyDir: {medium: Memory}}]
---
apiVersion: v1
kind: Pod
metadata: {name: onhost}
spec:
  nodeName: node2
  hostNetwork: true
  containers: [{name: tool, image: bank.test/tool:v1}]
`

func TestRealCluster(t *testing.T) {
	c := start(t, "a", cluster.Options{Nodes: 2})
	ctx := t.Context()
	if err := images.PushAll(ctx, c); err != nil {
		t.Fatal(err)
	}
	must(t)(c.KubectlInput(ctx, strings.NewReader(pods), "apply", "-f", "-"))
	must(t)(c.Kubectl(ctx, "wait", "--for=condition=Ready", "pod/web", "pod/onhost", "--timeout=90s"))
	ip := must(t)(c.Kubectl(ctx, "get", "pod", "web", "-o", "jsonpath={.status.podIP}"))
	url := "http://" + ip + ":8080/"

	t.Run("the Pod answers this machine and the API server", func(t *testing.T) {
		eventually(t, "from here", answers(url, "v1"))
		if got := must(t)(c.Kubectl(ctx, "get", "--raw", "/api/v1/namespaces/default/pods/web:8080/proxy/")); got != "v1\n" {
			t.Errorf("through the API server it says %q", got)
		}
	})
	t.Run("Pods reach the API server at the service address", func(t *testing.T) {
		for _, pod := range []string{"web", "onhost"} {
			must(t)(c.Kubectl(ctx, "exec", pod, "--", "/bin/sh", "-c",
				"busybox nc -w 5 $KUBERNETES_SERVICE_HOST $KUBERNETES_SERVICE_PORT </dev/null && busybox touch /tmp/written"))
		}
	})
	t.Run("logs", func(t *testing.T) {
		if out := must(t)(c.Kubectl(ctx, "logs", "web")); !strings.Contains(out, "serving v1") {
			t.Errorf("logs %q", out)
		}
	})
	t.Run("an image changes in place", func(t *testing.T) {
		must(t)(c.Kubectl(ctx, "set", "image", "pod/web", "web=bank.test/web:v2"))
		eventually(t, "the new image", answers(url, "v2"))
		eventually(t, "the status, which kubelet writes later", func() error {
			now, err := c.Kubectl(ctx, "get", "pod", "web", "-o", "jsonpath={.status.podIP} {.status.containerStatuses[0].restartCount}")
			if err == nil && now != ip+" 1" {
				err = fmt.Errorf("address and restarts are %s, want %s 1", now, ip)
			}
			return err
		})
	})
	t.Run("the image that crashes", func(t *testing.T) {
		must(t)(c.Kubectl(ctx, "run", "crash", "--image=bank.test/crash:v1", "--restart=Never"))
		eventually(t, "its end", func() error {
			code, err := c.Kubectl(ctx, "get", "pod", "crash", "-o", "jsonpath={.status.containerStatuses[0].state.terminated.exitCode}")
			if err == nil && code != "1" {
				err = fmt.Errorf("exit code %q", code)
			}
			return err
		})
	})
	t.Run("Pods end at once when they are deleted", func(t *testing.T) {
		must(t)(c.Kubectl(ctx, "run", "brief", "--image=bank.test/job:v1"))
		must(t)(c.Kubectl(ctx, "wait", "--for=condition=Ready", "pod/brief", "--timeout=60s"))
		begin := time.Now()
		must(t)(c.Kubectl(ctx, "delete", "pod", "brief"))
		if took := time.Since(begin); took > 10*time.Second { // its grace period is 30 s
			t.Errorf("the deletion took %s", took)
		}
	})
	t.Run("a registry that asks for a login", func(t *testing.T) { pullWithLogin(t, c) })
	t.Run("a second start is quick and changes nothing", func(t *testing.T) { startAgain(t, c) })
	t.Run("processes stop and start one by one", func(t *testing.T) { controlProcesses(t, c, url) })
	t.Run("another cluster beside it", func(t *testing.T) { sideBySide(t, c, url) })
	t.Run("nodes come and go", func(t *testing.T) { changeNodes(t, c) })
	t.Run("helm", func(t *testing.T) {
		if out := must(t)(c.Helm(ctx, "list", "-A")); !strings.Contains(out, "NAMESPACE") {
			t.Errorf("helm list says %q", out)
		}
	})

	begin := time.Now()
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); took > 15*time.Second {
		t.Errorf("stopping took %s", took)
	}
	nothingLeft(t, c.Name(), c.Dir())
}

func pullWithLogin(t *testing.T, c *cluster.Cluster) {
	ctx := t.Context()
	const host = "registry.auth.test:5001"
	if err := c.RequireLogin(host, "echo", "test"); err != nil {
		t.Fatal(err)
	}
	spec := oci.Spec{Files: map[string]string{"/bin/busybox": cluster.Busybox}, Entrypoint: []string{"/bin/busybox", "sleep", "600"}}
	if err := c.PushBinaryImage(ctx, spec, host+"/team/sleep:v1"); err != nil {
		t.Fatal(err)
	}
	must(t)(c.Kubectl(ctx, "create", "secret", "docker-registry", "key", "--docker-server="+host, "--docker-username=echo", "--docker-password=test"))
	must(t)(c.Kubectl(ctx, "run", "without", "--image="+host+"/team/sleep:v1"))
	eventually(t, "the refusal", func() error {
		out, err := c.Kubectl(ctx, "get", "pod", "without", "-o", "jsonpath={.status.containerStatuses[0].state.waiting}")
		if err == nil && !strings.Contains(out, "401") {
			err = fmt.Errorf("waiting for %s", out)
		}
		return err
	})
	must(t)(c.Kubectl(ctx, "run", "with", "--image="+host+"/team/sleep:v1", `--overrides={"spec":{"imagePullSecrets":[{"name":"key"}]}}`))
	must(t)(c.Kubectl(ctx, "wait", "--for=condition=Ready", "pod/with", "--timeout=60s"))
	log, err := os.ReadFile(c.RegistryLog())
	if err != nil || !strings.Contains(string(log), "GET /v2/registry.auth.test_5001/team/sleep/blobs/") {
		t.Errorf("the registry's log (%v) lacks the pull:\n%s", err, log)
	}
	must(t)(c.Kubectl(ctx, "delete", "pod", "with", "without", "--grace-period=0", "--force"))
}

func startAgain(t *testing.T, c *cluster.Cluster) {
	before, err := c.Processes()
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	again, err := cluster.Start(t.Context(), cluster.Options{Name: c.Name(), Nodes: 2, KubernetesVersion: c.KubernetesVersion(), KeepRunning: true})
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
	after, err := again.Processes()
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(before) != fmt.Sprint(after) {
		t.Errorf("processes were %v and are %v", before, after)
	}
	_, err = cluster.Start(t.Context(), cluster.Options{Name: c.Name(), Level: cluster.LevelAPIServer, KeepRunning: true})
	if err == nil || !strings.Contains(err.Error(), "runs already with other options") {
		t.Errorf("a start with another level: %v", err)
	}
}

// controlProcesses needs the Pod web, which must run on whatever is restarted around it.
func controlProcesses(t *testing.T, c *cluster.Cluster, url string) {
	ctx := t.Context()
	client, err := c.Client()
	if err != nil {
		t.Fatal(err)
	}
	hasAccount := func(namespace string) error {
		_, err := client.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
		return err
	}
	if err := c.StopProcess(cluster.ControllerManager); err != nil {
		t.Fatal(err)
	}
	if err := c.Healthy(ctx); err == nil || !strings.Contains(err.Error(), "kube-controller-manager does not run") {
		t.Errorf("health without it: %v", err)
	}
	must(t)(c.Kubectl(ctx, "create", "namespace", "later"))
	time.Sleep(time.Second) // it makes the account at once when it runs
	if err := hasAccount("later"); err == nil {
		t.Error("the controller manager works although it is stopped")
	}
	if err := c.StartProcess(ctx, cluster.ControllerManager); err != nil {
		t.Fatal(err)
	}
	eventually(t, "its work", func() error { return hasAccount("later") })

	if err := c.KillProcess(cluster.APIServer); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Namespaces().Get(ctx, "later", metav1.GetOptions{}); err == nil {
		t.Error("the API server answers although it is killed")
	}
	for _, p := range []string{cluster.APIServer} {
		if err := c.StartProcess(ctx, p); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []string{cluster.NodeProcess("node1", cluster.Kubelet), cluster.NodeProcess("node1", cluster.Containerd), cluster.ImageRegistry} {
		if err := c.RestartProcess(ctx, p); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.StopProcess("node9/kubelet"); err == nil {
		t.Error("stopping a process that does not exist succeeds")
	}
	if err := answers(url, "v2")(); err != nil {
		t.Errorf("the Pod did not live through it: %v", err)
	}
	must(t)(c.Kubectl(ctx, "run", "afterwards", "--image=bank.test/tool:v3", `--overrides={"spec":{"nodeName":"node1"}}`))
	must(t)(c.Kubectl(ctx, "wait", "--for=condition=Ready", "pod/afterwards", "--timeout=60s"))
}

func sideBySide(t *testing.T, first *cluster.Cluster, url string) {
	second := start(t, "b", cluster.Options{Nodes: 1})
	ctx := t.Context()
	if err := images.PushAll(ctx, second); err != nil {
		t.Fatal(err)
	}
	must(t)(second.Kubectl(ctx, "run", "web", "--image=bank.test/web:v3"))
	must(t)(second.Kubectl(ctx, "wait", "--for=condition=Ready", "pod/web", "--timeout=60s"))
	ip := must(t)(second.Kubectl(ctx, "get", "pod", "web", "-o", "jsonpath={.status.podIP}"))
	eventually(t, "the second cluster's Pod", answers("http://"+ip+":8080/", "v3"))
	must(t)(second.Kubectl(ctx, "exec", "web", "--", "/bin/sh", "-c", "busybox nc -w 5 $KUBERNETES_SERVICE_HOST 443 </dev/null"))
	if err := second.Stop(); err != nil {
		t.Fatal(err)
	}
	nothingLeft(t, second.Name(), second.Dir())
	if err := first.Healthy(ctx); err != nil {
		t.Error(err)
	}
	if err := answers(url, "v2")(); err != nil {
		t.Errorf("the first cluster's Pod: %v", err)
	}
}

func changeNodes(t *testing.T, c *cluster.Cluster) {
	ctx := t.Context()
	if err := c.AddNodes(ctx, 1); err != nil {
		t.Fatal(err)
	}
	must(t)(c.Kubectl(ctx, "run", "third", "--image=bank.test/tool:v1", `--overrides={"spec":{"nodeName":"node3"}}`))
	must(t)(c.Kubectl(ctx, "wait", "--for=condition=Ready", "pod/third", "--timeout=60s"))
	if err := c.RemoveNode(ctx, "node3"); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(c.Nodes(), " "); got != "node1 node2" {
		t.Errorf("nodes %s", got)
	}
	if out := must(t)(c.Kubectl(ctx, "get", "nodes", "-o", "name")); out != "node/node1\nnode/node2\n" {
		t.Errorf("node objects %q", out)
	}
	nothingOf(t, filepath.Join(c.Dir(), "nodes", "node3"))
	if left := cgroupsNamed(t, filepath.Join("fairlead", c.Name(), "node3")); len(left) > 0 {
		t.Errorf("cgroups left: %v", left)
	}
}

func TestAPIServerLevel(t *testing.T) {
	c := start(t, "c", cluster.Options{Level: cluster.LevelAPIServer})
	ctx := t.Context()
	must(t)(c.Kubectl(ctx, "create", "configmap", "x", "--from-literal=a=b"))
	if got := must(t)(c.Kubectl(ctx, "version")); !strings.Contains(got, "Server Version: v"+c.KubernetesVersion()) {
		t.Errorf("kubectl version says %q", got)
	}
	if got, err := c.Processes(); err != nil || len(got) != 2 {
		t.Errorf("processes %v, %v; want etcd and the API server", got, err)
	}
	if err := c.AddNodes(ctx, 1); err == nil {
		t.Error("nodes can be added")
	}
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := c.Stop(); err != nil {
		t.Errorf("stopping it again: %v", err)
	}
	nothingLeft(t, c.Name(), c.Dir())
	if _, err := cluster.Attach(c.Name(), "", io.Discard); !errors.Is(err, cluster.ErrNotFound) {
		t.Errorf("attaching to a stopped cluster: %v", err)
	}
}

// An interrupted or killed start, at the moment when all of the control plane and some of a node are there, leaves nothing.
func TestInterruptedStart(t *testing.T) {
	program := filepath.Join(t.TempDir(), "cluster")
	if out, err := exec.Command("go", "build", "-o", program, "github.com/fairlead-io/fairlead/test/cluster").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	root, err := cluster.StateRoot()
	if err != nil {
		t.Fatal(err)
	}
	for suffix, sig := range map[string]os.Signal{"i": os.Interrupt, "k": os.Kill} {
		t.Run(sig.String(), func(t *testing.T) {
			name := name(suffix)
			cmd := exec.CommandContext(t.Context(), program, "up", "--name", name, "--nodes", "2")
			progress, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = exec.Command(program, "down", "--name", name).Run() })
			lines := bufio.NewScanner(progress)
			for lines.Scan() && !strings.HasPrefix(lines.Text(), "starting 2 node(s)") {
				t.Log(lines.Text())
			}
			time.Sleep(time.Second)
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			for lines.Scan() {
				t.Log(lines.Text())
			}
			if err := cmd.Wait(); err == nil {
				t.Error("an interrupted start succeeds")
			}
			dir := filepath.Join(root, name)
			eventually(t, "cleaning up", func() error {
				if _, err := os.Stat(dir + ".lock"); !os.IsNotExist(err) { // the last to go
					return errors.New("the cluster is still there")
				}
				return nil
			})
			nothingLeft(t, name, dir)
			_ = os.RemoveAll(dir + ".logs")
		})
	}
}

// A cluster goes with its test binary, however that ends.
func TestKilledTest(t *testing.T) {
	const variable = "FAIRLEAD_E2E_KILLED_TEST"
	if name := os.Getenv(variable); name != "" {
		cluster.ForTest(t, cluster.Options{Name: name, Level: cluster.LevelAPIServer})
		fmt.Println("started")
		select {}
	}
	root, err := cluster.StateRoot()
	if err != nil {
		t.Fatal(err)
	}
	name := name("d")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledTest$")
	cmd.Env = append(os.Environ(), variable+"="+name)
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(output)
	for lines.Scan() && lines.Text() != "started" {
		t.Log(lines.Text())
	}
	dir := filepath.Join(root, name)
	if _, err := os.Stat(dir); err != nil {
		t.Errorf("the cluster did not start: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	eventually(t, "cleaning up", func() error {
		if _, err := os.Stat(dir + ".lock"); !os.IsNotExist(err) {
			return errors.New("the cluster is still there")
		}
		return nil
	})
	nothingLeft(t, name, dir)
}

// nothingLeft looks with its own eyes, not with the cluster's code, for anything of a stopped cluster.
func nothingLeft(t *testing.T, name, dir string) {
	t.Helper()
	nothingOf(t, dir)
	if left := cgroupsNamed(t, filepath.Join("fairlead", name)); len(left) > 0 {
		t.Errorf("cgroups left: %v", left)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder is left: %v", err)
	}
	if _, err := os.Stat(dir + ".lock"); !os.IsNotExist(err) {
		t.Errorf("the lock file is left: %v", err)
	}
	results, _ := filepath.Glob("/var/lib/cni/results/*" + name + "*")
	if len(results) > 0 {
		t.Errorf("CNI results left: %v", results)
	}
	bridgesHaveOwners(t)
}

// nothingOf looks for processes, mounts and links that have to do with a folder.
func nothingOf(t *testing.T, dir string) {
	t.Helper()
	commands, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range commands {
		if data, err := os.ReadFile(f); err == nil && strings.Contains(string(data), dir+"/") {
			t.Errorf("process left: %s %q", f, data)
		}
	}
	if data, err := os.ReadFile("/proc/self/mounts"); err != nil || strings.Contains(string(data), dir+"/") {
		t.Errorf("mounts left (%v):\n%s", err, data)
	}
	logs, _ := filepath.Glob("/var/log/containers/*")
	for _, l := range logs {
		if target, err := os.Readlink(l); err == nil && strings.HasPrefix(target, dir+"/") {
			t.Errorf("link left: %s", l)
		}
	}
}

func cgroupsNamed(t *testing.T, path string) []string {
	t.Helper()
	var found []string
	for _, pattern := range []string{"/sys/fs/cgroup/", "/sys/fs/cgroup/*/"} {
		matches, err := filepath.Glob(pattern + path)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, matches...)
	}
	return found
}

// bridgesHaveOwners checks that each bridge and rule of the kind that clusters make belongs to a cluster that has
// a state: others may run on this machine.
func bridgesHaveOwners(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	root, err := cluster.StateRoot()
	if err != nil {
		t.Fatal(err)
	}
	owned := map[string]bool{}
	names, err := cluster.List(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		data, err := os.ReadFile(filepath.Join(root, n, "state.json"))
		if err != nil {
			continue
		}
		_, after, _ := strings.Cut(string(data), `"Slot": `)
		number, _, _ := strings.Cut(after, ",")
		owned["fairlead"+number] = true
	}
	links, _ := filepath.Glob("/sys/class/net/fairlead[0-9]*")
	for _, l := range links {
		if !owned[filepath.Base(l)] {
			t.Errorf("link left: %s", l)
		}
	}
	rules, err := exec.CommandContext(t.Context(), "iptables-save").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(rules)) {
		_, after, ok := strings.Cut(line, "fairlead test cluster ")
		bridge, _, _ := strings.Cut(after, `"`)
		if ok && !owned[bridge] {
			t.Errorf("rule left: %s", line)
		}
	}
}
