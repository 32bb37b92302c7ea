package terminal

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// Program is the program that a command is part of.
type Program struct {
	// Name is how the person calls it: fairlead, or kubectl fairlead.
	Name   string
	Getenv func(string) string
	Parse  Parse
}

// pluginPrefix is what kubectl puts before the names of its plugins.
const pluginPrefix = "kubectl-"

// NameOf tells the name by which a person calls a program from the path that it was started with: kubectl starts the file
// kubectl-fairlead for `kubectl fairlead`.
func NameOf(path string) string {
	base := strings.TrimSuffix(filepath.Base(path), ".exe")
	if plugin, ok := strings.CutPrefix(base, pluginPrefix); ok {
		return "kubectl " + plugin
	}
	return base
}

// IsPlugin says whether kubectl started the program.
func (p Program) IsPlugin() bool { return strings.HasPrefix(p.Name, "kubectl ") }

// Examples writes a command's examples with the name that the program has; they are given with the name fairlead.
func (p Program) Examples(text string) string {
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	for i, line := range lines {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "#") {
			line = strings.Replace(line, "fairlead ", p.Name+" ", 1)
		}
		lines[i] = "  " + line
	}
	return strings.Join(lines, "\n")
}

// Prepare makes a root command say the name that the person uses, and tell mistakes in the command line from others.
func (p Program) Prepare(root *cobra.Command) {
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: p.Name}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return Usage(err) })
	root.SuggestionsMinimumDistance = 2 // letters, as cobra itself has it
	root.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		meant := ""
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			meant = "; did you mean " + strings.Join(near, " or ") + "?"
		}
		return Usagef("unknown command %q for %q%s", args[0], cmd.CommandPath(), meant)
	}
	root.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
}
