package terminal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"

	"github.com/fairlead-io/fairlead/test/addresses"
	"github.com/fairlead-io/fairlead/test/inprocess"
	"github.com/fairlead-io/fairlead/test/installation"
	"github.com/fairlead-io/fairlead/webhook/table"
)

const namespace = installation.Namespace

// world is an API server with the chart installed and one replica, which runs here with the rights of the chart.
type world struct {
	inprocess.World
	program string
	address string
	stop    func()
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{World: inprocess.NewWorld(t), program: filepath.Join(t.TempDir(), "fairlead")}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", w.program, "github.com/fairlead-io/fairlead/cmd/fairlead").CombinedOutput(); err != nil {
		t.Fatalf("building the program: %v: %s", err, out)
	}
	if out, err := w.Helm(t.Context(), "upgrade", "--install", installation.Release, w.Chart(), "--force-conflicts",
		"--set", "manager.image.repository=registry.example.com/fairlead"); err != nil {
		t.Fatalf("installing the chart: %v: %s", err, out)
	}
	w.address = addresses.Free(t, addresses.Loopback)
	_, port, err := net.SplitHostPort(w.address)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []string{"kruise-daemon-config", "default"} { // what a controller would make
		if _, err := w.Try("", "create", "serviceaccount", "default", "-n", n); err != nil && !strings.Contains(err.Error(), "already exists") {
			t.Fatal(err)
		}
	}
	// Nothing runs the Deployments here, so their states are written for them, and the API server is told where we are.
	w.Must("", "set", "env", "-n", namespace, "deployment/kruise-webhook", "WEBHOOK_HOST=127.0.0.1", "WEBHOOK_PORT="+port)
	w.ready("kruise-webhook", 2)
	w.ready("kruise-controller-manager", 2)
	w.serve()
	w.Until("a dry-run Pod comes back as it should", func() bool {
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
	w.Must("", "patch", "deployment", deployment, "-n", namespace, "--subresource=status", "--type=merge", "-p",
		fmt.Sprintf(`{"status":{"replicas":2,"readyReplicas":%d,"availableReplicas":%d}}`, replicas, replicas))
}

// serve runs the replica, until the test ends or w.stop.
func (w *world) serve() {
	w.Helper()
	run := w.Replica(w.address)
	run.ConversionService, run.Table = "kruise-conversion", table.Config{Host: w.address}
	run.Log = funcr.New(func(_, args string) { w.Log(args) }, funcr.Options{})
	w.stop = w.Part("the replica", run.Run)
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
