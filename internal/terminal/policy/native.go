package policy

import (
	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/validators/native"
)

// newNativeCommand makes `fairlead policy native`.
func newNativeCommand(program terminal.Program) *cobra.Command {
	gates := features.New(program.Getenv("CUSTOM_RESOURCE_ENABLE"))
	cmd := &cobra.Command{
		Use:   "native",
		Short: "Print ValidatingAdmissionPolicies for what the API server can judge without the service",
		Long: "Print, as YAML, ValidatingAdmissionPolicies and their bindings for what the API server can judge by itself, so that it\n" +
			"holds even while the service is away: deletion protection as far as the object alone decides, and the fields that an\n" +
			"update may not change. Kubernetes 1.30 or later. The chart installs the same with nativePolicies.enabled=true.\n\n" +
			"Give the feature gates of the installation: without ResourcesDeletionProtection nothing protects from deletion, and\n" +
			"with DeletionProtectionForCRDCascadingGate the service counts the objects of definitions, which CEL cannot.",
		Example: program.Examples(`
			fairlead policy native | kubectl apply --server-side -f -
			fairlead policy native --feature-gates DeletionProtectionForCRDCascadingGate=true`),
		Args: terminal.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return terminal.Unwritten(native.Write(cmd.OutOrStdout(), native.Policies(gates)))
		},
	}
	gates.AddFlag(cmd.Flags())
	return cmd
}
