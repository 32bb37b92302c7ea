// Command admission measures what Fairlead's admission costs as ratios to a server that does nothing (test/load/floor),
// both in one run, alternating, so that a noisy machine disturbs both alike. It prints a Markdown table, or writes it into a
// document.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
)

func main() {
	var o options
	flag.IntVar(&o.requests, "requests", 4000, "requests per server and round")
	flag.IntVar(&o.rounds, "rounds", 15, "rounds; the medians are reported")
	short := flag.Bool("short", false, "5 rounds of 1000 requests: a look, no result")
	only := flag.String("only", "", "regular expression of the scenarios to measure")
	write := flag.String("write", "", "document to write the table into, between its two comments that name bench-admission")
	flag.Parse()
	if *short {
		o.requests, o.rounds = 1000, 5
	}
	if err := run(o, *only, *write); err != nil {
		fmt.Fprintln(os.Stderr, "bench-admission:", err)
		os.Exit(1)
	}
}

type options struct{ requests, rounds int }

func run(o options, only, write string) error {
	wanted, err := regexp.Compile(only)
	if err != nil {
		return fmt.Errorf("reading -only: %w", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	dir, err := os.MkdirTemp("", "bench-admission")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b, err := newBench(ctx, dir, o)
	if err != nil {
		return err
	}
	defer b.close()
	var results []result
	for _, s := range scenarios() {
		if !wanted.MatchString(s.name) {
			continue
		}
		r, err := b.measure(ctx, s)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		results = append(results, r)
		fmt.Fprintln(os.Stderr, row(r))
	}
	report := report(results, o)
	if write != "" {
		return writeInto(write, report)
	}
	fmt.Print(report)
	return nil
}

// build builds the servers into a folder.
func build(ctx context.Context, dir string) error {
	for _, name := range []string{"./cmd/fairlead", "./test/load/floor", "./test/load/reads"} {
		build := exec.CommandContext(ctx, "go", "build", "-o", dir+"/", name)
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("building %s: %w", name, err)
		}
	}
	return nil
}
