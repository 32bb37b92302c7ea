// Package artifact makes the files of a release from their contents. Equal contents and times give equal bytes: entries
// are sorted, owners are left out, and every time is the one that is given.
package artifact

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// Entry is a file in an archive, or a symbolic link if Link is set.
type Entry struct {
	// Name is the path in the archive, with slashes.
	Name string
	// Mode is the permissions of a file.
	Mode    fs.FileMode
	Content []byte
	// Link is what a symbolic link points at.
	Link string
}

// sorted returns the entries by name, and refuses two of one name, of which an archive would show only the last.
func sorted(entries []Entry) ([]Entry, error) {
	entries = slices.SortedFunc(slices.Values(entries), func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	for i := 1; i < len(entries); i++ {
		if entries[i].Name == entries[i-1].Name {
			return nil, fmt.Errorf("packing %s: there are two of it", entries[i].Name)
		}
	}
	return entries, nil
}

// Tar writes a tar archive. Every entry was modified at the given time, which is rounded to seconds.
func Tar(out io.Writer, modified time.Time, entries []Entry) error {
	entries, err := sorted(entries)
	if err != nil {
		return err
	}
	w := tar.NewWriter(out)
	for _, e := range entries {
		header := tar.Header{
			Typeflag: tar.TypeReg, Name: e.Name, Mode: int64(e.Mode.Perm()), Size: int64(len(e.Content)),
			ModTime: modified.Truncate(time.Second),
		}
		if e.Link != "" {
			header.Typeflag, header.Linkname, header.Mode, header.Size = tar.TypeSymlink, e.Link, 0o777, 0
		}
		if err := w.WriteHeader(&header); err != nil {
			return fmt.Errorf("packing %s: %w", e.Name, err)
		}
		if header.Size == 0 {
			continue
		}
		if _, err := w.Write(e.Content); err != nil {
			return fmt.Errorf("packing %s: %w", e.Name, err)
		}
	}
	return w.Close()
}

// TarGz is Tar, compressed. The compressed stream itself has no name and no time.
func TarGz(out io.Writer, modified time.Time, entries []Entry) error {
	w := gzip.NewWriter(out)
	if err := Tar(w, modified, entries); err != nil {
		return err
	}
	return w.Close()
}

// Zip writes a zip archive, for Windows. It has no links: those of the entries are refused.
func Zip(out io.Writer, modified time.Time, entries []Entry) error {
	entries, err := sorted(entries)
	if err != nil {
		return err
	}
	w := zip.NewWriter(out)
	for _, e := range entries {
		if e.Link != "" {
			return fmt.Errorf("packing %s: a zip archive has no links", e.Name)
		}
		header := zip.FileHeader{Name: e.Name, Method: zip.Deflate, Modified: modified.UTC().Truncate(time.Second)}
		header.SetMode(e.Mode.Perm())
		file, err := w.CreateHeader(&header)
		if err != nil {
			return fmt.Errorf("packing %s: %w", e.Name, err)
		}
		if _, err := file.Write(e.Content); err != nil {
			return fmt.Errorf("packing %s: %w", e.Name, err)
		}
	}
	return w.Close()
}
