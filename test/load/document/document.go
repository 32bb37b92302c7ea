// Package document puts the reports of benchmarks into documents, and says on which machine they were made.
package document

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// Write puts a report into the document at path, in place of the one there: between the two comments that have the
// benchmark's name, each a line of its own.
func Write(path, name, report string) error {
	begin := fmt.Sprintf("<!-- %s begins: written by the command below, not by hand -->\n", name)
	end := fmt.Sprintf("<!-- %s ends -->\n", name)
	document, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading the document: %w", err)
	}
	before, rest, begins := bytes.Cut(document, []byte(begin))
	_, after, ends := bytes.Cut(rest, []byte(end))
	if !begins || !ends {
		return fmt.Errorf("writing %s: there is no place for the report, which goes between the lines %q and %q", path, begin, end)
	}
	return os.WriteFile(path, bytes.Join([][]byte{before, []byte(begin), []byte(report), []byte(end), after}, nil), 0o644)
}

// Machine is a sentence on what a report was made with: the machine, the commit and the compiler.
func Machine() string {
	return fmt.Sprintf("Machine: %s, %d CPUs, %s, %s/%s. Fairlead %s, %s.",
		cpuModel(), runtime.NumCPU(), kernel(), runtime.GOOS, runtime.GOARCH, revision(), runtime.Version())
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
