// Command release makes the files of a release from this tree: the chart and a repository index for it, the image for every
// architecture as an OCI layout, the command line for every platform, bills of materials and checksums. The same commit,
// version and Go give the same bytes.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	version := flags.String("version", os.Getenv("VERSION"), "version such as 1.2.3 or v1.2.3-rc.1 (also $VERSION); default: from the tag of the commit, or a version before the next one")
	output := flags.String("output", "dist", "folder to write, emptied first")
	platforms := flags.String("platforms", strings.Join(allPlatforms, ","), "platforms of the command line; images are made of those of Linux")
	base := flags.String("chart-url", os.Getenv("CHART_URL"), "URL of the folder that the chart will be in (also $CHART_URL); default: beside the index")
	previous := flags.String("previous-index", os.Getenv("PREVIOUS_INDEX"), "index.yaml of earlier releases, which the new one continues (also $PREVIOUS_INDEX)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	targets, err := parsePlatforms(*platforms)
	if err != nil {
		return err
	}
	tree, err := readTree(ctx, *version, os.Getenv("SOURCE_DATE_EPOCH"))
	if err != nil {
		return err
	}
	r := &release{
		tree: *tree, output: *output, platforms: targets, chartURL: *base, previousIndex: *previous, log: os.Stderr,
		compile: compile, materials: materials,
	}
	return r.make(ctx)
}
