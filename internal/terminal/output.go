package terminal

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// Output is how a command prints.
type Output struct{ format string }

var formats = []string{"text", "json", "yaml"}

// AddFlag adds -o.
func (o *Output) AddFlag(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&o.format, "output", "o", "text", "Format: text, json or yaml. The fields of the latter two stay as they are.")
	// It fails for a flag that does not exist, which this one does.
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
}

// Check says whether the format is one that there is.
func (o *Output) Check() error {
	for _, format := range formats {
		if o.format == format {
			return nil
		}
	}
	return Usagef("reading --output: %q is no format, there are text, json and yaml", o.format)
}

// Print writes a value as the flag says; text writes it for people. What goes wrong is an error of ExitUnwritten.
func (o *Output) Print(out io.Writer, getenv func(string) string, value any, text func(*Text)) error {
	switch o.format {
	case "json":
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(value); err != nil {
			return Unwritten(fmt.Errorf("printing: %w", err))
		}
		return nil
	case "yaml":
		encoded, err := yaml.Marshal(value)
		if err == nil {
			_, err = out.Write(encoded)
		}
		if err != nil {
			return Unwritten(fmt.Errorf("printing: %w", err))
		}
		return nil
	}
	t := &Text{out: out, coloured: Coloured(out, getenv)}
	text(t)
	if t.err != nil {
		return Unwritten(fmt.Errorf("printing: %w", t.err))
	}
	return nil
}

// Coloured says whether to use colours: on a terminal, unless NO_COLOR is set or the terminal has none.
func Coloured(out io.Writer, getenv func(string) string) bool {
	file, ok := out.(*os.File)
	if !ok || getenv("NO_COLOR") != "" || getenv("TERM") == "dumb" {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Text writes lines for people.
type Text struct {
	out      io.Writer
	coloured bool
	err      error
}

// NewText makes a writer, for tests of what is printed on a terminal.
func NewText(out io.Writer, coloured bool) *Text { return &Text{out: out, coloured: coloured} }

// Line writes a line. The first error stops all writing.
func (t *Text) Line(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.out, format+"\n", args...)
	}
}

// Colour is what a word stands for.
type Colour string

// The colours, as ANSI sequences name them.
const (
	Good Colour = "32"
	Warn Colour = "33"
	Bad  Colour = "31"
	Dim  Colour = "2"
	Bold Colour = "1"
)

// In is the text in a colour, where there are colours.
func (t *Text) In(colour Colour, text string) string {
	if !t.coloured {
		return text
	}
	return "\x1b[" + string(colour) + "m" + text + "\x1b[0m"
}
