package logging

import "github.com/go-logr/logr"

// electionName is what controller-runtime's manager calls the log that it gives to its leader election.
const electionName = "leaderelection"

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

// Manager is the log for a manager of controller-runtime: its leader election gets Election's.
func Manager(log logr.Logger) logr.Logger {
	if log.GetSink() == nil {
		return log
	}
	return log.WithSink(managerSink{log.GetSink()})
}

// managerSink knows the leader election by the name of its log.
type managerSink struct{ logr.LogSink }

// WithValues implements logr.LogSink.
func (m managerSink) WithValues(keysAndValues ...any) logr.LogSink {
	return managerSink{m.LogSink.WithValues(keysAndValues...)}
}

// WithName implements logr.LogSink.
func (m managerSink) WithName(name string) logr.LogSink {
	named := m.LogSink.WithName(name)
	if name == electionName {
		return fainter{named}
	}
	return managerSink{named}
}

func faint(level int) int {
	if level < chatter {
		return level
	}
	return level + 2
}
