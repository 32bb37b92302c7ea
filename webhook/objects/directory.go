package objects

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
)

// maxFile is the largest file that is read; 10,000 SidecarSets have about 10 MiB.
const maxFile = 256 << 20

// Directory feeds the objects of the *.yaml, *.yml and *.json files of a folder, without its subfolders. Its methods
// but Synced are for one goroutine.
type Directory struct {
	path       string
	kinds      map[schema.GroupKind]Kind
	files      map[string]*file
	fed        map[key][sha256.Size]byte
	complaints complaints
	log        klog.Logger
	synced     atomic.Bool
}

// file is the last good state of a file.
type file struct {
	sum     [sha256.Size]byte
	entries []entry
}

// NewDirectory makes a source of the kinds from a folder. Nothing is read before Load.
func NewDirectory(path string, log klog.Logger, kinds ...Kind) *Directory {
	d := &Directory{
		path: path, log: log, kinds: make(map[schema.GroupKind]Kind), files: make(map[string]*file),
		fed: make(map[key][sha256.Size]byte), complaints: complaints{log: log},
	}
	for _, kind := range kinds {
		d.kinds[kind.GroupKind] = kind
	}
	return d
}

// Synced is nil once all files have been read.
func (d *Directory) Synced() error {
	if d.synced.Load() {
		return nil
	}
	return fmt.Errorf("%s is not read yet", d.path)
}

// Load reads the folder and feeds what has changed since the last time. A file that cannot be read, or holds a
// mistake, is logged and keeps its last good state; only a folder that cannot be listed is an error, and changes
// nothing.
func (d *Directory) Load() error {
	d.complaints.startOver()
	names, err := d.list()
	if err != nil {
		return err
	}
	ignored := make(map[schema.GroupKind]int)
	for name := range d.files {
		if !slices.Contains(names, name) {
			delete(d.files, name)
		}
	}
	for _, name := range names {
		if err := d.read(name, ignored); err != nil {
			d.complaints.about(err, "Object file is broken; what it said before stays in force")
		}
	}
	d.feed()
	for kind, count := range ignored {
		d.log.Info("Ignoring objects of a kind that nothing here depends on", "kind", kind.String(), "objects", count)
	}
	if !d.synced.Swap(true) {
		d.log.Info("Objects are read", "dir", d.path, "files", len(d.files), "objects", len(d.fed))
	}
	return nil
}

// list names the object files in order. Links are followed, as a mounted ConfigMap has nothing else.
func (d *Directory) list() ([]string, error) {
	found, err := os.ReadDir(d.path)
	if err != nil {
		return nil, fmt.Errorf("reading the object directory: %w", err)
	}
	var names []string
	for _, item := range found {
		if isObjectFile(item.Name()) && !item.IsDir() {
			names = append(names, item.Name())
		}
	}
	return names, nil
}

// read takes a file's content over if it has changed and has no mistake.
func (d *Directory) read(name string, ignored map[schema.GroupKind]int) error {
	path := filepath.Join(d.path, name)
	content, err := readFile(path)
	if errors.Is(err, os.ErrNotExist) { // gone since it was listed
		delete(d.files, name)
		return nil
	}
	if err != nil {
		return err
	}
	sum := sha256.Sum256(content)
	if known, ok := d.files[name]; ok && known.sum == sum {
		return nil
	}
	entries, err := parser{d.kinds, ignored}.file(path, content)
	if err != nil {
		return err
	}
	d.files[name] = &file{sum, entries}
	return nil
}

func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading an object file: %w", err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("reading %s: it is not a regular file", path)
	case info.Size() > maxFile:
		return nil, fmt.Errorf("reading %s: it is larger than %d MiB, split it", path, maxFile>>20)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading an object file: %w", err)
	}
	return content, nil
}

// feed tells the sinks what differs between the files and what they were told before.
func (d *Directory) feed() {
	wanted := d.wanted()
	for _, k := range slices.SortedFunc(maps.Keys(d.fed), key.compare) {
		if _, stays := wanted[k]; !stays {
			d.kinds[k.GroupKind].Sink.Delete(k.namespace, k.name)
			delete(d.fed, k)
		}
	}
	for _, k := range slices.SortedFunc(maps.Keys(wanted), key.compare) {
		e := wanted[k]
		if fed, ok := d.fed[k]; ok && fed == e.sum {
			continue
		}
		if e.raw == nil {
			if err := d.restore(e.file); err != nil {
				d.complaints.about(err, "Object file is broken; the objects of other files that it is to replace stay in force")
				continue
			}
		}
		if err := d.kinds[k.GroupKind].Sink.Upsert(e.raw); err != nil {
			d.complaints.about(fmt.Errorf("%s: %s: %w", e.where, k, err), "Object is not usable")
		}
		d.fed[k] = e.sum // also after an error: the same content would fail again
	}
	for _, f := range d.files {
		for i := range f.entries {
			f.entries[i].raw = nil
		}
	}
}

// restore reads the objects of a file again. It happens when one of another file goes that had the name of one of these.
func (d *Directory) restore(name string) error {
	path, f := filepath.Join(d.path, name), d.files[name]
	content, err := readFile(path)
	if err != nil {
		return err
	}
	if sha256.Sum256(content) != f.sum {
		return fmt.Errorf("reading %s: it is not what it was", path)
	}
	entries, err := parser{d.kinds, make(map[schema.GroupKind]int)}.file(path, content)
	if err != nil {
		return err
	}
	for i := range entries {
		f.entries[i].raw = entries[i].raw
	}
	return nil
}

// wantedEntry is an entry and the name of its file.
type wantedEntry struct {
	*entry
	file string
}

// wanted are the objects of all files. Of two with one name the one in the later file counts, as with kubectl apply.
func (d *Directory) wanted() map[key]wantedEntry {
	wanted := make(map[key]wantedEntry)
	for _, name := range slices.Sorted(maps.Keys(d.files)) {
		entries := d.files[name].entries
		for i := range entries {
			e := wantedEntry{&entries[i], name}
			if earlier, twice := wanted[e.key]; twice {
				d.complaints.about(fmt.Errorf("%s: %s is also at %s, which is ignored", e.where, e.key, earlier.where), "Object is there twice")
			}
			wanted[e.key] = e
		}
	}
	return wanted
}

// complaints logs a mistake once, and not again at every look at the folder that still finds it.
type complaints struct {
	log         klog.Logger
	before, now map[string]bool
}

// startOver begins a look at the folder.
func (c *complaints) startOver() { c.before, c.now = c.now, make(map[string]bool) }

func (c *complaints) about(err error, message string) {
	c.now[err.Error()] = true
	if !c.before[err.Error()] {
		c.log.Error(err, message)
	}
}
