package policy

import (
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/terminal"
)

// print writes a run for people.
func (c *testCommand) print(t *terminal.Text, all summary) {
	for _, result := range all.Sets {
		c.printSet(t, result)
	}
	colour := terminal.Good
	if strings.Contains(counted(all), "cannot") || all.Failed > 0 {
		colour = terminal.Bad
	}
	t.Line("%s", t.In(colour, counted(all)))
}

func (c *testCommand) printSet(t *terminal.Text, result *Result) {
	t.Line("%s  %s", t.In(terminal.Bold, result.Set), t.In(terminal.Dim, result.Where))
	for _, warning := range result.Warnings {
		t.Line("  %s %s", t.In(terminal.Warn, "WARN"), warning)
	}
	if result.Error != "" {
		t.Line("  %s", t.In(terminal.Bad, "ERROR"))
		indented(t, "    ", result.Error)
		return
	}
	for _, test := range result.Tests {
		c.printTest(t, test)
	}
	if len(result.Tests) == 0 {
		t.Line("  %s", t.In(terminal.Warn, "no test"))
	}
	if c.coverage || c.short(result) {
		t.Line("  covered %.1f%%", result.Coverage)
		for _, where := range result.Uncovered {
			t.Line("    not reached: %s", where)
		}
	}
	if c.short(result) {
		t.Line("  %s less than --threshold=%g is covered", t.In(terminal.Bad, "FAIL"), c.threshold)
	}
}

func (c *testCommand) printTest(t *terminal.Text, test Test) {
	switch test.Outcome {
	case passed:
		if !c.verbose {
			return
		}
		t.Line("  %s %s (%.1f ms)", t.In(terminal.Good, "PASS"), test.Name, test.Seconds*1000)
	case skipped:
		t.Line("  %s %s", t.In(terminal.Warn, "SKIP"), test.Name)
		return
	default:
		t.Line("  %s %s  %s", t.In(terminal.Bad, strings.ToUpper(test.Outcome)), test.Name, test.Where)
	}
	if test.Error != "" {
		indented(t, "    ", test.Error)
	}
	if test.FailedAt != "" {
		t.Line("    failed at %s", test.FailedAt)
	}
	c.printTrace(t, test.Trace)
	if test.Output != "" {
		indented(t, "    print: ", test.Output)
	}
}

// shortTrace is how many lines of a trace are shown unless all are asked for.
const shortTrace = 30

func (c *testCommand) printTrace(t *terminal.Text, trace []string) {
	if more := len(trace) - shortTrace; more > 0 && !c.verbose {
		t.Line("    %s", t.In(terminal.Dim, fmt.Sprintf("(%d more lines of the trace with -v)", more)))
		trace = trace[more:]
	}
	for _, line := range trace {
		t.Line("    %s", t.In(terminal.Dim, strings.TrimRight(line, " ")))
	}
}

func indented(t *terminal.Text, by, text string) {
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		t.Line("%s%s", by, line)
	}
}

func counted(all summary) string {
	text := fmt.Sprintf("%d passed, %d failed", all.Passed, all.Failed)
	if all.Skipped > 0 {
		text += fmt.Sprintf(", %d skipped", all.Skipped)
	}
	broken := 0
	for _, result := range all.Sets {
		if result.Error != "" {
			broken++
		}
	}
	if broken > 0 {
		text += ", " + terminal.Counted(broken, "set") + " cannot be used"
	}
	return text
}
