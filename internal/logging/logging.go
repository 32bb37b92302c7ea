// Package logging gives every process the log that its flags ask for (webhook-server.md §4): text or JSON lines, and
// klog's flags, which users have in their values files.
package logging

import (
	"flag"
	"fmt"
	"io"
	"log/slog"
	"strconv"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

// loudest is the verbosity that more does not raise. From 8 on the Kubernetes client writes what it sends and gets, whole
// Secrets and templates with their environment among it.
const loudest = 7

// Flags are the logging flags of one process.
type Flags struct {
	format    string
	verbosity int
}

// Add registers --logging-format, --v, and klog's other flags, which are accepted and mean nothing: the log goes to
// standard error, where Kubernetes collects it.
func (f *Flags) Add(flags *pflag.FlagSet) {
	flags.StringVar(&f.format, "logging-format", "text", "Format of log lines: text or json.")
	flags.IntVarP(&f.verbosity, "v", "v", 0, "Verbosity of the log: details up to this number are written. More than 7 is 7: above it a Kubernetes client writes Secrets.")
	klogFlags().VisitAll(func(k *flag.Flag) {
		if k.Name == "v" {
			return
		}
		if _, isBool := k.Value.(interface{ IsBoolFlag() bool }); isBool {
			flags.Bool(k.Name, false, "Accepted without effect.")
		} else {
			flags.String(k.Name, "", "Accepted without effect.")
		}
		flags.Lookup(k.Name).Hidden = true
	})
}

func klogFlags() *flag.FlagSet {
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	return flags
}

// Handler writes the log as the parsed flags say.
func (f *Flags) Handler(w io.Writer) (slog.Handler, error) {
	options := &slog.HandlerOptions{Level: slog.Level(-f.level()), ReplaceAttr: level}
	switch f.format {
	case "text", "":
		return slog.NewTextHandler(w, options), nil
	case "json":
		return slog.NewJSONHandler(w, options), nil
	}
	return nil, fmt.Errorf("--logging-format=%s is not known, use text or json", f.format)
}

func (f *Flags) level() int { return min(f.verbosity, loudest) }

// Install makes the log that of the Kubernetes libraries too, which know no other way than globals, and returns it.
func (f *Flags) Install(w io.Writer) (logr.Logger, error) {
	handler, err := f.Handler(w)
	if err != nil {
		return logr.Discard(), err
	}
	log := logr.FromSlogHandler(handler)
	if err := klogFlags().Set("v", strconv.Itoa(f.level())); err != nil {
		return logr.Discard(), fmt.Errorf("setting klog's verbosity: %w", err)
	}
	klog.SetLoggerWithOptions(log, klog.ContextualLogger(true))
	ctrl.SetLogger(log)
	return log, nil
}

// level writes the verbosity of a line as v=4: slog would call it DEBUG, and v=1 DEBUG+3.
func level(groups []string, attr slog.Attr) slog.Attr {
	value, ok := attr.Value.Any().(slog.Level)
	if len(groups) > 0 || attr.Key != slog.LevelKey || !ok || value >= slog.LevelInfo {
		return attr
	}
	return slog.Int("v", -int(value))
}
