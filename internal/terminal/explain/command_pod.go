package explain

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/internal/terminal/review"
	"github.com/fairlead-io/fairlead/webhook/admission"
	"github.com/fairlead-io/fairlead/webhook/replica"
)

func newPodCommand(program terminal.Program) *cobra.Command {
	c := &command{program: program}
	var files []string
	var objects string
	cmd := &cobra.Command{
		Use:   "pod (NAME | -f FILE [--objects DIR])",
		Short: "Say which SidecarSets a Pod gets and why not the others, and what holds its start or its end",
		Long: "Say which SidecarSets a Pod gets, in which order and version, and why not the others; who set its readiness\n" +
			"gates and how they are; what its containers wait for to start; which PodUnavailableBudgets select it and what\n" +
			"decides; and what deletion protection means for it. With -f it is the Pod, or the Pod of a workload's template,\n" +
			"as it would be created.\n\n" + exitCodes,
		Example: program.Examples(`
			fairlead explain pod web-0 -n shop
			fairlead explain pod -f deployment.yaml
			fairlead explain pod -f pod.yaml --objects ./objects -o json`),
		Args:              terminal.Args(cobra.MaximumNArgs(1)),
		ValidArgsFunction: c.connection.CompleteNames(podResource, true),
	}
	cmd.Flags().StringSliceVarP(&files, "filename", "f", nil, "Files with Pods or workloads, - for standard input.")
	cmd.Flags().StringVar(&objects, "objects", "", "Folder with the SidecarSets, revisions and Namespaces to take instead of the cluster's, with -f.")
	c.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if (len(args) == 1) == (len(files) > 0) || len(args) == 1 && objects != "" {
			return terminal.Usagef("reading the command line: the name of a Pod is needed, or -f FILE, with which --objects may go")
		}
		if err := c.output.Check(); err != nil {
			return err
		}
		reports, err := c.pods(cmd, args, files, objects)
		if err != nil {
			return err
		}
		return c.output.Print(cmd.OutOrStdout(), c.program.Getenv, map[string]any{"pods": reports}, func(t *terminal.Text) {
			for i, report := range reports {
				if i > 0 {
					t.Line("")
				}
				printPod(t, report)
			}
		})
	}
	return cmd
}

func (c *command) pods(cmd *cobra.Command, args, files []string, objects string) ([]*PodReport, error) {
	ctx := cmd.Context()
	namespace, err := c.connection.Namespace()
	if err != nil {
		return nil, err
	}
	requests, err := podRequests(cmd, files, namespace)
	if err != nil {
		return nil, err
	}
	var explainer *Explainer
	if objects == "" {
		explainer, err = c.live(ctx, cmd)
	} else {
		explainer, err = c.offline(cmd, objects)
	}
	if err != nil {
		return nil, err
	}
	defer explainer.Reviewer.Judge.Close()
	if len(args) == 1 {
		report, err := explainer.Stored(ctx, namespace, strings.TrimPrefix(args[0], "pod/"))
		return []*PodReport{report}, err
	}
	var reports []*PodReport
	for _, request := range requests {
		report, err := explainer.Created(ctx, request)
		if err != nil {
			return nil, err
		}
		reports = append(reports, report)
	}
	return reports, nil
}

// podRequests are the creations of the files' Pods, and of Pods of their workloads.
func podRequests(cmd *cobra.Command, files []string, namespace string) ([]review.Request, error) {
	documents, err := terminal.ReadFiles(files, cmd.InOrStdin())
	if err != nil {
		return nil, err
	}
	var requests []review.Request
	for _, document := range documents {
		request := review.Request{Source: document.Where, Operation: admission.Create, Object: document.JSON, Namespace: namespace}
		pod, err := review.IsPod(request)
		if err != nil {
			return nil, err
		}
		if !pod {
			var has bool
			if request, has, err = review.PodOf(request); err != nil {
				return nil, err
			}
			if !has {
				continue
			}
		}
		requests = append(requests, request)
	}
	if len(files) > 0 && len(requests) == 0 {
		return nil, terminal.Usage(errNoPods)
	}
	return requests, nil
}

func (c *command) offline(cmd *cobra.Command, objects string) (*Explainer, error) {
	installation, err := c.installation.Offline()
	if err != nil {
		return nil, err
	}
	complaints := &terminal.Complaints{}
	judge, err := replica.NewOfflineJudge(cmd.Context(), installation.Options(complaints), objects)
	if err != nil {
		return nil, terminal.Usage(err)
	}
	for _, complaint := range complaints.All() {
		cmd.PrintErrln("Warning:", complaint)
	}
	return &Explainer{Reviewer: review.New(review.Options{Judge: judge, Resources: review.Offline{}, Assume: true})}, nil
}
