package terminal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/fairlead-io/fairlead/webhook/objects"
)

// maxFile is the largest input that is read: a request to the API server is smaller.
const maxFile = 64 << 20

// ReadFiles reads the objects of files, of the files of folders (not of their subfolders), and of standard input, which is
// called "-". Files may have many documents, and Lists.
func ReadFiles(names []string, stdin io.Reader) ([]objects.Document, error) {
	var all []objects.Document
	for _, name := range names {
		documents, err := readOne(name, stdin)
		if err != nil {
			return nil, Usage(err)
		}
		all = append(all, documents...)
	}
	if len(all) == 0 && len(names) > 0 {
		return nil, Usagef("reading %s: there is no object in it", strings.Join(names, ", "))
	}
	return all, nil
}

func readOne(name string, stdin io.Reader) ([]objects.Document, error) {
	if name == "-" {
		content, err := readAll("standard input", stdin)
		if err != nil {
			return nil, err
		}
		return objects.Documents("stdin", content)
	}
	if strings.HasPrefix(name, "https://") || strings.HasPrefix(name, "http://") {
		return nil, fmt.Errorf("reading %s: only files are read; pipe it: curl -sSf %s | ... -f -", name, name)
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("reading a file: %w", err)
	}
	if info.IsDir() {
		return readFolder(name)
	}
	return readFile(name)
}

func readFile(name string) ([]objects.Document, error) {
	content, err := contentOf(name)
	if err != nil {
		return nil, err
	}
	return objects.Documents(name, content)
}

func contentOf(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("reading a file: %w", err)
	}
	defer file.Close()
	return readAll(name, file)
}

// ReadRegular reads what was found in a folder, which may be anything: a pipe would never end, nor would a link to a device.
func ReadRegular(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("reading a file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("reading %s: it is no regular file", name)
	}
	return contentOf(name)
}

func readFolder(folder string) ([]objects.Document, error) {
	found, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("reading a folder: %w", err)
	}
	var all []objects.Document
	for _, item := range found {
		switch filepath.Ext(item.Name()) {
		case ".yaml", ".yml", ".json":
		default:
			continue
		}
		if item.IsDir() || strings.HasPrefix(item.Name(), ".") {
			continue
		}
		path := filepath.Join(folder, item.Name())
		content, err := ReadRegular(path)
		if err != nil {
			return nil, err
		}
		documents, err := objects.Documents(path, content)
		if err != nil {
			return nil, err
		}
		all = append(all, documents...)
	}
	return all, nil
}

func readAll(name string, from io.Reader) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(from, maxFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", name, err)
	case len(content) > maxFile:
		return nil, errors.New("reading " + name + ": it is too large, split it")
	default:
		return content, nil
	}
}
