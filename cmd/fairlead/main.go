// Command fairlead is every role of Fairlead: each subcommand is one.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/version"
)

func main() {
	os.Exit(run())
}

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if err := newRootCommand(os.Getenv).ExecuteContext(ctx); err != nil {
		return 1 // cobra has said it
	}
	return 0
}

// newRootCommand makes the whole program. getenv looks an environment variable up.
func newRootCommand(getenv func(string) string) *cobra.Command {
	root := &cobra.Command{
		Use:          "fairlead",
		Short:        "Policies for Kubernetes workloads, at admission and after",
		SilenceUsage: true,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(
		newWebhookCommand(getenv),
		newControllersCommand(getenv),
		newVersionCommand(),
	)
	return root
}

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "fairlead %s %s %s/%s\n", version.String(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
