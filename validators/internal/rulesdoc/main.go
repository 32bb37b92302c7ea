// Command rulesdoc writes the table of the embedded rules, made from their annotations, into a file of the docs.
package main

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"os"
	"slices"
	"strings"

	"github.com/go-logr/logr"

	"github.com/fairlead-io/fairlead/validators"
	"github.com/fairlead-io/fairlead/validators/facts"
	"github.com/fairlead-io/fairlead/validators/overlap"
)

const head = `# Rules

What Fairlead asks of the objects of each kind when they are created or changed, beside what their definitions ask. A request
that breaks rules is refused with all of its mistakes in one answer, each with its field. An update that leaves spec, labels and
annotations alone is not judged, nor is an object that is being deleted. The metric ` + "`fairlead_rules_violations_total`" + ` counts by rule.

An answer has 100 mistakes at most, and says how many more there are. Rules go through 20,000 items and fields of a spec at most, those of
Pod templates and containers not counted; what has more is refused with 422. Of new claim templates, and of patches of subsets, the API
server is asked about 50; a warning says so of the others.

This page is made from the annotations of the rules: ` + "`go generate ./validators`" + ` writes it.
`

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: rulesdoc FILE")
	}
	if err := write(os.Args[1]); err != nil {
		log.Fatalf("writing the table of rules: %v", err)
	}
}

func write(file string) error {
	engine, err := validators.New(context.Background(), validators.Options{
		Builtins: facts.Builtins(facts.Sources{SidecarSets: overlap.NewIndex()}), Log: logr.Discard(),
	})
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(page(engine.Rules())), 0o644)
}

// page is the table as Markdown, a section a kind.
func page(rules []validators.Rule) string {
	var text strings.Builder
	text.WriteString(head)
	slices.SortStableFunc(rules, func(a, b validators.Rule) int { return cmp.Compare(kinds(a), kinds(b)) })
	for i, rule := range rules {
		if i == 0 || kinds(rule) != kinds(rules[i-1]) {
			fmt.Fprintf(&text, "\n## %s\n\n| rule | what must hold | code |\n|---|---|---|\n", kinds(rule))
		}
		fmt.Fprintf(&text, "| `%s` | **%s.** %s | %d |\n", rule.ID, cell(rule.Title), cell(rule.Description), rule.Code)
	}
	return text.String()
}

func kinds(rule validators.Rule) string { return strings.Join(rule.Kinds, ", ") }

// cell keeps a text in one cell of a table.
func cell(text string) string {
	return strings.NewReplacer("\n", " ", "|", `\|`).Replace(strings.TrimSpace(text))
}
