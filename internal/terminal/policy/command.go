package policy

import (
	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/terminal"
)

// NewCommand makes `fairlead policy`.
func NewCommand(program terminal.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Work on policies: the ones of this program for the API server, and your own",
		Args:  terminal.Args(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newTestCommand(program), newCheckCommand(program), newNativeCommand(program))
	return cmd
}
