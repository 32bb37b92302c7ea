// Command demo shows Fairlead at work on a real Kubernetes on this machine: it starts a cluster, installs the chart with an
// image built from this tree, applies the examples and shows what became of the Pods. It may be run again and again; the
// cluster stays until `make down`.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/fairlead-io/fairlead/test/cluster/cluster"
)

func main() {
	kubernetes := flag.String("kubernetes-version", cluster.DefaultKubernetesVersion, "Kubernetes release")
	install := flag.Bool("install", false, "install missing Debian packages first")
	flag.Parse()
	d := demo{out: os.Stdout, kubernetes: *kubernetes, installPackages: *install}
	if err := untilInterrupted(d.run); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func untilInterrupted(do func(context.Context) error) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return do(ctx)
}
