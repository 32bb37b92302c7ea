package conformance

import (
	"strings"
	"testing"
)

// addition is a part of a schema that the tables do not have.
type addition struct {
	plural, path, why string
}

const newerThanTables = "core Kubernetes got the field after the tables were made"

// additions are all of ours; a path covers what is below it.
var additions = []addition{
	{"containerrecreaterequests", "spec.containers[].preStop.httpGet.protocol", newerThanTables},
	{"nodepodprobes", "spec.podProbes[].probes[].probe.grpc.mode", newerThanTables},
	{"nodepodprobes", "spec.podProbes[].probes[].probe.httpGet.protocol", newerThanTables},
	{"podprobemarkers", "spec.probes[].probe.grpc.mode", newerThanTables},
	{"podprobemarkers", "spec.probes[].probe.httpGet.protocol", newerThanTables},
	{"containerrecreaterequests", "spec.containers[].preStop.sleep",
		"containers may have a sleep hook, and the request carries the container's hook"},
	{"advancedcronjobs", "spec.template.broadcastJobTemplate.metadata.",
		"labels and annotations for the job would be pruned if the schema did not name them"},
	{"advancedcronjobs", "spec.template.imageListPullJobTemplate.metadata.",
		"labels and annotations for the job would be pruned if the schema did not name them"},
}

func (a addition) covers(path string) bool {
	return path == a.path || strings.HasPrefix(path, strings.TrimSuffix(a.path, ".")+".")
}

func isAddition(plural, path string) bool {
	for _, a := range additions {
		if a.plural == plural && a.covers(path) {
			return true
		}
	}
	return false
}

// TestAdditionsExist keeps the list from growing stale.
func TestAdditionsExist(t *testing.T) {
	crds := readCRDs(t)
	for _, a := range additions {
		found := false
		for _, v := range crds[a.plural].Spec.Versions {
			for path := range flatten(v.Schema.OpenAPIV3Schema) {
				found = found || a.covers(path)
			}
		}
		if !found {
			t.Errorf("%s has no %s (%s); drop it from the list", a.plural, a.path, a.why)
		}
	}
}
