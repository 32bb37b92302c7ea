package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/fairlead-io/fairlead/test/load/reviews"
)

// Where the servers listen.
const (
	floorAddress = "127.0.0.1:9500"
	readsAddress = "127.0.0.1:9504"
)

// addresses are where one Fairlead listens.
type addresses struct{ webhook, metrics, health string }

var (
	measured = addresses{"127.0.0.1:9501", "127.0.0.1:9502", "127.0.0.1:9503"}
	compared = addresses{"127.0.0.1:9505", "127.0.0.1:9506", "127.0.0.1:9507"}
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
	b.floor.Stop()
	b.api.CloseClientConnections()
	b.api.Close()
}

// measure measures a scenario, and beside it the one that its target refers to: what a ratio compares runs in turn, so that
// a machine that is slower for a minute is so for both.
func (b *bench) measure(ctx context.Context, s scenario) (result, error) {
	ours, err := b.startFairlead(ctx, s, measured)
	if err != nil {
		return result{}, err
	}
	defer ours.Stop()
	b.floor.exchange.body = s.body
	servers := []*server{ours, b.floor}
	if s.inCluster || s.target.of != nil {
		third, err := b.startThird(ctx, s)
		if err != nil {
			return result{}, err
		}
		defer third.Stop()
		servers = append(servers, third)
	}
	samples, err := b.alternate(ctx, servers)
	if err != nil {
		return result{}, err
	}
	r := compare(s, samples)
	rss, err := ours.RSS()
	r.rss = rss >> 20
	return r, err
}

// startThird starts what is measured beside Fairlead and the no-op: a server that only reads what Fairlead reads, or Fairlead
// in the scenario that the target refers to.
func (b *bench) startThird(ctx context.Context, s scenario) (*server, error) {
	if s.inCluster {
		return start(ctx, b.dir, "reads", exchange{url: "https://" + readsAddress + "/", body: s.body, answer: accepted},
			filepath.Join(b.dir, "reads"), readsAddress, b.kubeconfig)
	}
	return b.startFairlead(ctx, *s.target.of, compared)
}

func (b *bench) startFairlead(ctx context.Context, s scenario, at addresses) (*server, error) {
	argv := []string{
		filepath.Join(b.dir, "fairlead"), "webhook", "--bind-address", at.webhook,
		"--metrics-addr", at.metrics, "--health-probe-addr", at.health,
	}
	if s.inCluster {
		argv = append(argv, "--kubeconfig", b.kubeconfig, "--register=false")
	} else {
		objects := filepath.Join(b.dir, "objects-"+at.webhook)
		if err := writeObjects(objects, s); err != nil {
			return nil, err
		}
		argv = append(argv, "--standalone", "--objects", objects)
	}
	if s.gates != "" {
		argv = append(argv, "--feature-gates", s.gates)
	}
	ready, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	url := "https://" + at.webhook + s.path
	first := exchange{url: url, body: s.body, answer: s.answer}
	if s.refused != nil {
		first.body, first.answer = s.refused, denied
	}
	started, err := start(ready, b.dir, "fairlead-"+at.webhook, first, argv...)
	if err == nil {
		started.exchange.body, started.exchange.answer = s.body, s.answer
	}
	return started, err
}

// sample is what one review costs: CPU time of the server, the latency that 99 of 100 stay below, and reads from the API
// server.
type sample struct {
	cpu, p99 time.Duration
	reads    float64
}

// alternate measures servers in turn after warming them up, each round the other way round, and gives each one's samples.
func (b *bench) alternate(ctx context.Context, servers []*server) ([][]sample, error) {
	samples := make([][]sample, len(servers))
	for round := range b.rounds + 1 {
		for turn := range servers {
			i := turn
			if round%2 == 1 {
				i = len(servers) - 1 - turn
			}
			measured, err := b.sample(ctx, servers[i])
			if err != nil {
				return nil, err
			}
			if round > 0 {
				samples[i] = append(samples[i], measured)
			}
		}
	}
	return samples, nil
}

func (b *bench) sample(ctx context.Context, s *server) (sample, error) {
	before, err := s.CPU()
	if err != nil {
		return sample{}, err
	}
	readsBefore := b.api.reads.Load()
	latencies, err := drive(ctx, s, b.requests)
	if err != nil {
		return sample{}, err
	}
	after, err := s.CPU()
	return sample{
		cpu: (after - before) / time.Duration(b.requests), p99: latencies[len(latencies)*99/100],
		reads: float64(b.api.reads.Load()-readsBefore) / float64(b.requests),
	}, err
}

// writeObjects writes a scenario's SidecarSets, of which the first matches the review's Pod, its budget and its policies as one
// List.
func writeObjects(dir string, s scenario) error {
	items := append(reviews.SidecarSets(s.sidecarSets), reviews.Budget())
	if s.policies > 0 {
		items = append(items, reviews.Policies(s.policies-concerned))
	}
	data, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "objects.json"), data, 0o600)
}
