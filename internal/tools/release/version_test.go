package main

import (
	"strings"
	"testing"

	utilversion "k8s.io/apimachinery/pkg/util/version"
)

func TestParseVersion(t *testing.T) {
	for text, want := range map[string]string{"1.2.3": "1.2.3", "v1.2.3": "1.2.3", "v1.2.3-rc.1": "1.2.3-rc.1"} {
		if got, err := parseVersion(text); err != nil || got != want {
			t.Errorf("%s is read as %q (%v), want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"1.2": "want one like 1.2.3", "": "want one like 1.2.3", "one": "want one like 1.2.3",
		"1.2.3+linux": `leave "+linux" out`,
	} {
		if _, err := parseVersion(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
}

func TestVersionOf(t *testing.T) {
	for _, tt := range []struct {
		described string
		changed   bool
		want      string
	}{
		{described: "v1.2.3-0-gabcdef123456", want: "1.2.3"},
		{described: "v1.2.3-rc.1-0-gabcdef123456", want: "1.2.3-rc.1"},
		{described: "v1.2.3-4-gabcdef123456", want: "1.2.4-dev.4.gabcdef123456"},
		{described: "v1.2.3-4-gabcdef123456", changed: true, want: "1.2.4-dev.4.gabcdef123456.changed"},
		{described: "v1.2.3-rc.1-4-gabcdef123456", want: "1.2.3-rc.1.dev.4.gabcdef123456"},
		{want: "0.0.0-dev.57.gfedcba654321"},
		{changed: true, want: "0.0.0-dev.57.gfedcba654321.changed"},
	} {
		got, err := versionOf(tt.described, "57", "fedcba654321", tt.changed)
		if err != nil || got != tt.want {
			t.Errorf("%q, changed %t: %q (%v), want %q", tt.described, tt.changed, got, err, tt.want)
		}
		if _, err := parseVersion(got); err != nil {
			t.Errorf("%q makes no version: %v", tt.described, err)
		}
	}
	for described, want := range map[string]string{
		"v1.2.3-0-gabcdef123456": "differs from the tag", "v1-0-gabcdef": "want one like v1.2.3",
	} {
		if _, err := versionOf(described, "57", "fedcba654321", true); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", described, err, want)
		}
	}
}

// Versions between tags sort between them, so that an upgrade from one to the next goes forward.
func TestVersionsSort(t *testing.T) {
	order := []string{
		"0.0.0-dev.57.gfedcba654321", "1.2.3-rc.1", "1.2.3-rc.1.dev.4.gabcdef123456", "1.2.3-rc.2", "1.2.3",
		"1.2.4-dev.4.gabcdef123456", "1.2.4-dev.10.gabcdef123456", "1.2.4-rc.1", "1.2.4",
	}
	for i := 1; i < len(order); i++ {
		if !utilversion.MustParseSemantic(order[i-1]).LessThan(utilversion.MustParseSemantic(order[i])) {
			t.Errorf("%s does not sort before %s", order[i-1], order[i])
		}
	}
}

func TestParsePlatforms(t *testing.T) {
	got, err := parsePlatforms("linux/amd64,windows/arm64")
	if err != nil || len(got) != 2 || got[1] != (platform{"windows", "arm64"}) {
		t.Errorf("got %v (%v)", got, err)
	}
	for list, want := range map[string]string{
		"": "want OS/ARCH", "linux": "want OS/ARCH", "linux/../x": "want OS/ARCH", "linux/amd64,linux/amd64": "named twice",
	} {
		if _, err := parsePlatforms(list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", list, err, want)
		}
	}
}
