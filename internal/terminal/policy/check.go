package policy

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/validators/userpolicy"
	"github.com/fairlead-io/fairlead/webhook/table"
)

// checkCommand is `fairlead policy check`.
type checkCommand struct {
	program   terminal.Program
	output    terminal.Output
	namespace string
}

func newCheckCommand(program terminal.Program) *cobra.Command {
	c := &checkCommand{program: program}
	cmd := &cobra.Command{
		Use:   "check DIR|FILE...",
		Short: "Compile policies and show what they would register",
		Long: "Compile policies as the service does, and show their rules and the webhook that each set would get.\n\n" +
			"Exit codes: 0 all sets can be served, 1 one cannot, 2 the command line or a file cannot be understood.",
		Example: program.Examples(`
			fairlead policy check policies/images`),
		Args: terminal.Args(cobra.MinimumNArgs(1)),
		RunE: c.execute,
	}
	cmd.Flags().StringVar(&c.namespace, "fairlead-namespace", table.DefaultNamespace, "Namespace of the installation, which no policy concerns.")
	c.output.AddFlag(cmd)
	return cmd
}

// Checked is a set that was compiled.
type Checked struct {
	Set      string   `json:"set"`
	Where    string   `json:"where"`
	Revision string   `json:"revision,omitempty"`
	Error    string   `json:"error,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	Rules    []Rule   `json:"rules,omitempty"`
	// Webhook is the entry of the set, without how the service is reached.
	Webhook *Webhook `json:"webhook,omitempty"`
}

// Rule is a rule of a set.
type Rule struct {
	ID    string `json:"id"`
	Title string `json:"title,omitempty"`
	// Action is what becomes of a request that breaks it, enforcement of the set included.
	Action string `json:"action"`
	Where  string `json:"where"`
	// Inventory says whether it looks at other objects.
	Inventory bool `json:"inventory,omitempty"`
}

// Webhook is what the API server would be told.
type Webhook struct {
	Name              string                           `json:"name"`
	FailurePolicy     string                           `json:"failurePolicy"`
	TimeoutSeconds    int32                            `json:"timeoutSeconds,omitempty"`
	Rules             []admissionv1.RuleWithOperations `json:"rules"`
	NamespaceSelector *metav1.LabelSelector            `json:"namespaceSelector,omitempty"`
	ObjectSelector    *metav1.LabelSelector            `json:"objectSelector,omitempty"`
	MatchConditions   []admissionv1.MatchCondition     `json:"matchConditions,omitempty"`
}

func (c *checkCommand) execute(cmd *cobra.Command, args []string) error {
	if err := c.output.Check(); err != nil {
		return err
	}
	sets, err := load(args, cmd.InOrStdin())
	if err != nil {
		return err
	}
	all, code := make([]Checked, 0, len(sets)), terminal.ExitOK
	for _, f := range sets {
		checked := Checked{Set: f.name, Where: f.where}
		_, set, err := compile(cmd.Context(), f)
		if err != nil {
			checked.Error, code = err.Error(), terminal.ExitFound
		} else {
			checked.fill(set, c.namespace)
		}
		all = append(all, checked)
	}
	err = c.output.Print(cmd.OutOrStdout(), c.program.Getenv, map[string]any{"sets": all}, func(t *terminal.Text) {
		for i := range all {
			all[i].write(t)
		}
	})
	if err != nil {
		return err
	}
	return terminal.Found(cmd, code)
}

func (c *Checked) fill(set *userpolicy.Set, namespace string) {
	c.Revision, c.Warnings = set.Revision(), set.Warnings()
	for _, rule := range set.Rules() {
		c.Rules = append(c.Rules, Rule{
			ID: rule.ID, Title: rule.Title, Action: string(rule.Action.AtMost(set.Settings().Enforcement)), Where: rule.Location, Inventory: rule.Inventory,
		})
	}
	config := table.Config{Namespace: namespace}
	entry := userpolicy.Installation{Namespace: namespace}.Entry(set)
	for _, w := range config.RenderInto("", []table.Entry{entry}, table.Target{}).Webhooks {
		c.Webhook = &Webhook{
			Name: w.Name, FailurePolicy: string(*w.FailurePolicy), Rules: w.Rules, NamespaceSelector: w.NamespaceSelector,
			TimeoutSeconds: set.Settings().TimeoutSeconds, ObjectSelector: w.ObjectSelector, MatchConditions: w.MatchConditions,
		}
	}
}

func (c *Checked) write(t *terminal.Text) {
	t.Line("%s  %s", t.In(terminal.Bold, c.Set), t.In(terminal.Dim, c.Where))
	for _, warning := range c.Warnings {
		t.Line("  %s %s", t.In(terminal.Warn, "WARN"), warning)
	}
	if c.Error != "" {
		t.Line("  %s", t.In(terminal.Bad, "ERROR"))
		indented(t, "    ", c.Error)
		return
	}
	t.Line("  revision %s", c.Revision)
	for _, rule := range c.Rules {
		reads := ""
		if rule.Inventory {
			reads = ", reads data.inventory"
		}
		t.Line("  %-6s %s  %s%s", rule.Action, rule.ID, rule.Where, reads)
		if rule.Title != "" {
			t.Line("         %s", rule.Title)
		}
	}
	text, err := yaml.Marshal(c.Webhook)
	if err != nil {
		text = fmt.Appendf(nil, "%v", err)
	}
	t.Line("  webhook")
	indented(t, "    ", strings.TrimRight(string(text), "\n"))
}
