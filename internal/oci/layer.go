package oci

import (
	"archive/tar"
	"bytes"
	"fmt"
	"os"
	"path"
	"sort"
	"strings"
)

// layer packs files, links, their folders and /tmp, in the order of their names and without times and owners.
func (s Spec) layer() ([]byte, error) {
	entries := map[string]tar.Header{"/tmp": {Typeflag: tar.TypeDir, Mode: 0o1777}}
	for p := range s.Files {
		entries[path.Clean(p)] = tar.Header{Typeflag: tar.TypeReg}
	}
	for p, target := range s.Links {
		entries[path.Clean(p)] = tar.Header{Typeflag: tar.TypeSymlink, Linkname: target, Mode: 0o777}
	}
	var names []string
	for p := range entries {
		if !path.IsAbs(p) {
			return nil, fmt.Errorf("path %q must be absolute", p)
		}
		names = append(names, p)
	}
	for _, p := range names {
		for dir := path.Dir(p); dir != "/"; dir = path.Dir(dir) {
			if _, ok := entries[dir]; !ok {
				entries[dir] = tar.Header{Typeflag: tar.TypeDir, Mode: 0o755}
				names = append(names, dir)
			}
		}
	}
	sort.Strings(names)
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, p := range names {
		header := entries[p]
		header.Name = strings.TrimPrefix(p, "/")
		if err := writeEntry(w, header, s.Files[p]); err != nil {
			return nil, err
		}
	}
	return buf.Bytes(), w.Close()
}

func writeEntry(w *tar.Writer, header tar.Header, source string) error {
	if header.Typeflag != tar.TypeReg {
		return w.WriteHeader(&header)
	}
	info, err := os.Stat(source)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	header.Size, header.Mode = int64(len(content)), int64(info.Mode().Perm()&0o755)
	if err = w.WriteHeader(&header); err != nil {
		return err
	}
	_, err = w.Write(content)
	return err
}
