package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/fairlead-io/fairlead/internal/oci"
	"github.com/fairlead-io/fairlead/internal/tools/release/artifact"
)

// writeChart packages the chart and makes the repository index.
func (r *release) writeChart(earlier []byte) error {
	chart, err := artifact.PackChart(os.DirFS(filepath.Join(r.root, "charts", "kruise")), r.version, r.modified)
	if err != nil {
		return err
	}
	index, err := chart.Index(earlier, r.chartURL, r.modified)
	if err != nil {
		return err
	}
	if err := r.write(chart.FileName, chart.Package); err != nil {
		return err
	}
	return r.write(artifact.IndexFile, index)
}

// writeCommandLine builds the program for a platform, and makes its archive and its bill of materials.
func (r *release) writeCommandLine(ctx context.Context, p platform, program string) error {
	if err := r.compile(ctx, r.root, r.version, p, program); err != nil {
		return err
	}
	cli := artifact.CLI{Version: r.version, OS: p.os, Arch: p.arch}
	for file, content := range map[string]*[]byte{
		program: &cli.Program, filepath.Join(r.root, "LICENSE"): &cli.License, filepath.Join(r.root, "README.md"): &cli.Readme,
	} {
		var err error
		if *content, err = os.ReadFile(file); err != nil {
			return fmt.Errorf("packing the command line: %w", err)
		}
	}
	archive, err := cli.Pack(r.modified)
	if err != nil {
		return err
	}
	if err := r.write(cli.FileName(), archive); err != nil {
		return err
	}
	list, err := r.materials(ctx, r.root, r.version, program)
	if err != nil {
		return err
	}
	return r.write(fmt.Sprintf("fairlead_%s_%s_%s.cdx.json", r.version, p.os, p.arch), list)
}

// imageFolder is the OCI layout in the release. The same is in an archive, which can be downloaded as one file.
const imageFolder = "image"

// writeImage makes the image of the programs for Linux; without any there is none.
func (r *release) writeImage(programs map[platform]string) error {
	var images []v1.Image
	for _, p := range r.platforms {
		if p.os != "linux" {
			continue
		}
		spec := oci.Product(programs[p])
		spec.Architecture, spec.Created, spec.Gzip, spec.Labels = p.arch, r.modified, true, r.labels()
		img, err := oci.Build(spec)
		if err != nil {
			return err
		}
		images = append(images, img)
	}
	if len(images) == 0 {
		return nil
	}
	index, err := oci.Index(images...)
	if err != nil {
		return err
	}
	layout := filepath.Join(r.output, imageFolder)
	if err := oci.WriteLayout(layout, r.version, index); err != nil {
		return err
	}
	archive, err := artifact.TarFolder(os.DirFS(layout), r.modified)
	if err != nil {
		return err
	}
	return r.write(fmt.Sprintf("fairlead_%s_image.tar", r.version), archive)
}

// labels are those that the image specification gives a meaning.
func (r *release) labels() map[string]string {
	const prefix = "org.opencontainers.image."
	return map[string]string{
		prefix + "title": "fairlead", prefix + "version": r.version, prefix + "revision": r.revision,
		prefix + "created": r.modified.Format(time.RFC3339), prefix + "licenses": "Apache-2.0",
		prefix + "source": "https://github.com/fairlead-io/fairlead",
	}
}
