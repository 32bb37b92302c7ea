package objects

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// settle is how long a folder must be quiet before it is read: editors and kubectl write in several steps.
	settle = 100 * time.Millisecond
	// maxSettle reads a folder that is never quiet.
	maxSettle = time.Second
	// rescan finds what no event tells: a change behind a link that leads out of the folder, a folder that was moved and
	// made anew, a lost event. Reading unchanged files costs their hash only.
	rescan = 15 * time.Second
)

// Watch calls Load whenever the folder changes, until ctx ends.
func (d *Directory) Watch(ctx context.Context) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watching %s: %w", d.path, err)
	}
	defer func() { _ = watcher.Close() }() // nothing is lost with it
	if err := watcher.Add(d.path); err != nil {
		return fmt.Errorf("watching %s: %w", d.path, err)
	}
	d.reload() // what changed since the first Load
	ticker := time.NewTicker(rescan)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case event, open := <-watcher.Events:
			if !open {
				return fmt.Errorf("watching %s: the watch ended", d.path)
			}
			if concerns(event) && !d.quiet(ctx, watcher.Events) {
				return nil
			}
		case err := <-watcher.Errors:
			d.log.V(2).Info("Watching the object directory", "err", err)
		case <-ticker.C:
			// Adds nothing to a watch that is in order, and renews one of a folder that was replaced.
			if err := watcher.Add(d.path); err != nil {
				d.log.V(2).Info("Watching the object directory", "err", err) // Load complains
			}
		}
		d.reload()
	}
}

func (d *Directory) reload() {
	if err := d.Load(); err != nil {
		d.complaints.about(err, "Object directory cannot be read; what it held before stays in force")
	}
}

// quiet waits until no event has come for a while, and says whether ctx still goes on.
func (d *Directory) quiet(ctx context.Context, events <-chan fsnotify.Event) bool {
	latest := time.After(maxSettle)
	for {
		select {
		case <-ctx.Done():
			return false
		case <-events:
		case <-latest:
			return true
		case <-time.After(settle):
			return true
		}
	}
}

// concerns says whether an event may change what is read: one of an object file, or of the `..data` link of a mounted
// ConfigMap.
func concerns(event fsnotify.Event) bool {
	name := filepath.Base(event.Name)
	return event.Op != fsnotify.Chmod && (isObjectFile(name) || strings.HasPrefix(name, ".."))
}
