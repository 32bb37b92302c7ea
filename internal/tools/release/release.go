package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/fairlead-io/fairlead/internal/tools/release/artifact"
)

// release makes the files of one release. compile and materials are the two steps that need the go command.
type release struct {
	tree
	output        string
	platforms     []platform
	chartURL      string
	previousIndex string
	log           io.Writer
	compile       compiler
	materials     lister
}

func (r *release) make(ctx context.Context) (err error) {
	fmt.Fprintf(r.log, "making %s %s in %s\n", "Fairlead", r.version, r.output)
	earlier, err := r.readPreviousIndex() // before its folder, perhaps, is emptied
	if err != nil {
		return err
	}
	if err := r.emptyOutput(); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "fairlead-release-")
	if err != nil {
		return fmt.Errorf("making a folder for the programs: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	if err := r.writeChart(earlier); err != nil {
		return err
	}
	programs := map[platform]string{}
	for _, p := range r.platforms { // one after the other: each build takes all processors
		programs[p] = filepath.Join(work, p.os+"-"+p.arch)
		if err := r.writeCommandLine(ctx, p, programs[p]); err != nil {
			return err
		}
	}
	if err := r.writeImage(programs); err != nil {
		return err
	}
	sums, err := artifact.Checksums(r.output)
	if err != nil {
		return err
	}
	return r.write(artifact.ChecksumsFile, sums)
}

// emptyOutput makes the folder, or empties it if it is that of an earlier release. Another folder's files are not ours.
func (r *release) emptyOutput() error {
	if files, err := os.ReadDir(r.output); err == nil && len(files) > 0 {
		if _, err := os.Stat(filepath.Join(r.output, marker)); err != nil {
			return fmt.Errorf("emptying %s: it is not empty and was not made by this program: remove it, or name another folder", r.output)
		}
	}
	if err := os.RemoveAll(r.output); err != nil {
		return fmt.Errorf("emptying the folder: %w", err)
	}
	if err := os.MkdirAll(r.output, 0o755); err != nil {
		return fmt.Errorf("making the folder: %w", err)
	}
	return r.write(marker, nil)
}

// marker is an empty file that says that a folder was made by this program, also when it did not come to its end.
const marker = ".fairlead-release"

func (r *release) write(name string, content []byte) error {
	if err := os.WriteFile(filepath.Join(r.output, name), content, 0o644); err != nil {
		return fmt.Errorf("writing the release: %w", err)
	}
	if name != marker {
		fmt.Fprintln(r.log, " ", name)
	}
	return nil
}

func (r *release) readPreviousIndex() ([]byte, error) {
	if r.previousIndex == "" {
		return nil, nil
	}
	data, err := os.ReadFile(r.previousIndex)
	if err != nil {
		return nil, fmt.Errorf("reading the earlier index: %w", err)
	}
	return data, nil
}
