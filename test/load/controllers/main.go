// Command controllers measures what the controllers of CloneSets cost on a cluster of pretended nodes: writes for each Pod,
// counted in the API server's audit log, CPU and memory of their process, and how long scaling and updating take beside a
// Deployment in the same run. It prints a Markdown table, or writes it into a document.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
)

// options say how much to measure.
type options struct {
	// pods is the size of one CloneSet, large that of the largest and of all idle ones together.
	pods, large, raced int
	// idleSets share the idle Pods.
	idleSets int
	// idleSeconds is how long nothing happens.
	idleSeconds int
	// rounds of the race against the Deployment; the medians are reported.
	rounds int
	// qps and burst are the limits of requests, of our process and of the controller manager's.
	qps, burst int
	// profiles is a folder for CPU profiles of the rollouts, none if empty.
	profiles string
}

func main() {
	o := options{idleSets: 50}
	flag.IntVar(&o.pods, "pods", 500, "Pods of a CloneSet whose writes are counted, and that the large one is compared with")
	flag.IntVar(&o.large, "large", 5000, "Pods of the large CloneSet, and of all idle ones together")
	flag.IntVar(&o.raced, "raced", 1000, "Pods of the CloneSet and the Deployment that are timed")
	flag.IntVar(&o.rounds, "rounds", 3, "how often both are timed, in turn; the medians are reported")
	flag.IntVar(&o.idleSeconds, "idle-seconds", 60, "how long to watch the idle controllers")
	flag.IntVar(&o.qps, "qps", 300, "requests a second to the API server: --rest-config-qps of ours, --kube-api-qps of the controller manager")
	flag.IntVar(&o.burst, "burst", 600, "requests at once: --rest-config-burst and --kube-api-burst")
	flag.StringVar(&o.profiles, "profiles", "", "folder to write CPU profiles of the rollouts into")
	short := flag.Bool("short", false, "100, 500 and 200 Pods and one round: a look, no result")
	only := flag.String("only", "", "regular expression of the scenarios to measure: writes, cpu, idle, time")
	write := flag.String("write", "", "document to write the table into, between its two comments that name bench-controllers")
	flag.Parse()
	if *short {
		o.pods, o.large, o.raced, o.rounds, o.idleSeconds = 100, 500, 200, 1, 20
	}
	ctrl.SetLogger(logr.Discard())
	if err := run(o, *only, *write); err != nil {
		fmt.Fprintln(os.Stderr, "bench-controllers:", err)
		os.Exit(1)
	}
}

// scenario measures one thing and makes lines of the table.
type scenario struct {
	name string
	run  func(context.Context, *world) ([]row, error)
}

func scenarios() []scenario {
	return []scenario{{"writes", countWrites}, {"cpu", compareCPU}, {"idle", watchIdle}, {"time", race}}
}

func run(o options, only, write string) error {
	wanted, err := regexp.Compile(only)
	if err != nil {
		return fmt.Errorf("reading -only: %w", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	w, err := newWorld(ctx, o)
	if err != nil {
		return err
	}
	defer w.close()
	var rows []row
	for _, s := range scenarios() {
		if !wanted.MatchString(s.name) {
			continue
		}
		more, err := s.run(ctx, w)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		for _, r := range more {
			fmt.Fprintln(os.Stderr, r)
		}
		rows = append(rows, more...)
	}
	text := report(rows, o, only, w.KubernetesVersion())
	if write != "" {
		return writeInto(write, text)
	}
	fmt.Print(text)
	return nil
}
