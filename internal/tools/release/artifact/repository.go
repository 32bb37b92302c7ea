package artifact

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"sigs.k8s.io/yaml"
)

// IndexFile is the name under which Helm looks for the index of a chart repository.
const IndexFile = "index.yaml"

// repository is the index of a chart repository: https://helm.sh/docs/topics/chart_repository/.
type repository struct {
	APIVersion string                      `json:"apiVersion"`
	Entries    map[string][]map[string]any `json:"entries"`
	Generated  string                      `json:"generated"`
}

// Index writes the index of a chart repository that has the chart, and what an earlier index lists: previous may be
// empty. A version that was listed before is replaced. base is the URL of the folder that the package is in; empty is
// the folder of the index itself.
func (c *Chart) Index(previous []byte, base string, created time.Time) ([]byte, error) {
	index := repository{APIVersion: "v1", Entries: map[string][]map[string]any{}}
	if err := yaml.Unmarshal(previous, &index); err != nil {
		return nil, fmt.Errorf("reading the earlier index: %w", err)
	}
	if index.APIVersion != "v1" || index.Entries == nil {
		return nil, fmt.Errorf("reading the earlier index: it is no %s of a chart repository", IndexFile)
	}
	name, version := c.Metadata["name"].(string), c.Metadata["version"]
	stamp := created.UTC().Format(time.RFC3339)
	entry := maps.Clone(c.Metadata)
	entry["created"], entry["digest"], entry["urls"] = stamp, Digest(c.Package), []string{join(base, c.FileName)}
	others := slices.DeleteFunc(index.Entries[name], func(e map[string]any) bool { return e["version"] == version })
	index.Entries[name] = append([]map[string]any{entry}, others...)
	index.Generated = stamp
	return yaml.Marshal(index)
}

func join(base, file string) string {
	if base == "" {
		return file
	}
	if base[len(base)-1] != '/' {
		base += "/"
	}
	return base + file
}
