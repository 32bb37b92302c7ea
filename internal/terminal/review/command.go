package review

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/webhook/admission"
	"github.com/fairlead-io/fairlead/webhook/replica"
)

// ReadingTime is how long a person waits for the objects that admission depends on: the lists of a large cluster take seconds.
const ReadingTime = 30 * time.Second

// command is `fairlead review`.
type command struct {
	program      terminal.Program
	connection   terminal.Connection
	installation terminal.InstallationFlags
	output       terminal.Output

	files, old      []string
	objects         string
	live            bool
	operation       string
	template, whole bool
}

// NewCommand makes `fairlead review`.
func NewCommand(program terminal.Program) *cobra.Command {
	c := &command{program: program}
	cmd := &cobra.Command{
		Use:   "review -f FILE (--objects DIR | --live)",
		Short: "Show what admission would make of objects, without storing any",
		Long: "Show what admission would make of objects: the patch, the resulting object, warnings, or why it is denied.\n\n" +
			"The handlers of the admission service decide, in this process: over the SidecarSets, Namespaces,\n" +
			"revisions and users' policies in --objects, or over those of the cluster with --live. Nothing is stored, and objects are taken as\n" +
			"they are written: what the API server fills in by itself is not there. Of a file with a workload, the Pod of\n" +
			"its template is reviewed too.\n\n" + exitCodes,
		Example: program.Examples(`
			# What becomes of a Pod, with the SidecarSets in a folder
			fairlead review -f pod.yaml --objects ./objects
			# What becomes of the Pods of a Deployment, in the cluster
			fairlead review -f deployment.yaml --live
			# Whether a namespace may be deleted
			kubectl get namespace shop -o yaml | fairlead review -f - --operation delete --live
			# Whether a changed SidecarSet is valid, from a pipe
			fairlead review -f - --old before.yaml --operation update --objects ./objects < after.yaml`),
		Args: terminal.Args(cobra.NoArgs),
		RunE: c.run,
	}
	flags := cmd.Flags()
	flags.StringSliceVarP(&c.files, "filename", "f", nil, "Files or folders with objects as YAML or JSON, - for standard input.")
	flags.StringVar(&c.objects, "objects", "", "Folder of YAML and JSON files with the SidecarSets, their revisions, the Namespaces and the ConfigMaps with policies that admission depends on.")
	flags.BoolVar(&c.live, "live", false, "Read what admission depends on from the cluster.")
	flags.StringVar(&c.operation, "operation", "create", "What is asked of the API server: create, update or delete.")
	flags.StringSliceVar(&c.old, "old", nil, "Files with the objects as they were, for update. With --live the cluster's are read instead.")
	flags.BoolVar(&c.template, "template", true, "Review the Pod of a workload's template too.")
	flags.BoolVar(&c.whole, "object", true, "Show the resulting object; without it the patch alone. For -o text.")
	c.connection.AddFlags(flags)
	c.installation.Add(flags, program.Parse)
	c.output.AddFlag(cmd)
	_ = cmd.RegisterFlagCompletionFunc("operation", cobra.FixedCompletions([]string{"create", "update", "delete"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

const exitCodes = "Exit codes: 0 all are allowed, 1 one is denied, 2 the command line or a file cannot be understood,\n" +
	"3 the cluster, or something that the answer depends on, cannot be read."

func (c *command) run(cmd *cobra.Command, _ []string) error {
	if err := c.check(); err != nil {
		return err
	}
	requests, err := c.requests(cmd.InOrStdin())
	if err != nil {
		return err
	}
	complaints := &terminal.Complaints{}
	reviewer, cluster, installation, err := c.reviewer(cmd.Context(), complaints)
	if err != nil {
		return err
	}
	defer reviewer.Judge.Close()
	end, err := c.addPolicies(cmd.Context(), reviewer, cluster, installation, complaints)
	if err != nil {
		return err
	}
	defer end()
	for _, complaint := range complaints.All() {
		fmt.Fprintln(cmd.ErrOrStderr(), "Warning:", complaint)
	}
	if cluster != nil {
		if err := complete(cmd.Context(), cluster, reviewer, requests); err != nil {
			return err
		}
	}
	var results []*Result
	for _, request := range requests {
		result, err := reviewer.Review(cmd.Context(), request)
		if err != nil {
			return err
		}
		results = append(results, result)
	}
	err = c.output.Print(cmd.OutOrStdout(), c.program.Getenv, map[string]any{"reviews": results}, func(t *terminal.Text) {
		for i, result := range results {
			if i > 0 {
				t.Line("")
			}
			Print(t, result, c.whole)
		}
	})
	if err != nil {
		return err
	}
	return terminal.Found(cmd, ExitCode(results))
}

func (c *command) check() error {
	switch {
	case len(c.files) == 0:
		return terminal.Usagef("reading the command line: -f FILE is missing: it names what to review; -f - is standard input")
	case c.live == (c.objects != ""):
		return terminal.Usagef("reading the command line: one of --objects DIR and --live is needed: it says where SidecarSets come from")
	case len(c.old) > 0 && !strings.EqualFold(c.operation, "update"):
		return terminal.Usagef("reading the command line: --old is for --operation update")
	case strings.EqualFold(c.operation, "update") && len(c.old) == 0 && !c.live:
		return terminal.Usagef("reading the command line: --operation update needs --old FILE, the object as it was, or --live")
	}
	return c.output.Check()
}

func (c *command) reviewer(ctx context.Context, complaints *terminal.Complaints) (*Reviewer, *terminal.Cluster, *terminal.Installation, error) {
	if !c.live {
		installation, err := c.installation.Offline()
		if err != nil {
			return nil, nil, nil, err
		}
		judge, err := replica.NewOfflineJudge(ctx, installation.Options(complaints), c.objects)
		if err != nil {
			return nil, nil, nil, terminal.Usage(err)
		}
		return New(Options{Judge: judge, Resources: Offline{}, Assume: true}), nil, installation, nil
	}
	cluster, err := c.connection.Connect()
	if err != nil {
		return nil, nil, nil, err
	}
	installation, err := c.installation.Live(ctx, cluster)
	if err != nil {
		return nil, nil, nil, err
	}
	reviewer, err := NewLive(ctx, cluster, installation, complaints)
	return reviewer, cluster, installation, err
}

// NewLive makes a Reviewer over a cluster.
func NewLive(ctx context.Context, cluster *terminal.Cluster, installation *terminal.Installation, complaints *terminal.Complaints) (*Reviewer, error) {
	judge, err := replica.NewLiveJudge(ctx, installation.Options(complaints), cluster.Unlimited(), ReadingTime)
	if err != nil {
		return nil, terminal.Unreachable(err)
	}
	o := Options{Judge: judge, Resources: Live{cluster}}
	// Whoever may ask nothing else may ask this.
	if self, err := cluster.Client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{}); err == nil {
		o.User = admission.UserInfo{Username: self.Status.UserInfo.Username, Groups: self.Status.UserInfo.Groups}
	}
	return New(o), nil
}
