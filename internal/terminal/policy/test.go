package policy

import (
	"regexp"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/terminal"
)

// perTest is how long a test may take: far more than a decision, which must come within a webhook's timeout.
const perTest = 5 * time.Second

// testCommand is `fairlead policy test`.
type testCommand struct {
	program   terminal.Program
	output    terminal.Output
	run       string
	timeout   time.Duration
	coverage  bool
	threshold float64
	verbose   bool
}

func newTestCommand(program terminal.Program) *cobra.Command {
	c := &testCommand{program: program}
	cmd := &cobra.Command{
		Use:   "test DIR|FILE...",
		Short: "Run the tests of policies with the engine that serves them",
		Long: "Compile policies as the service does, with the same builtins, and run the tests in their *_test.rego.\n\n" +
			"Each folder with files that end with .rego is a set, and so is a labelled ConfigMap in a YAML or JSON file; - is\n" +
			"standard input. bundle/NAME=FILE is a tarball of OPA with the settings.yaml beside it. Tests see the parameters of\n" +
			"settings.yaml as data.parameters; data.inventory they give themselves: `with data.inventory as {...}`.\n\n" +
			"Exit codes: 0 all tests pass, 1 one does not, a set does not compile or is covered too little, 2 the command line\n" +
			"or a file cannot be understood, or there is no test.",
		Example: program.Examples(`
			fairlead policy test docs/policies
			fairlead policy test policies/images --coverage --threshold 90
			kubectl get configmaps -n kruise-system -l fairlead.io/policy=true -o yaml | fairlead policy test -`),
		Args: terminal.Args(cobra.MinimumNArgs(1)),
		RunE: c.execute,
	}
	flags := cmd.Flags()
	flags.StringVar(&c.run, "run", "", "Run only tests whose names, as package.test_name, this regular expression finds something in.")
	flags.DurationVar(&c.timeout, "timeout", perTest, "How long one test may take.")
	flags.BoolVar(&c.coverage, "coverage", false, "Say which lines of the rules no test reaches. JSON and YAML have them anyway.")
	flags.Float64Var(&c.threshold, "threshold", 0, "Fail when less of a set than this is covered, in percent.")
	flags.BoolVarP(&c.verbose, "verbose", "v", false, "Name the tests that pass, and what print() says in them.")
	c.output.AddFlag(cmd)
	return cmd
}

// summary is all of a run.
type summary struct {
	Sets    []*Result `json:"sets"`
	Passed  int       `json:"passed"`
	Failed  int       `json:"failed"`
	Skipped int       `json:"skipped"`
}

func (c *testCommand) execute(cmd *cobra.Command, args []string) error {
	r := runner{timeout: c.timeout}
	if err := c.output.Check(); err != nil {
		return err
	}
	if c.run != "" {
		var err error
		if r.only, err = regexp.Compile(c.run); err != nil {
			return terminal.Usagef("reading --run: %w", err)
		}
	}
	sets, err := load(args, cmd.InOrStdin())
	if err != nil {
		return err
	}
	var all summary
	for _, set := range sets {
		result, err := r.run(cmd.Context(), set)
		if err != nil {
			return err
		}
		all.add(result)
	}
	if err := c.output.Print(cmd.OutOrStdout(), c.program.Getenv, all, func(t *terminal.Text) { c.print(t, all) }); err != nil {
		return err
	}
	return c.exit(cmd, all)
}

func (s *summary) add(result *Result) {
	s.Sets = append(s.Sets, result)
	for _, test := range result.Tests {
		switch test.Outcome {
		case passed:
			s.Passed++
		case skipped:
			s.Skipped++
		default:
			s.Failed++
		}
	}
}

// exit is the end of the command.
func (c *testCommand) exit(cmd *cobra.Command, all summary) error {
	for _, result := range all.Sets {
		if !result.ok() || c.short(result) {
			return terminal.Found(cmd, terminal.ExitFound)
		}
	}
	if all.Passed == 0 {
		return terminal.Usagef("running tests: there is none: write rules whose names begin with test_ into files whose names end with _test.rego")
	}
	return nil
}

// short says whether too little of a set is covered.
func (c *testCommand) short(result *Result) bool { return result.Coverage < c.threshold }
