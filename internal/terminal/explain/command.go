package explain

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/internal/terminal/review"
)

// command has what the subcommands share.
type command struct {
	program      terminal.Program
	connection   terminal.Connection
	installation terminal.InstallationFlags
	output       terminal.Output
}

const exitCodes = "Exit codes: 0 it is explained, 1 a deletion would be refused, 2 the command line or a file cannot be understood,\n" +
	"or there is no such object, 3 the cluster, or something that the answer depends on, cannot be read."

// NewCommand makes `fairlead explain`.
func NewCommand(program terminal.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain",
		Short: "Say why a Pod has the sidecars, gates and barriers that it has, or has not",
		Long:  "Say why a Pod has the sidecars, gates and barriers that it has, or has not.\n\n" + exitCodes,
		Args:  terminal.Args(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPodCommand(program), newSidecarSetCommand(program), newDeletionCommand(program))
	return cmd
}

func (c *command) add(cmd *cobra.Command) {
	c.connection.AddFlags(cmd.Flags())
	c.installation.Add(cmd.Flags(), c.program.Parse)
	c.output.AddFlag(cmd)
}

// live makes an Explainer over the cluster.
func (c *command) live(ctx context.Context, cmd *cobra.Command) (*Explainer, error) {
	cluster, err := c.connection.Connect()
	if err != nil {
		return nil, err
	}
	installation, err := c.installation.Live(ctx, cluster)
	if err != nil {
		return nil, err
	}
	complaints := &terminal.Complaints{}
	reviewer, err := review.NewLive(ctx, cluster, installation, complaints)
	if err != nil {
		return nil, err
	}
	if installation.Missing != nil {
		cmd.PrintErrln("Warning: feature gates are taken to be the defaults:", installation.Missing)
	}
	return &Explainer{Reviewer: reviewer, Cluster: cluster}, nil
}

func newSidecarSetCommand(program terminal.Program) *cobra.Command {
	c := &command{program: program}
	var all bool
	cmd := &cobra.Command{
		Use:               "sidecarset NAME",
		Aliases:           []string{"sidecarsets"},
		Short:             "Say which Pods a SidecarSet selects, and which of them are not up to date and why",
		Long:              "Say which Pods a SidecarSet selects, and which of them are not up to date and why.\n\n" + exitCodes,
		Example:           program.Examples(`fairlead explain sidecarset log-agent --all`),
		Args:              terminal.Args(cobra.ExactArgs(1)),
		ValidArgsFunction: c.connection.CompleteNames(v1beta1.GroupVersion.WithResource("sidecarsets"), false),
	}
	cmd.Flags().BoolVar(&all, "all", false, "List the Pods that are up to date too.")
	c.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := c.output.Check(); err != nil {
			return err
		}
		explainer, err := c.live(cmd.Context(), cmd)
		if err != nil {
			return err
		}
		defer explainer.Reviewer.Judge.Close()
		report, err := explainer.SidecarSet(cmd.Context(), args[0], all)
		if err != nil {
			return err
		}
		return c.output.Print(cmd.OutOrStdout(), c.program.Getenv, report, func(t *terminal.Text) { printSidecarSet(t, report) })
	}
	return cmd
}

func newDeletionCommand(program terminal.Program) *cobra.Command {
	c := &command{program: program}
	cmd := &cobra.Command{
		Use:     "deletion KIND/NAME",
		Short:   "Say what would hold the deletion of an object: protection, webhooks, finalizers",
		Long:    "Say what would hold the deletion of an object: protection, webhooks of others, finalizers. Nothing is deleted.\n\n" + exitCodes,
		Example: program.Examples("fairlead explain deletion namespace/shop\nfairlead explain deletion deploy/web -n shop"),
		Args:    terminal.Args(cobra.RangeArgs(1, 2)),
	}
	c.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		kind, name, err := kindAndName(args)
		if err != nil {
			return terminal.Usage(err)
		}
		if err := c.output.Check(); err != nil {
			return err
		}
		namespace, err := c.connection.Namespace()
		if err != nil {
			return err
		}
		explainer, err := c.live(cmd.Context(), cmd)
		if err != nil {
			return err
		}
		defer explainer.Reviewer.Judge.Close()
		report, err := explainer.Deletion(cmd.Context(), kind, namespace, name)
		if err != nil {
			return err
		}
		if err := c.output.Print(cmd.OutOrStdout(), c.program.Getenv, report, func(t *terminal.Text) { printDeletion(t, report) }); err != nil {
			return err
		}
		return terminal.Found(cmd, review.ExitCode([]*review.Result{{Webhooks: report.Webhooks}}))
	}
	return cmd
}

// kindAndName reads KIND/NAME, or KIND NAME as kubectl takes it too.
func kindAndName(args []string) (kind, name string, err error) {
	if len(args) == 2 {
		return args[0], args[1], nil
	}
	kind, name, ok := strings.Cut(args[0], "/")
	if !ok || kind == "" || name == "" {
		return "", "", errors.New("reading the command line: KIND/NAME is needed, such as deployment/web")
	}
	return kind, name, nil
}
