// Package golden runs commands in folders of cases and compares what they print, as text and as JSON, with what is kept
// there.
package golden

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/internal/terminal"
)

var update = flag.Bool("update", false, "write what commands print into the cases, to be read before it is kept")

// Program is a program whose installations have the defaults.
func Program() terminal.Program {
	return terminal.Program{
		Name: "fairlead", Getenv: func(string) string { return "" },
		Parse: func(args []string, getenv func(string) string) (*terminal.Settings, error) {
			settings := &terminal.Settings{Registers: true, Secret: "kruise-webhook-certs"}
			settings.Gates, settings.Table.Namespace = features.New(""), getenv("POD_NAMESPACE")
			return settings, nil
		},
	}
}

// Run runs the command of each case: the file args has its arguments, a word a line, and the case's folder is the working
// directory. The first line of want.txt is the exit code, the rest what is printed; want.json, if it is there, is what is
// printed with -o json.
func Run(t *testing.T, newCommand func(terminal.Program) *cobra.Command) {
	cases, err := filepath.Glob("testdata/*/args")
	if err != nil || len(cases) == 0 {
		t.Fatalf("finding cases: %v, %v", cases, err)
	}
	t.Setenv("KUBECONFIG", "/dev/null")
	for _, file := range cases {
		dir := filepath.Dir(file)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Chdir(dir)
			args := strings.Fields(read(t, "args"))
			compare(t, "want.txt", run(newCommand, args))
			if _, err := os.Stat("want.json"); err == nil {
				compare(t, "want.json", run(newCommand, append(args, "-o", "json")))
			}
		})
	}
}

func run(newCommand func(terminal.Program) *cobra.Command, args []string) string {
	cmd := newCommand(Program())
	cmd.SilenceUsage = true
	var out bytes.Buffer
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	if input, err := os.ReadFile("stdin"); err == nil {
		cmd.SetIn(bytes.NewReader(input))
	}
	code := terminal.ExitCode(cmd.Execute())
	return fmt.Sprintf("exit %d\n%s", code, out.String())
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func compare(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(read(t, name), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}
