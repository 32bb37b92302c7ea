package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

// parseVersion checks a version and takes the v away that may stand before it. Tags of images know no build metadata, so
// no version has any.
func parseVersion(text string) (string, error) {
	parsed, err := version.ParseSemantic(text)
	if err != nil {
		return "", fmt.Errorf("reading the version %q: want one like 1.2.3 or 1.2.3-rc.1: %w", text, err)
	}
	if parsed.BuildMetadata() != "" {
		return "", fmt.Errorf("using the version %q: an image cannot have the tag; leave %q out", text, "+"+parsed.BuildMetadata())
	}
	return strings.TrimPrefix(text, "v"), nil
}

// described is what git describe --long prints: the last tag, the commits since, the commit.
var described = regexp.MustCompile(`^v(\d+)\.(\d+)\.(\d+)(-[0-9A-Za-z.-]+?)?-(\d+)-g([0-9a-f]+)$`)

// versionOf is the version of a commit: that of its tag; between tags one that sorts after the last and before the next;
// before the first tag one that sorts before every release. description is empty there. commits and commit count and name
// the commit; changed says that the tree differs from it, which a release must not.
func versionOf(description, commits, commit string, changed bool) (string, error) {
	suffix := ""
	if changed {
		suffix = ".changed"
	}
	if description == "" {
		return "0.0.0-dev." + commits + ".g" + commit + suffix, nil
	}
	m := described.FindStringSubmatch(description)
	if m == nil {
		return "", fmt.Errorf("reading the tag in %q: want one like v1.2.3; or set VERSION", description)
	}
	tag := m[1] + "." + m[2] + "." + m[3] + m[4]
	since, hash := m[5], m[6]
	if since == "0" && changed {
		return "", fmt.Errorf("releasing v%s: the tree differs from the tag: commit the changes and tag that, or set VERSION", tag)
	}
	if since == "0" {
		return tag, nil
	}
	if m[4] != "" { // 1.2.3-rc.1 is followed by 1.2.3-rc.1.dev.4
		return tag + ".dev." + since + ".g" + hash + suffix, nil
	}
	patch, err := strconv.Atoi(m[3])
	if err != nil {
		return "", fmt.Errorf("reading the tag v%s: %w", tag, err)
	}
	return fmt.Sprintf("%s.%s.%d-dev.%s.g%s%s", m[1], m[2], patch+1, since, hash, suffix), nil
}
