package deletion

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// logName is the audit log's, in the folder that it was opened in; its predecessor has oldSuffix.
const (
	logName   = "protection.log"
	oldSuffix = ".1"
)

// maxLogSize is when a log becomes the old one. Together they must stay below the size of the volume that they are
// on, or whoever asks for many deletions could have this Pod evicted.
const maxLogSize = 16 << 20

// Log is the audit log: a JSON line for each denial (protection.md §1). It is safe for concurrent use.
type Log struct {
	path    string
	now     func() time.Time
	maxSize int64

	mu   sync.Mutex
	file *os.File
	size int64
}

// OpenLog opens protection.log in a folder, which is made if need be, and appends to it. Without a log that works a
// service with an audit log must not start.
func OpenLog(folder string, now func() time.Time) (*Log, error) {
	l := &Log{path: filepath.Join(folder, logName), now: now, maxSize: maxLogSize}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, fmt.Errorf("opening the audit log of deletion protection: %w", err)
	}
	if err := l.open(); err != nil {
		return nil, err
	}
	return l, nil
}

func (l *Log) open() error {
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return fmt.Errorf("opening the audit log of deletion protection: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("opening the audit log of deletion protection: %w", err)
	}
	l.file, l.size = file, info.Size()
	return nil
}

// line is a line of the log. The names of the first five members are what readers of these logs know; UserAgent is the
// user's name.
type line struct {
	Event, Kind, Namespace, Name, UserAgent string
	Time                                    time.Time
}

// Denied appends a denial.
func (l *Log) Denied(d Denial) error {
	return l.Write("DeletionProtection", d.Kind.Kind, d.Namespace, d.Name, d.User)
}

// Write appends a denial of the protection that event names.
func (l *Log) Write(event, kind, namespace, name, user string) error {
	text, err := json.Marshal(line{Event: event, Kind: kind, Namespace: namespace, Name: name, UserAgent: user, Time: l.now().UTC()})
	if err != nil {
		return fmt.Errorf("encoding a denial: %w", err)
	}
	text = append(text, '\n')
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size+int64(len(text)) > l.maxSize {
		if err := l.rotate(); err != nil {
			return err
		}
	}
	n, err := l.file.Write(text)
	l.size += int64(n)
	if err != nil {
		return fmt.Errorf("writing the audit log of deletion protection: %w", err)
	}
	return nil
}

// rotate makes the log the old one. What fails leaves the log in use.
func (l *Log) rotate() error {
	if err := os.Rename(l.path, l.path+oldSuffix); err != nil {
		return fmt.Errorf("rotating the audit log of deletion protection: %w", err)
	}
	old := l.file
	if err := l.open(); err != nil {
		return err
	}
	if err := old.Close(); err != nil {
		return fmt.Errorf("closing the old audit log of deletion protection: %w", err)
	}
	return nil
}

// Close closes the log.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Close()
}
