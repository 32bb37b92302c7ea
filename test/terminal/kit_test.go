package terminal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/client-go/rest"

	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/test/addresses"
	"github.com/fairlead-io/fairlead/test/cluster/cluster"
	"github.com/fairlead-io/fairlead/webhook/replica"
	"github.com/fairlead-io/fairlead/webhook/table"
)

const (
	chart     = "../../charts/kruise"
	namespace = "kruise-system"
	account   = "system:serviceaccount:kruise-system:kruise-webhook"
	// patience is for what takes a Lease, which is sought every 2 s, and a busy machine.
	patience = 90 * time.Second
)

// world is an API server with the chart installed and one replica, which runs here with the rights of the chart.
type world struct {
	*testing.T
	*cluster.Cluster
	program string
	address string
	stop    func()
}

func newWorld(t *testing.T) *world {
	t.Helper()
	c := cluster.ForTest(t, cluster.Options{Level: cluster.LevelAPIServer})
	w := &world{T: t, Cluster: c, program: filepath.Join(t.TempDir(), "fairlead")}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", w.program, "github.com/fairlead-io/fairlead/cmd/fairlead").CombinedOutput(); err != nil {
		t.Fatalf("building the program: %v: %s", err, out)
	}
	if out, err := w.Helm(t.Context(), "upgrade", "--install", "kruise", chart, "--force-conflicts",
		"--set", "manager.image.repository=registry.example.com/fairlead"); err != nil {
		t.Fatalf("installing the chart: %v: %s", err, out)
	}
	w.address = addresses.Free(t, addresses.Loopback)
	_, port, err := net.SplitHostPort(w.address)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []string{"kruise-daemon-config", "default"} { // what a controller would make
		if _, err := w.kubectl("", "create", "serviceaccount", "default", "-n", n); err != nil && !strings.Contains(err.Error(), "already exists") {
			t.Fatal(err)
		}
	}
	// Nothing runs the Deployments here, so their states are written for them, and the API server is told where we are.
	w.must("", "set", "env", "-n", namespace, "deployment/kruise-webhook", "WEBHOOK_HOST=127.0.0.1", "WEBHOOK_PORT="+port)
	w.ready("kruise-webhook", 2)
	w.ready("kruise-controller-manager", 2)
	w.serve()
	w.until("a dry-run Pod comes back as it should", func() bool {
		out, code := w.run("", "doctor", "--check", "probe,configurations,definitions")
		if code != 0 {
			w.Logf("not yet: %s", out)
		}
		return code == 0
	})
	return w
}

// ready writes the status of a Deployment.
func (w *world) ready(deployment string, replicas int) {
	w.Helper()
	w.must("", "patch", "deployment", deployment, "-n", namespace, "--subresource=status", "--type=merge", "-p",
		fmt.Sprintf(`{"status":{"replicas":2,"readyReplicas":%d,"availableReplicas":%d}}`, replicas, replicas))
}

// serve runs the replica, until the test ends or w.stop.
func (w *world) serve() {
	w.Helper()
	limited := w.RESTConfig()
	limited.Impersonate = rest.ImpersonationConfig{
		UserName: account, Groups: []string{"system:serviceaccounts", "system:serviceaccounts:kruise-system", "system:authenticated"},
	}
	log := funcr.New(func(_, args string) { w.Log(args) }, funcr.Options{})
	run := replica.Cluster{
		REST: limited, Secret: "kruise-webhook-certs", Identity: "replica-1", ConversionService: "kruise-conversion",
		Options: replica.Options{
			BindAddress: w.address, Gates: features.New(""), Log: log, AccessLog: io.Discard,
			Table: table.Config{Host: w.address}, ShutdownGrace: 5 * time.Second,
		},
	}
	ctx, cancel := context.WithCancel(w.Context())
	done := make(chan error, 1)
	go func() { done <- run.Run(ctx) }()
	stopped := false
	w.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			w.Errorf("the replica ended with %v", err)
		}
	}
	w.Cleanup(w.stop)
}

// run is what the program prints, both outputs together, and its exit code.
func (w *world) run(stdin string, args ...string) (string, int) {
	w.Helper()
	cmd := exec.CommandContext(w.Context(), w.program, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+w.Kubeconfig())
	cmd.Stdin = strings.NewReader(stdin)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.Fatalf("running %v: %v", args, err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// finding is what the tests look at of one.
type finding struct{ Check, Severity, Object, Message, Means, Cure string }

// doctor runs checks and gives their findings.
func (w *world) doctor(checks string, args ...string) []finding {
	w.Helper()
	out, code := w.run("", append([]string{"doctor", "--check", checks, "-o", "json"}, args...)...)
	var report struct{ Findings []finding }
	if err := json.Unmarshal([]byte(out), &report); err != nil || code > 1 {
		w.Fatalf("doctor ends with %d: %s", code, out)
	}
	return report.Findings
}

// kubectl is what kubectl says; of a command that fails the error has it too.
func (w *world) kubectl(stdin string, args ...string) (string, error) {
	w.Helper()
	out, err := w.KubectlInput(w.Context(), strings.NewReader(stdin), args...)
	if err != nil {
		return out, fmt.Errorf("%w: %s", err, out)
	}
	return out, nil
}

func (w *world) must(stdin string, args ...string) string {
	w.Helper()
	out, err := w.kubectl(stdin, args...)
	if err != nil {
		w.Fatalf("kubectl %s: %v", strings.Join(args, " "), err)
	}
	return out
}

func (w *world) until(what string, holds func() bool) {
	w.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.Fatalf("not within %s: %s", patience, what)
		}
	}
}
