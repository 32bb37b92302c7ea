package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/fairlead-io/fairlead/test/load/process"
)

// profileAddress is where the controllers serve profiles.
const profileAddress = "127.0.0.1:9520"

// controllers are the process under measurement.
type controllers struct{ *process.Process }

// startControllers builds the program and starts it as the chart does, with the wanted limits and without a leader
// election, which would only delay the start.
func startControllers(ctx context.Context, w *world) (*controllers, error) {
	program := filepath.Join(w.dir, "fairlead")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/fairlead")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return nil, fmt.Errorf("building fairlead: %w", err)
	}
	p, err := process.Start(filepath.Join(w.dir, "controllers.log"), program, "controllers",
		"--kubeconfig", w.Kubeconfig(), "--enable-leader-election=false",
		"--feature-gates=PodWebhook=false", // nobody admits Pods here, for which their creation would wait
		"--metrics-addr=0", "--health-probe-addr=0", "--pprof-addr="+profileAddress,
		"--rest-config-qps="+strconv.Itoa(w.qps), "--rest-config-burst="+strconv.Itoa(w.burst))
	if err != nil {
		return nil, err
	}
	return &controllers{p}, nil
}

// profile writes a CPU profile of the process into a file while do runs. Its length must be said before: it is cut off
// when do ends later.
func (c *controllers) profile(ctx context.Context, dir, name string, length time.Duration, do func() error) error {
	if dir == "" {
		return do()
	}
	failed := make(chan error, 1)
	go func() { failed <- fetchProfile(ctx, filepath.Join(dir, name+".pprof"), length) }()
	if err := do(); err != nil {
		return err
	}
	return <-failed
}

func fetchProfile(ctx context.Context, path string, length time.Duration) error {
	url := fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", profileAddress, int(length.Seconds()))
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := (&http.Client{Timeout: length + time.Minute}).Do(req)
	if err != nil {
		return fmt.Errorf("reading a profile: %w", err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return fmt.Errorf("reading a profile: %s: %w", response.Status, err)
	}
	return os.WriteFile(path, data, 0o600)
}
