package terminal

import (
	"fmt"
	"sync"

	"github.com/go-logr/logr"
)

// Complaints collects what a part of the service would log as errors, for commands that have no log. It is safe for
// concurrent use.
type Complaints struct {
	mu   sync.Mutex
	said []string
}

// Logger is where the part logs to.
func (c *Complaints) Logger() logr.Logger { return logr.New(&sink{to: c}) }

// All are the complaints in their order.
func (c *Complaints) All() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.said...)
}

type sink struct{ to *Complaints }

// Init implements logr.LogSink.
func (*sink) Init(logr.RuntimeInfo) {}

// Enabled implements logr.LogSink: only errors are of interest.
func (*sink) Enabled(int) bool { return false }

// Info implements logr.LogSink.
func (*sink) Info(int, string, ...any) {}

// Error implements logr.LogSink.
func (s *sink) Error(err error, message string, _ ...any) {
	s.to.mu.Lock()
	defer s.to.mu.Unlock()
	if err != nil {
		message = fmt.Sprintf("%s: %v", message, err)
	}
	s.to.said = append(s.to.said, message)
}

// WithValues implements logr.LogSink.
func (s *sink) WithValues(...any) logr.LogSink { return s }

// WithName implements logr.LogSink.
func (s *sink) WithName(string) logr.LogSink { return s }
