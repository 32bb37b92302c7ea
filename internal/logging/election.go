package logging

import "github.com/go-logr/logr"

// chatter is the verbosity at which client-go's leader election writes a line at each try for the Lease, every other
// second in each process that stands by. It is the verbosity that installations have, so that it would drown the rest.
const chatter = 4

// Election is the log for client-go's leader election: what it writes at verbosity 4 is written at 6.
func Election(log logr.Logger) logr.Logger {
	if log.GetSink() == nil {
		return log // nothing is written anyway
	}
	return log.WithSink(fainter{log.GetSink()})
}

// fainter moves a sink's chatter up.
type fainter struct{ logr.LogSink }

// Enabled implements logr.LogSink.
func (f fainter) Enabled(level int) bool { return f.LogSink.Enabled(faint(level)) }

// Info implements logr.LogSink.
func (f fainter) Info(level int, msg string, keysAndValues ...any) {
	f.LogSink.Info(faint(level), msg, keysAndValues...)
}

// WithValues implements logr.LogSink.
func (f fainter) WithValues(keysAndValues ...any) logr.LogSink {
	return fainter{f.LogSink.WithValues(keysAndValues...)}
}

// WithName implements logr.LogSink.
func (f fainter) WithName(name string) logr.LogSink { return fainter{f.LogSink.WithName(name)} }

func faint(level int) int {
	if level < chatter {
		return level
	}
	return level + 2
}
