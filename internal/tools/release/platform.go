package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// allPlatforms are where the command line runs. Those of Linux have an image too.
var allPlatforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64"}

// platform is an operating system and an architecture, by Go's names.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "/" + p.arch }

var validPlatform = regexp.MustCompile(`^[a-z0-9]+/[a-z0-9]+$`)

// parsePlatforms reads a list such as linux/amd64,darwin/arm64. Whether Go knows a platform, its build will say.
func parsePlatforms(list string) ([]platform, error) {
	var platforms []platform
	for _, text := range strings.Split(list, ",") {
		if !validPlatform.MatchString(text) {
			return nil, fmt.Errorf("platform %q: want OS/ARCH with Go's names, such as linux/arm64", text)
		}
		os, arch, _ := strings.Cut(text, "/")
		p := platform{os, arch}
		if slices.Contains(platforms, p) {
			return nil, fmt.Errorf("platform %s is named twice", p)
		}
		platforms = append(platforms, p)
	}
	return platforms, nil
}
