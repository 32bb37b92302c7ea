package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/terminal"
)

// command is the command line of doctor.
type command struct {
	program      terminal.Program
	connection   terminal.Connection
	installation terminal.InstallationFlags
	output       terminal.Output
	only         []string
}

// NewCommand makes `fairlead doctor`.
func NewCommand(program terminal.Program) *cobra.Command {
	c := &command{program: program}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look whether the installation works, and say how to cure what does not",
		Long: "Look whether the installation works, and say how to cure what does not. Nothing is changed.\n\n" +
			"Checks: " + strings.Join(Names(), ", ") + ".\n" +
			"What you may not read is said, and is no finding.\n\n" +
			"Exit codes: 0 all is well, 1 there is a warning or an error, 2 the command line cannot be understood,\n" +
			"3 the API server cannot be reached.",
		Example: program.Examples(`
			fairlead doctor
			fairlead doctor --check certificates,endpoints
			fairlead doctor -o json | jq '.findings[] | select(.severity == "error")'`),
		Args: terminal.Args(cobra.NoArgs),
		RunE: c.run,
	}
	cmd.Flags().StringSliceVar(&c.only, "check", nil, "Only these checks, by their names.")
	c.connection.AddFlags(cmd.Flags())
	c.installation.Add(cmd.Flags(), program.Parse)
	c.output.AddFlag(cmd)
	_ = cmd.RegisterFlagCompletionFunc("check", cobra.FixedCompletions(Names(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (c *command) run(cmd *cobra.Command, _ []string) error {
	for _, name := range c.only {
		if !slices.Contains(Names(), name) {
			return terminal.Usagef("reading --check: there is no check %q; there are %s", name, strings.Join(Names(), ", "))
		}
	}
	if err := c.output.Check(); err != nil {
		return err
	}
	cluster, err := c.connection.Connect()
	if err != nil {
		return err
	}
	installation, err := c.installation.Live(cmd.Context(), cluster)
	if err != nil {
		return err
	}
	doctor, err := New(cluster, installation, time.Now)
	if err != nil {
		return err
	}
	findings, err := doctor.Examine(cmd.Context(), c.only...)
	if err != nil {
		return err
	}
	value := map[string]any{"findings": findings, "summary": Count(findings)}
	if err := c.output.Print(cmd.OutOrStdout(), c.program.Getenv, value, func(t *terminal.Text) { Print(t, findings) }); err != nil {
		return err
	}
	return terminal.Found(cmd, ExitCode(findings))
}

// Count is how many findings there are of each severity.
func Count(findings []Finding) map[Severity]int {
	counts := map[Severity]int{OK: 0, Info: 0, Warning: 0, Error: 0}
	for _, f := range findings {
		counts[f.Severity]++
	}
	return counts
}

// ExitCode is what a command ends with after these findings.
func ExitCode(findings []Finding) int {
	if counts := Count(findings); counts[Warning]+counts[Error] > 0 {
		return terminal.ExitFound
	}
	return terminal.ExitOK
}

var colours = map[Severity]terminal.Colour{OK: terminal.Good, Info: terminal.Dim, Warning: terminal.Warn, Error: terminal.Bad}

// Print writes findings for people.
func Print(t *terminal.Text, findings []Finding) {
	for _, f := range findings {
		about := f.Message
		if f.Object != "" {
			about = f.Object + ": " + f.Message
		}
		t.Line("%s %-15s %s", t.In(colours[f.Severity], fmt.Sprintf("%-7s", f.Severity)), f.Check, about)
		if f.Means != "" {
			t.Line("%24smeans: %s", "", f.Means)
		}
		if f.Cure != "" {
			t.Line("%24scure:  %s", "", f.Cure)
		}
	}
	counts := Count(findings)
	t.Line("%s", summary(counts))
}

func summary(counts map[Severity]int) string {
	if counts[Warning]+counts[Error] == 0 {
		return "All is well."
	}
	return terminal.Counted(counts[Error], "error") + ", " + terminal.Counted(counts[Warning], "warning") + "."
}
