package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// The comments in a document between which the report goes.
const (
	begin = "<!-- bench-admission begins: written by the command below, not by hand -->\n"
	end   = "<!-- bench-admission ends -->\n"
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
	fmt.Fprintf(&out, "Machine: %s, %d CPUs, %s, %s/%s. Fairlead %s, %s.\n\n",
		cpuModel(), runtime.NumCPU(), kernel(), runtime.GOOS, runtime.GOARCH, revision(), runtime.Version())
	out.WriteString(header)
	for _, r := range results {
		fmt.Fprintln(&out, row(r))
	}
	return out.String()
}

func cpuModel() string {
	data, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown CPU"
	}
	for line := range strings.Lines(string(data)) {
		if name, model, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(model)
		}
	}
	return "unknown CPU"
}

func kernel() string {
	data, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return "unknown kernel"
	}
	return "Linux " + strings.TrimSpace(string(data))
}

// revision is the commit, and whether there is more than it.
func revision() string {
	out, err := exec.Command("git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return "of unknown revision"
	}
	return strings.TrimSpace(string(out))
}

// writeInto puts a report into a document instead of the one there.
func writeInto(path, report string) error {
	document, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, begins := bytes.Cut(document, []byte(begin))
	_, after, ends := bytes.Cut(rest, []byte(end))
	if !begins || !ends {
		return fmt.Errorf("writing %s: there is no place for the report, which goes between the lines %q and %q", path, begin, end)
	}
	return os.WriteFile(path, bytes.Join([][]byte{before, []byte(begin), []byte(report), []byte(end), after}, nil), 0o644)
}
