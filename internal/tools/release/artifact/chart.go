package artifact

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"time"

	"sigs.k8s.io/yaml"
)

const (
	chartFile  = "Chart.yaml"
	ignoreFile = ".helmignore"
)

// Chart is a packaged Helm chart.
type Chart struct {
	// Metadata is Chart.yaml as it was packaged.
	Metadata map[string]any
	// Package is the content of the file FileName.
	Package []byte
	// FileName is NAME-VERSION.tgz, as `helm package` names it.
	FileName string
}

// PackChart packages the chart in a folder as a release: version and appVersion in its Chart.yaml become the given one, and
// with appVersion the tag of the image that the chart runs. What .helmignore names stays out.
func PackChart(chart fs.FS, version string, modified time.Time) (*Chart, error) {
	ignored, err := readIgnore(chart)
	if err != nil {
		return nil, err
	}
	description, err := fs.ReadFile(chart, chartFile)
	if err != nil {
		return nil, fmt.Errorf("reading the chart: %w", err)
	}
	if description, err = setVersion(description, version); err != nil {
		return nil, err
	}
	c := &Chart{}
	if err = yaml.Unmarshal(description, &c.Metadata); err != nil {
		return nil, fmt.Errorf("reading %s: %w", chartFile, err)
	}
	name, _ := c.Metadata["name"].(string)
	if name == "" {
		return nil, fmt.Errorf("reading %s: it has no name", chartFile)
	}
	c.FileName = name + "-" + version + ".tgz"
	entries, err := chartEntries(chart, ignored, name)
	if err != nil {
		return nil, err
	}
	entries = append(entries, Entry{Name: path.Join(name, chartFile), Mode: 0o644, Content: description})
	var out bytes.Buffer
	if err := TarGz(&out, modified, entries); err != nil {
		return nil, err
	}
	c.Package = out.Bytes()
	return c, nil
}

// chartEntries are the chart's files but Chart.yaml, below a folder of the chart's name as Helm wants it.
func chartEntries(chart fs.FS, ignored ignore, name string) ([]Entry, error) {
	var entries []Entry
	err := fs.WalkDir(chart, ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case file == ".":
			return nil
		case ignored.match(file, d.IsDir()) && d.IsDir():
			return fs.SkipDir
		case d.IsDir(), ignored.match(file, false), file == chartFile, file == ignoreFile:
			return nil
		}
		content, err := fs.ReadFile(chart, file)
		entries = append(entries, Entry{Name: path.Join(name, file), Mode: 0o644, Content: content})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the chart: %w", err)
	}
	return entries, nil
}

var (
	versionLine    = regexp.MustCompile(`(?m)^version:.*$`)
	appVersionLine = regexp.MustCompile(`(?m)^appVersion:.*$`)
)

// setVersion changes two lines of Chart.yaml and leaves the rest, comments included, as it is.
func setVersion(description []byte, version string) ([]byte, error) {
	for line, text := range map[*regexp.Regexp]string{versionLine: "version: " + version, appVersionLine: `appVersion: "` + version + `"`} {
		if found := len(line.FindAll(description, -1)); found != 1 {
			return nil, fmt.Errorf("setting the version of %s: %d lines match %s, want one", chartFile, found, line)
		}
		description = line.ReplaceAllLiteral(description, []byte(text))
	}
	return description, nil
}
