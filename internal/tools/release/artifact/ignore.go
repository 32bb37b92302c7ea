package artifact

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// ignore holds the patterns of a .helmignore: of files by their last name, and with a slash at the end of folders.
type ignore []string

// readIgnore reads the chart's .helmignore, of which we use the plainest part; other patterns are refused, so that none is
// taken for something that it is not.
func readIgnore(chart fs.FS) (ignore, error) {
	text, err := fs.ReadFile(chart, ignoreFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", ignoreFile, err)
	}
	var patterns ignore
	for _, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if _, err := path.Match(line, ""); err != nil || strings.HasPrefix(line, "!") || strings.Contains(strings.TrimSuffix(line, "/"), "/") {
			return nil, fmt.Errorf("reading %s: pattern %q: want the name of a file or of a folder, with * for any letters, not a path and not a negation", ignoreFile, line)
		}
		patterns = append(patterns, line)
	}
	return patterns, nil
}

// match says whether a file or folder is to be left out.
func (i ignore) match(file string, dir bool) bool {
	for _, pattern := range i {
		folder := strings.HasSuffix(pattern, "/")
		if folder && !dir {
			continue
		}
		if ok, _ := path.Match(strings.TrimSuffix(pattern, "/"), path.Base(file)); ok { // readIgnore saw that it is a pattern
			return true
		}
	}
	return false
}
