// Command promql reads PromQL expressions from standard input, one a line, and prints for each a JSON line with what it
// selects: metric names and the labels that it uses. A line that is no PromQL ends it with an error.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// selected is one expression's use of one metric.
type selected struct {
	Metric string `json:"metric"`
	// Labels are those that are matched, and Values what a label is compared with: of a pattern, its alternatives.
	Labels []string            `json:"labels"`
	Values map[string][]string `json:"values"`
}

// used is what an expression needs.
type used struct {
	Expression string     `json:"expression"`
	Selected   []selected `json:"selected"`
	// Grouped are labels of by clauses, without those that the expression makes itself.
	Grouped []string `json:"grouped"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	lines := bufio.NewScanner(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		u, err := inspect(lines.Text())
		if err != nil {
			return err
		}
		if err := out.Encode(u); err != nil {
			return fmt.Errorf("printing: %w", err)
		}
	}
	return lines.Err()
}

func inspect(expression string) (used, error) {
	u := used{Expression: expression}
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expression)
	if err != nil {
		return u, fmt.Errorf("parsing %q: %w", expression, err)
	}
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		switch n := node.(type) {
		case *parser.VectorSelector:
			u.Selected = append(u.Selected, selection(n))
		case *parser.AggregateExpr:
			u.Grouped = append(u.Grouped, n.Grouping...)
		}
		return nil
	})
	slices.Sort(u.Grouped)
	u.Grouped = slices.Compact(u.Grouped)
	return u, nil
}

func selection(n *parser.VectorSelector) selected {
	s := selected{Metric: n.Name, Values: map[string][]string{}}
	for _, matcher := range n.LabelMatchers {
		if matcher.Name == labels.MetricName {
			continue
		}
		s.Labels = append(s.Labels, matcher.Name)
		s.Values[matcher.Name] = strings.Split(matcher.Value, "|")
	}
	return s
}
