package artifact

import (
	"bytes"
	"fmt"
	"io/fs"
	"time"
)

// TarFolder packs the files below a folder; folders themselves have no entries.
func TarFolder(folder fs.FS, modified time.Time) ([]byte, error) {
	var entries []Entry
	err := fs.WalkDir(folder, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(folder, file)
		entries = append(entries, Entry{Name: file, Mode: 0o644, Content: content})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("packing the folder: %w", err)
	}
	var out bytes.Buffer
	err = Tar(&out, modified, entries)
	return out.Bytes(), err
}
