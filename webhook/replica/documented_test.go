package replica

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/fairlead-io/fairlead/internal/features"
)

// closed are the labels that metrics may have: each has the values of a list in the program, or names a thing that an
// installation has a handful of. None is what a sender of requests chooses.
var closed = map[string]string{
	"action":        "those of rules, allow, exempt, error",
	"configuration": "our webhook configurations and definitions",
	"goversion":     "one",
	"kind":          "the kinds that rules or deletion protection are for",
	"mode":          "Always, Cascading",
	"operation":     "those of admission.k8s.io, other, none",
	"outcome":       "a list of each metric",
	"reason":        "a list of each metric",
	"resource":      "the kinds of objects that admission depends on",
	"rule":          "the rules in force",
	"set":           "sets of policies, which administrators write",
	"version":       "one",
	"webhook":       "the table",
}

// foreign are the metrics of Prometheus' client library.
var foreign = regexp.MustCompile(`^(go|process|promhttp)_`)

// Every metric of a replica is in the table of docs/operations.md, with its labels and what it says of itself, and nothing
// else is.
func TestMetricsAreDocumented(t *testing.T) {
	const file = "../../docs/operations.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const start, end = "<!-- metrics of kruise-webhook -->\n", "<!-- end of metrics of kruise-webhook -->"
	before, rest, _ := strings.Cut(string(text), start)
	documented, after, found := strings.Cut(rest, end)
	if !found {
		t.Fatalf("%s has no table between %q and %q", file, start, end)
	}
	want := tableOf(descriptions(t))
	if diff := cmp.Diff(want, documented); diff == "" {
		return
	} else if os.Getenv("UPDATE_DOCS") == "" {
		t.Fatalf("%s is not what a replica exports; run this test with UPDATE_DOCS=1 (-want +got):\n%s", file, diff)
	}
	if err := os.WriteFile(file, []byte(before+start+want+end+after), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestLabelsHaveClosedSets(t *testing.T) {
	for _, d := range descriptions(t) {
		for _, label := range d.labels {
			if closed[label] == "" {
				t.Errorf("%s has the label %s, whose values nothing bounds", d.name, label)
			}
		}
	}
}

type description struct {
	name, help string
	labels     []string
}

func tableOf(all []description) string {
	var b strings.Builder
	b.WriteString("| metric | labels | meaning |\n|---|---|---|\n")
	for _, d := range all {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", d.name, strings.Join(d.labels, ", "), strings.ReplaceAll(d.help, "|", `\|`))
	}
	return b.String()
}

// described is how the library prints a description, whose parts it does not give away.
var described = regexp.MustCompile(`^Desc\{fqName: "([^"]+)", help: ("(?:[^"\\]|\\.)*"), unit: "[^"]*", constLabels: \{([^}]*)\}, variableLabels: \{([^}]*)\}\}$`)

// descriptions are those of all metrics of a replica in a cluster, also of those that nothing was counted for yet.
func descriptions(t *testing.T) []description {
	t.Helper()
	registered := make(chan *prometheus.Desc)
	registry := replicaRegistry(t)
	go func() {
		defer close(registered)
		registry.Describe(registered)
	}()
	var all []description
	for desc := range registered {
		parts := described.FindStringSubmatch(desc.String())
		if parts == nil {
			t.Fatalf("not understood: %s", desc)
		}
		if foreign.MatchString(parts[1]) {
			continue
		}
		d := description{name: parts[1], help: strings.Trim(parts[2], `"`)}
		for label := range strings.SplitSeq(parts[3]+","+parts[4], ",") {
			if name, _, _ := strings.Cut(label, "="); name != "" {
				d.labels = append(d.labels, name)
			}
		}
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b description) int { return strings.Compare(a.name, b.name) })
	return all
}

// replicaRegistry has the metrics of a replica in a cluster, put together as Cluster.Run does.
func replicaRegistry(t *testing.T) *prometheus.Registry {
	t.Helper()
	c := Cluster{
		Options:           Options{Gates: features.New(""), Log: logr.Discard(), AccessLog: t.Output()},
		REST:              &rest.Config{Host: "127.0.0.1:1"}, // nothing is asked of it before a replica runs
		ConversionService: "kruise-conversion", Secret: "kruise-webhook-certs", Identity: "kruise-webhook-0",
	}
	whole, err := c.assemble(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer whole.asking.close()
	return whole.service.registry
}
