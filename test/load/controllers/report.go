package main

import (
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/test/load/document"
)

// row is a line of the table. missed says which target was not met, if one was not.
type row struct{ scenario, target, measured, missed string }

func (r row) String() string {
	return fmt.Sprintf("| %s | %s | %s | %s |", r.scenario, r.target, r.measured, r.missed)
}

// report is the table and what it was made with.
func report(rows []row, o options, only, kubernetes string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "`go run ./test/load/controllers -pods %d -large %d -raced %d -rounds %d -qps %d -burst %d -only %q`, Kubernetes %s.\n\n",
		o.pods, o.large, o.raced, o.rounds, o.qps, o.burst, only, kubernetes)
	fmt.Fprintf(&out, "%s\n\n", document.Machine())
	out.WriteString("| scenario | target | measured | missed |\n|---|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintln(&out, r)
	}
	return out.String()
}

func writeInto(path, text string) error { return document.Write(path, "bench-controllers", text) }
