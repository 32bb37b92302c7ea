package terminal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

// Exit codes, the same for all commands.
const (
	// ExitOK: nothing is refused, nothing is wrong.
	ExitOK = 0
	// ExitFound: a request is refused, or something is wrong; what it is has been printed.
	ExitFound = 1
	// ExitUsage: the command line or a file cannot be understood.
	ExitUsage = 2
	// ExitUnreachable: the cluster, or something in it that is needed for an answer, could not be read.
	ExitUnreachable = 3
	// ExitUnwritten: the answer could not be written where it was wanted, so that nobody has it whole.
	ExitUnwritten = 4
	// ExitInterrupted: the person broke it off, as shells say it.
	ExitInterrupted = 130
)

// exit is an error with an exit code.
type exit struct {
	code int
	err  error
}

func (e *exit) Error() string { return e.err.Error() }
func (e *exit) Unwrap() error { return e.err }

// Usage makes an error one of the command line or its files.
func Usage(err error) error { return withCode(ExitUsage, err) }

// Usagef is Usage of a new error.
func Usagef(format string, args ...any) error { return Usage(fmt.Errorf(format, args...)) }

// Unreachable makes an error one of the cluster.
func Unreachable(err error) error { return withCode(ExitUnreachable, err) }

// Unwritten makes an error one of writing the answer.
func Unwritten(err error) error { return withCode(ExitUnwritten, err) }

func withCode(code int, err error) error {
	if err == nil {
		return nil
	}
	return &exit{code, err}
}

// Found ends a command with ExitFound, or another code, without a further word: it has printed what is the matter.
func Found(cmd *cobra.Command, code int) error {
	if code == ExitOK {
		return nil
	}
	cmd.SilenceErrors = true
	return withCode(code, errors.New("see above"))
}

// lastWords is how long a command that is broken off has to end by itself.
const lastWords = 200 * time.Millisecond

// Interruptible has a command, and those below it, end soon once their context does, even while they wait for what cannot be
// broken off: standard input, or a client that takes no context. They have nothing to tidy up.
func Interruptible(cmd *cobra.Command) *cobra.Command {
	for _, sub := range cmd.Commands() {
		Interruptible(sub)
	}
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			return orInterrupted(cmd.Context(), func() error { return run(cmd, args) })
		}
	}
	return cmd
}

func orInterrupted(ctx context.Context, run func() error) error {
	ended := make(chan error, 1)
	go func() { ended <- run() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-ended:
		if err == nil {
			return nil
		}
	case <-time.After(lastWords):
	}
	return withCode(ExitInterrupted, errors.New("interrupted"))
}

// ExitCode is what a program ends with after an error, nil included. Errors that say nothing about it are faults of
// other kinds, and give ExitFound.
func ExitCode(err error) int {
	var coded *exit
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &coded):
		return coded.code
	default:
		return ExitFound
	}
}

// Args makes what a check of arguments complains about an error of usage.
func Args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error { return Usage(check(cmd, args)) }
}
