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

	"github.com/fairlead-io/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/internal/version"
)

func main() {
	os.Exit(run())
}

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	root := newRootCommand(terminal.NameOf(os.Args[0]), os.Getenv)
	root.SetArgs(arguments(os.Args))
	return terminal.ExitCode(root.ExecuteContext(ctx)) // cobra has said it
}

// newRootCommand makes the whole program, which the person calls by this name. getenv looks an environment variable up.
func newRootCommand(name string, getenv func(string) string) *cobra.Command {
	root := &cobra.Command{
		Use:          "fairlead",
		Short:        "Policies for Kubernetes workloads, at admission and after",
		SilenceUsage: true,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	program := terminal.Program{Name: name, Getenv: getenv, Parse: serviceSettings}
	program.Prepare(root)
	roles := []*cobra.Command{newWebhookCommand(getenv), newControllersCommand(getenv)}
	for _, role := range roles {
		role.Hidden = program.IsPlugin() // nobody runs a service through kubectl
	}
	root.AddCommand(roles...)
	root.AddCommand(newTerminalCommands(program)...)
	root.AddCommand(newVersionCommand())
	return root
}

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "fairlead %s %s %s/%s\n", version.String(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return terminal.Unwritten(err)
		},
	}
}
