package doctor

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// The Kubernetes releases that are tested, by their minor version.
const (
	oldestMinor = 30
	newestMinor = 37
)

func checkVersion(_ context.Context, d *Doctor, r *report) error {
	found, err := d.cluster.Client.Discovery().ServerVersion()
	if err != nil {
		return err
	}
	minor, err := strconv.Atoi(strings.TrimRight(found.Minor, "+"))
	judgeVersion(r, found.GitVersion, found.Major, minor, err == nil)
	return nil
}

func judgeVersion(r *report, version, major string, minor int, known bool) {
	switch {
	case !known || major != "1":
		r.add(Warning, "API server", "its version is "+version, "nobody has tested that", "")
	case minor < oldestMinor:
		r.add(Error, "API server", "its version is "+version, fmt.Sprintf("webhooks need what 1.%d brought", oldestMinor), fmt.Sprintf("upgrade Kubernetes to 1.%d or later", oldestMinor))
	case minor > newestMinor:
		r.add(Warning, "API server", "its version is "+version, fmt.Sprintf("releases up to 1.%d are tested", newestMinor), "look for a newer release of Fairlead")
	}
}
