package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/test/load/reviews"
)

// Where the servers listen.
const (
	floorAddress    = "127.0.0.1:9500"
	fairleadAddress = "127.0.0.1:9501"
	metricsAddress  = "127.0.0.1:9502"
	healthAddress   = "127.0.0.1:9503"
	readsAddress    = "127.0.0.1:9504"
)

// bench has what all scenarios use.
type bench struct {
	options
	dir        string
	api        *apiServer
	kubeconfig string
	floor      *server
}

func newBench(ctx context.Context, dir string, o options) (*bench, error) {
	if err := build(ctx, dir); err != nil {
		return nil, err
	}
	b := &bench{options: o, dir: dir, api: newAPIServer(), kubeconfig: filepath.Join(dir, "kubeconfig")}
	if err := b.api.kubeconfig(b.kubeconfig); err != nil {
		return nil, err
	}
	var err error
	b.floor, err = start(ctx, dir, "floor", exchange{url: "https://" + floorAddress + "/", body: reviews.Matched(), answer: accepted},
		filepath.Join(dir, "floor"), floorAddress)
	return b, err
}

func (b *bench) close() {
	b.floor.stop()
	b.api.CloseClientConnections()
	b.api.Close()
}

// measure measures a scenario.
func (b *bench) measure(ctx context.Context, s scenario) (result, error) {
	ours, err := b.startFairlead(ctx, s)
	if err != nil {
		return result{}, err
	}
	defer ours.stop()
	b.floor.exchange.body = s.body
	servers := []*server{ours, b.floor}
	if s.inCluster {
		reader, err := start(ctx, b.dir, "reads", exchange{url: "https://" + readsAddress + "/", body: s.body, answer: accepted},
			filepath.Join(b.dir, "reads"), readsAddress, b.kubeconfig)
		if err != nil {
			return result{}, err
		}
		defer reader.stop()
		servers = append(servers, reader)
	}
	samples, err := b.alternate(ctx, servers)
	if err != nil {
		return result{}, err
	}
	r := result{scenario: s, ours: samples[0], noop: samples[1]}
	if s.inCluster {
		r.reads, r.readsCPU = samples[0].reads, samples[2].cpu-samples[1].cpu
	}
	rss, err := ours.rss()
	r.rss = rss >> 20
	return r, err
}

func (b *bench) startFairlead(ctx context.Context, s scenario) (*server, error) {
	argv := []string{
		filepath.Join(b.dir, "fairlead"), "webhook", "--bind-address", fairleadAddress,
		"--metrics-addr", metricsAddress, "--health-probe-addr", healthAddress,
	}
	if s.inCluster {
		argv = append(argv, "--kubeconfig", b.kubeconfig, "--register=false")
	} else {
		objects := filepath.Join(b.dir, "objects")
		if err := writeSidecarSets(objects, s.sidecarSets); err != nil {
			return nil, err
		}
		argv = append(argv, "--standalone", "--objects", objects)
	}
	ready, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return start(ready, b.dir, "fairlead", exchange{url: "https://" + fairleadAddress + s.path, body: s.body, answer: s.answer}, argv...)
}

// sample is what one review costs: CPU time of the server, the latency that 99 of 100 stay below, and reads from the API
// server.
type sample struct {
	cpu, p99 time.Duration
	reads    float64
}

// alternate measures servers in turn after warming them up, and gives the medians.
func (b *bench) alternate(ctx context.Context, servers []*server) ([]sample, error) {
	samples := make([][]sample, len(servers))
	for round := range b.rounds + 1 {
		for i, s := range servers {
			measured, err := b.sample(ctx, s)
			if err != nil {
				return nil, err
			}
			if round > 0 {
				samples[i] = append(samples[i], measured)
			}
		}
	}
	medians := make([]sample, len(servers))
	for i := range samples {
		medians[i] = median(samples[i])
	}
	return medians, nil
}

func (b *bench) sample(ctx context.Context, s *server) (sample, error) {
	before, err := s.cpu()
	if err != nil {
		return sample{}, err
	}
	readsBefore := b.api.reads.Load()
	latencies, err := drive(ctx, s, b.requests)
	if err != nil {
		return sample{}, err
	}
	after, err := s.cpu()
	return sample{
		cpu: (after - before) / time.Duration(b.requests), p99: latencies[len(latencies)*99/100],
		reads: float64(b.api.reads.Load()-readsBefore) / float64(b.requests),
	}, err
}

func median(samples []sample) sample {
	cpu, p99 := make([]time.Duration, 0, len(samples)), make([]time.Duration, 0, len(samples))
	for _, s := range samples {
		cpu, p99 = append(cpu, s.cpu), append(p99, s.p99)
	}
	slices.Sort(cpu)
	slices.Sort(p99)
	return sample{cpu[len(cpu)/2].Round(100 * time.Nanosecond), p99[len(p99)/2].Round(10 * time.Microsecond), samples[0].reads}
}

// writeSidecarSets writes n SidecarSets, of which the first matches the review's Pod, as one List.
func writeSidecarSets(dir string, n int) error {
	data, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": reviews.SidecarSets(n)})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "sidecarsets.json"), data, 0o600)
}
