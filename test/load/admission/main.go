// Command admission measures what Fairlead's admission costs as ratios to a server that does nothing (test/load/floor),
// both in one run, alternating, so that a noisy machine disturbs both alike. It prints a Markdown table.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"time"
)

func main() {
	requests := flag.Int("requests", 20000, "requests per server and round; CPU time is counted in ticks of 10 ms")
	rounds := flag.Int("rounds", 3, "rounds; the medians are reported")
	flag.Parse()
	if err := run(os.Stdout, *requests, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "bench-admission:", err)
		os.Exit(1)
	}
}

// scenario is one row of the table.
type scenario struct {
	name        string
	sidecarSets int
	body        []byte
}

func scenarios() []scenario {
	var list []scenario
	for _, n := range []int{1, 100, 1000, 10000} {
		list = append(list, scenario{fmt.Sprintf("Pod that matches 1 of %d SidecarSets", n), n, newReview("bench")})
	}
	return append(list, scenario{"Pod that matches none of 1000 SidecarSets", 1000, unmatched()})
}

func run(out io.Writer, requests, rounds int) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	dir, err := os.MkdirTemp("", "bench-admission")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, name := range []string{"./cmd/fairlead", "./test/load/floor"} {
		build := exec.CommandContext(ctx, "go", "build", "-o", dir+"/", name)
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("building %s: %w", name, err)
		}
	}
	floor, err := start(ctx, dir, "floor", "https://127.0.0.1:9500/", filepath.Join(dir, "floor"), "127.0.0.1:9500")
	if err != nil {
		return err
	}
	defer floor.stop()
	fmt.Fprintln(out, "| scenario | CPU per review | no-op's | ratio | p99 | no-op's | ratio | RSS |\n|---|---|---|---|---|---|---|---|")
	for _, s := range scenarios() {
		row, err := measureScenario(ctx, dir, floor, s, requests, rounds)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		fmt.Fprintln(out, row)
	}
	return nil
}

func measureScenario(ctx context.Context, dir string, floor *server, s scenario, requests, rounds int) (string, error) {
	objects := filepath.Join(dir, "objects")
	if err := writeSidecarSets(objects, s.sidecarSets); err != nil {
		return "", err
	}
	ready, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	fairlead, err := start(ready, dir, "fairlead", "https://127.0.0.1:9501/mutate-pod", filepath.Join(dir, "fairlead"),
		"webhook", "--standalone", "--objects", objects, "--bind-address", "127.0.0.1:9501",
		"--metrics-addr", "127.0.0.1:9502", "--health-probe-addr", "127.0.0.1:9503")
	if err != nil {
		return "", err
	}
	defer fairlead.stop()
	ours, noop, err := alternate(ctx, fairlead, floor, s.body, requests, rounds)
	if err != nil {
		return "", err
	}
	rss, err := fairlead.rss()
	return fmt.Sprintf("| %s | %v | %v | %.2f | %v | %v | %.2f | %d MiB |", s.name,
		ours.cpu, noop.cpu, ratio(ours.cpu, noop.cpu), ours.p99, noop.p99, ratio(ours.p99, noop.p99), rss>>20), err
}

// sample is what one review costs: CPU time of the server, and the latency that 99 of 100 stay below.
type sample struct{ cpu, p99 time.Duration }

// alternate measures both servers in turn after warming them up, and gives the medians.
func alternate(ctx context.Context, a, b *server, body []byte, requests, rounds int) (sample, sample, error) {
	samples := map[*server][]sample{}
	for round := range rounds + 1 {
		for _, s := range []*server{a, b} {
			measured, err := measure(ctx, s, body, requests)
			if err != nil {
				return sample{}, sample{}, err
			}
			if round > 0 {
				samples[s] = append(samples[s], measured)
			}
		}
	}
	return median(samples[a]), median(samples[b]), nil
}

func measure(ctx context.Context, s *server, body []byte, requests int) (sample, error) {
	before, err := s.cpu()
	if err != nil {
		return sample{}, err
	}
	latencies, err := drive(ctx, s, body, requests)
	if err != nil {
		return sample{}, err
	}
	after, err := s.cpu()
	return sample{(after - before) / time.Duration(requests), latencies[len(latencies)*99/100]}, err
}

func median(samples []sample) sample {
	cpu := make([]time.Duration, 0, len(samples))
	p99 := make([]time.Duration, 0, len(samples))
	for _, s := range samples {
		cpu, p99 = append(cpu, s.cpu), append(p99, s.p99)
	}
	slices.Sort(cpu)
	slices.Sort(p99)
	return sample{cpu[len(cpu)/2].Round(100 * time.Nanosecond), p99[len(p99)/2].Round(10 * time.Microsecond)}
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

// writeSidecarSets writes n SidecarSets, of which the first matches the review's Pod, as one List.
func writeSidecarSets(dir string, n int) error {
	items := make([]any, n)
	for i := range items {
		name, app := fmt.Sprintf("other-%d", i), fmt.Sprintf("other-%d", i)
		if i == 0 {
			name, app = "match", "nginx"
		}
		items[i] = sidecarSet(name, app, i)
	}
	data, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "sidecarsets.json"), data, 0o600)
}
