package main

import (
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/test/load/document"
)

const header = "| scenario | target | CPU per review | no-op's | ratio | to the other | p99 | no-op's | ratio | RSS | missed |\n" +
	"|---|---|---|---|---|---|---|---|---|---|---|\n"

// row is a line of the table.
func row(r result) string {
	name, other := r.name, ""
	if r.inCluster {
		name += fmt.Sprintf(" (%.2f reads, whose %v are not in the ratio)", r.reads, r.readsCPU)
	}
	if r.target.of != nil {
		other = fmt.Sprintf("%.2f", r.toOther)
	}
	return fmt.Sprintf("| %s | %v | %v | %v | %.2f | %s | %v | %v | %.2f | %d MiB | %s |", name, r.target,
		r.ours.cpu, r.noop.cpu, r.ratio, other, r.ours.p99, r.noop.p99, r.p99Ratio, r.rss, strings.Join(r.misses(), "; "))
}

// report is the table and what it was made with.
func report(results []result, o options) string {
	var out strings.Builder
	fmt.Fprintf(&out, "`go run ./test/load/admission -requests %d -rounds %d`, %d in flight, p99 to be below %d times the no-op's.\n"+
		"Times are medians; a ratio is the median of those of one round, whose servers are measured one after the other.\n\n",
		o.requests, o.rounds, inFlight, maxP99)
	fmt.Fprintf(&out, "%s\n\n", document.Machine())
	out.WriteString(header)
	for _, r := range results {
		fmt.Fprintln(&out, row(r))
	}
	return out.String()
}

func writeInto(path, report string) error { return document.Write(path, "bench-admission", report) }
