package disruption

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/test/addresses"
)

const (
	// shutdownDelay outlasts withdrawal, as the product's default outlasts that of a cluster.
	shutdownDelay = 3 * time.Second
	// ending is the time for a replica to end in order, on a busy machine.
	ending = 30 * time.Second
	// patience is for what takes a Lease, which is sought every 2 s, and a busy machine.
	patience = 90 * time.Second
)

// program builds the product once for all tests of this package.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "fairlead-disruption")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "fairlead")
	out, err := exec.Command("go", "build", "-o", path, "github.com/fairlead-io/fairlead/cmd/fairlead").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building the product: %w: %s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := program(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// replica is a process of the product.
type replica struct {
	name, address, health string
	cmd                   *exec.Cmd
	log                   string
	started               time.Time
	ready, leaving        atomic.Bool
	// readyAt is when it was first seen ready; only to be read once it is.
	readyAt time.Time
	ended   chan struct{}
	err     error
}

// serving says whether the Service should have it.
func (r *replica) serving() bool { return r.ready.Load() && !r.leaving.Load() && !r.gone() }

func (r *replica) gone() bool {
	select {
	case <-r.ended:
		return true
	default:
		return false
	}
}

// start runs the product with arguments, and follows its readiness until the test ends. wrap is put before the program.
func start(t *testing.T, name string, env, wrap []string, args ...string) *replica {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	r := &replica{
		name: name, address: addresses.Free(t, addresses.Loopback), health: addresses.Free(t, addresses.Loopback), ended: make(chan struct{}),
	}
	r.log = filepath.Join(t.TempDir(), name+".log")
	log, err := os.Create(r.log)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	argv := append(append([]string{}, wrap...), path, "webhook", "--bind-address="+r.address, "--health-probe-addr="+r.health,
		"--metrics-addr=0", "--shutdown-delay="+shutdownDelay.String())
	argv = append(argv, args...)
	r.cmd = exec.Command(argv[0], argv[1:]...)
	r.cmd.Env = append(os.Environ(), env...)
	r.cmd.Stdout, r.cmd.Stderr = nil, log
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	r.started = time.Now()
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		r.err = r.cmd.Wait()
		close(r.ended)
	}()
	go r.probe(t.Context())
	t.Cleanup(func() { r.kill(); r.tell(t) })
	return r
}

// tell shows the end of a replica's log if the test failed.
func (r *replica) tell(t *testing.T) {
	if !t.Failed() {
		return
	}
	text, err := os.ReadFile(r.log)
	if err == nil && len(text) > 0 {
		t.Logf("the end of the log of %s:\n%s", r.name, text[max(0, len(text)-2000):])
	}
}

// probe follows readiness as the kubelet does, only more often.
func (r *replica) probe(ctx context.Context) {
	client := &http.Client{Timeout: time.Second}
	defer client.CloseIdleConnections()
	for ctx.Err() == nil && !r.gone() {
		resp, err := client.Get("http://" + r.health + "/readyz")
		if err == nil {
			_ = resp.Body.Close()
		}
		ready := err == nil && resp.StatusCode == http.StatusOK
		if ready && r.readyAt.IsZero() {
			r.readyAt = time.Now()
		}
		r.ready.Store(ready)
		time.Sleep(look)
	}
}

// kill ends it as the kernel does when memory runs out.
func (r *replica) kill() {
	_ = r.cmd.Process.Kill()
	<-r.ended
}

// terminate ends it as a rolling restart does, and waits.
func (r *replica) terminate(t *testing.T) {
	t.Helper()
	r.leaving.Store(true)
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("ending %s: %v", r.name, err)
	}
	select {
	case <-r.ended:
		if r.err != nil {
			t.Errorf("%s ended with %v", r.name, r.err)
		}
	case <-time.After(ending):
		t.Errorf("%s has not ended after %s", r.name, ending)
	}
}

// until waits for a condition.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(look) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", patience, what)
		}
	}
}
