package certificates

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fairlead-io/fairlead/test/cluster/cluster"
	"github.com/fairlead-io/fairlead/test/installation"
)

const (
	namespace = installation.Namespace
	secret    = "kruise-webhook-certs"
	// patience is for what takes a Lease, a mounted Secret and 15 s of proof, on a busy machine.
	patience = 2 * time.Minute
	shop     = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: default, namespace: shop}
`
	sidecarSet = `
apiVersion: apps.kruise.io/v1beta1
kind: SidecarSet
metadata: {name: agents}
spec:
  selector: {matchLabels: {app: web}}
  containers: [{name: agent, image: "bank.test/tool:v1"}]
`
)

// world is an API server with the installed chart and with cert-manager. There is no kubelet and no other controller: the
// test runs the Deployment's replicas as processes, with the rights of their account, mounts their Secret and keeps their
// endpoints.
type world struct {
	*testing.T
	*cluster.Cluster
	client   *kubernetes.Clientset
	root     string
	program  string
	mount    string
	limited  string // the kubeconfig of the service's account
	replicas []*process
	started  int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	c := cluster.ForTest(t, cluster.Options{Level: cluster.LevelAPIServer})
	client, err := c.Client()
	w := &world{T: t, Cluster: c, client: client, mount: t.TempDir(), program: filepath.Join(t.TempDir(), "fairlead")}
	w.check(err)
	w.root, err = installation.Root(t.Context())
	w.check(err)
	w.check(cluster.BuildStatic(t.Context(), "github.com/fairlead-io/fairlead/cmd/fairlead", w.program))
	w.limited = w.impersonate("system:serviceaccount:" + namespace + ":kruise-webhook")
	w.definitions()
	w.apply(shop)
	go w.keepMounted()
	return w
}

func (w *world) check(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) kubectl(stdin string, args ...string) string {
	w.Helper()
	out, err := w.KubectlInput(w.Context(), strings.NewReader(stdin), args...)
	if err != nil {
		w.Fatalf("kubectl %v: %v: %s", args, err, out)
	}
	return out
}

func (w *world) apply(manifest string) { w.kubectl(manifest, "apply", "-f", "-") }

func (w *world) until(what string, holds func() bool) {
	w.Helper()
	start := time.Now()
	for !holds() {
		if time.Since(start) > patience {
			w.Fatalf("not within %s: %s", patience, what)
		}
		time.Sleep(200 * time.Millisecond)
	}
	w.Logf("after %4.1f s: %s", time.Since(start).Seconds(), what)
}

// install installs or upgrades the chart.
func (w *world) install(set ...string) {
	w.Helper()
	args := []string{"upgrade", "--install", installation.Release, filepath.Join(w.root, "charts", "kruise")}
	for _, value := range set {
		args = append(args, "--set", value)
	}
	out, err := w.Helm(w.Context(), args...)
	if err != nil {
		w.Fatalf("installing the chart: %v: %s", err, out)
	}
}

// impersonate writes a kubeconfig with the rights of an account.
func (w *world) impersonate(account string) string {
	w.Helper()
	config, err := clientcmd.LoadFromFile(w.Kubeconfig())
	w.check(err)
	for _, user := range config.AuthInfos {
		user.Impersonate = account
		user.ImpersonateGroups = []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"}
	}
	file := filepath.Join(w.TempDir(), "kubeconfig")
	w.check(clientcmd.WriteToFile(*config, file))
	return file
}

// certManager runs cert-manager's controllers.
func (w *world) certManager() {
	w.Helper()
	program := filepath.Join(w.TempDir(), "certmanager")
	if out, err := exec.CommandContext(w.Context(), "go", "build", "-C", w.module(), "-o", program, ".").CombinedOutput(); err != nil {
		w.Fatalf("building cert-manager: %v: %s", err, out)
	}
	w.run(exec.Command(program, "--kubeconfig="+w.Kubeconfig()), "cert-manager")
}

// module is the folder of the program that runs cert-manager's controllers.
func (w *world) module() string { return filepath.Join(w.root, "internal", "tools", "certmanager") }

// definitions installs cert-manager's kinds.
func (w *world) definitions() {
	w.Helper()
	source, err := exec.CommandContext(w.Context(), "go", "list", "-C", w.module(), "-m", "-f", "{{.Dir}}", "github.com/cert-manager/cert-manager").Output()
	w.check(err)
	definitions := filepath.Join(strings.TrimSpace(string(source)), "deploy", "crds")
	w.kubectl("", "apply", "--server-side", "-f", definitions)
	w.kubectl("", "wait", "--for=condition=Established", "--timeout=60s", "-f", definitions)
}

// run starts a program, and shows the end of what it said if the test fails. The returned function ends it and waits.
func (w *world) run(command *exec.Cmd, name string) (stop func()) {
	w.Helper()
	log := &tail{}
	command.Stdout, command.Stderr = log, log
	w.check(command.Start())
	stop = sync.OnceFunc(func() {
		_ = command.Process.Signal(os.Interrupt)
		_ = command.Wait() // it was told to end
	})
	w.Cleanup(func() {
		stop()
		if w.Failed() {
			w.Logf("the last words of %s:\n%s", name, log)
		}
	})
	return stop
}

// tail keeps the end of what is written.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	t.kept = t.kept[max(0, len(t.kept)-16<<10):]
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.kept)
}

func (w *world) secret() map[string][]byte {
	live, err := w.client.CoreV1().Secrets(namespace).Get(context.Background(), secret, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		w.Errorf("reading the Secret: %v", err)
	}
	return live.Data
}

// keepMounted does what a kubelet does for an optional Secret: a little late, all files at once, none without the Secret.
func (w *world) keepMounted() {
	var mounted map[string][]byte
	for i := 0; w.Context().Err() == nil; i++ {
		live, err := w.client.CoreV1().Secrets(namespace).Get(w.Context(), secret, metav1.GetOptions{})
		wanted := map[string][]byte{}
		for _, key := range []string{"tls.crt", "tls.key", "ca.crt"} {
			if value, there := live.Data[key]; there && err == nil {
				wanted[key] = value
			}
		}
		if (err == nil || apierrors.IsNotFound(err)) && !same(mounted, wanted) {
			w.swap(fmt.Sprintf("..%d", i), wanted)
			mounted = wanted
		}
		time.Sleep(mountLag)
	}
}

func same(a, b map[string][]byte) bool {
	if len(a) != len(b) {
		return false
	}
	for key := range a {
		if !bytes.Equal(a[key], b[key]) {
			return false
		}
	}
	return true
}

func (w *world) swap(version string, files map[string][]byte) {
	must := func(err error) {
		if err != nil && w.Context().Err() == nil {
			w.Errorf("mounting the Secret: %v", err)
		}
	}
	must(os.Mkdir(filepath.Join(w.mount, version), 0o700))
	for name, content := range files {
		must(os.WriteFile(filepath.Join(w.mount, version, name), content, 0o600))
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(w.mount, name)); err != nil && !os.IsExist(err) {
			must(err)
		}
	}
	must(os.Symlink(version, filepath.Join(w.mount, "..next")))
	must(os.Rename(filepath.Join(w.mount, "..next"), filepath.Join(w.mount, "..data")))
}

// renew sets a Certificate's Issuing condition, as `cmctl renew` does.
func (w *world) renew(certificate string) {
	w.Helper()
	path := "/apis/cert-manager.io/v1/namespaces/" + namespace + "/certificates/" + certificate
	raw, err := w.client.RESTClient().Get().AbsPath(path).DoRaw(w.Context())
	w.check(err)
	var live struct {
		Status struct {
			Conditions []map[string]any `json:"conditions"`
		} `json:"status"`
	}
	w.check(json.Unmarshal(raw, &live))
	conditions := slices.DeleteFunc(live.Status.Conditions, func(c map[string]any) bool { return c["type"] == "Issuing" })
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": append(conditions, map[string]any{
		"type": "Issuing", "status": "True", "reason": "ManuallyTriggered", "message": "renewed by the test",
	})}})
	w.check(err)
	w.kubectl("", "-n", namespace, "patch", "certificate", certificate, "--subresource=status", "--type=merge", "-p", string(patch))
}

// admit creates a Pod, as a dry run, and says what containers it has.
func (w *world) admit() (string, error) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "web-", Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "bank.test/web:v1"}}},
	}
	admitted, err := w.client.CoreV1().Pods("shop").Create(w.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		return "", err
	}
	var names []string
	for _, c := range admitted.Spec.Containers {
		names = append(names, c.Name)
	}
	return strings.Join(names, " "), nil
}
