package artifact

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// ChecksumsFile is the name of the list of checksums.
const ChecksumsFile = "checksums.txt"

// Checksums lists the SHA-256 digests of the files in a folder, not of those in folders below, of the list itself
// nor of hidden files, by name, as `sha256sum -c` reads them.
func Checksums(dir string) ([]byte, error) {
	files, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return nil, fmt.Errorf("listing what to sum: %w", err)
	}
	var list strings.Builder
	for _, f := range files {
		if !f.Type().IsRegular() || f.Name() == ChecksumsFile || strings.HasPrefix(f.Name(), ".") {
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return nil, fmt.Errorf("summing: %w", err)
		}
		fmt.Fprintf(&list, "%s  %s\n", Digest(content), f.Name())
	}
	return []byte(list.String()), nil
}

// Digest is the SHA-256 digest of a content in hexadecimal.
func Digest(content []byte) string { return fmt.Sprintf("%x", sha256.Sum256(content)) }
