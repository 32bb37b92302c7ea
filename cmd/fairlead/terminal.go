package main

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fairlead-io/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/internal/terminal/doctor"
	"github.com/fairlead-io/fairlead/internal/terminal/explain"
	"github.com/fairlead-io/fairlead/internal/terminal/policy"
	"github.com/fairlead-io/fairlead/internal/terminal/review"
)

// completionName is the name under which kubectl looks for a program that completes the command lines of the plugin.
const completionName = "kubectl_complete-fairlead"

// newTerminalCommands makes the commands for a person at a terminal.
func newTerminalCommands(program terminal.Program) []*cobra.Command {
	return []*cobra.Command{
		terminal.Interruptible(review.NewCommand(program)), terminal.Interruptible(explain.NewCommand(program)),
		terminal.Interruptible(doctor.NewCommand(program)), terminal.Interruptible(policy.NewCommand(program)),
	}
}

// arguments are those of the command line; under its other name the program completes.
func arguments(command []string) []string {
	if terminal.NameOf(command[0]) == completionName {
		return append([]string{cobra.ShellCompRequestCmd}, command[1:]...)
	}
	return command[1:]
}

// serviceSettings reads a command line of `fairlead webhook`, as that does.
func serviceSettings(args []string, getenv func(string) string) (*terminal.Settings, error) {
	parsed := &webhookFlags{}
	flags := pflag.NewFlagSet("webhook", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true // those of another version
	parsed.add(flags, getenv)
	if err := flags.Parse(args); err != nil {
		return nil, fmt.Errorf("reading the arguments of the admission service: %w", err)
	}
	if err := parsed.complete(flags, getenv); err != nil {
		return nil, err
	}
	return &terminal.Settings{
		Options: parsed.options, Registers: parsed.register, Secret: cmp.Or(getenv("SECRET_NAME"), defaultSecret),
		Injection: parsed.injection,
	}, nil
}
