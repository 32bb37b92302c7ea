// Command push builds the test images and pushes them to the registry of a running cluster.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/fairlead-io/fairlead/test/cluster/cluster"
	"github.com/fairlead-io/fairlead/test/images"
)

func main() {
	name := flag.String("name", cluster.DefaultName, "name of the cluster")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := push(ctx, *name)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func push(ctx context.Context, name string) error {
	c, err := cluster.Attach(name, "", os.Stderr)
	if err != nil {
		return err
	}
	return images.PushAll(ctx, c)
}
