package features

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/component-base/featuregate"
)

// The switches for whole groups of gates.
const (
	allAlpha featuregate.Feature = "AllAlpha"
	allBeta  featuregate.Feature = "AllBeta"
)

// Gates are the feature gates of one process. They are set while flags are parsed and only read afterwards; reading
// is safe for concurrent use.
type Gates struct {
	gate      featuregate.MutableVersionedFeatureGate
	effective map[featuregate.Feature]bool
	forced    []Forced
}

// New gives all gates their defaults.
//
// customResources is the value of the legacy environment variable CUSTOM_RESOURCE_ENABLE, a comma-separated list of
// kinds: one that lacks SidecarSet switches PodWebhook off by default (webhook-server.md §3).
func New(customResources string) *Gates {
	gate := featuregate.NewFeatureGate()
	all := specs()
	if customResources != "" && !slices.Contains(splitList(customResources), "SidecarSet") {
		spec := all[PodWebhook]
		spec.Default = false
		all[PodWebhook] = spec
	}
	if err := gate.Add(all); err != nil {
		panic(fmt.Sprintf("adding the feature gates: %v", err)) // two specs of one name: a mistake in this package
	}
	g := &Gates{gate: gate}
	g.refresh()
	return g
}

// Enabled says whether a gate is on, forced dependencies applied. It panics on a name that is not a gate.
func (g *Gates) Enabled(feature featuregate.Feature) bool {
	value, known := g.effective[feature]
	if !known {
		panic(fmt.Sprintf("feature gate %q does not exist", feature))
	}
	return value
}

// Forced lists the gates that other gates have switched against their default or explicit value, for the start-up log.
func (g *Gates) Forced() []Forced { return slices.Clone(g.forced) }

// Names lists all gates in order.
func (g *Gates) Names() []featuregate.Feature {
	names := make([]featuregate.Feature, 0, len(g.effective))
	for name := range g.effective {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Set parses `Gate=true,Other=false`; later calls override earlier ones. An unknown name is an error that names the
// gates that may have been meant.
func (g *Gates) Set(value string) error {
	known := g.gate.GetAll()
	items := splitList(value)
	for _, item := range items {
		name, _, _ := strings.Cut(item, "=")
		name = strings.TrimSpace(name)
		if _, ok := known[featuregate.Feature(name)]; !ok {
			return unknown(name, known)
		}
	}
	if err := g.gate.Set(strings.Join(items, ",")); err != nil {
		return fmt.Errorf("setting feature gates: %w", err)
	}
	g.refresh()
	return nil
}

// String gives the explicitly set gates, as a flag's value.
func (g *Gates) String() string {
	if g == nil || g.gate == nil {
		return "" // pflag asks a zero value for its default
	}
	return fmt.Sprint(g.gate)
}

// Type names the flag's value in the usage text.
func (g *Gates) Type() string { return "mapStringBool" }

// AddFlag adds --feature-gates to a flag set.
func (g *Gates) AddFlag(flags *pflag.FlagSet) {
	flags.Var(g, "feature-gates", "Comma-separated list of Gate=true|false. Gates:\n"+strings.Join(g.gate.KnownFeatures(), "\n"))
}

func (g *Gates) refresh() {
	wanted := make(map[featuregate.Feature]bool)
	for name := range g.gate.GetAll() {
		if name != allAlpha && name != allBeta {
			wanted[name] = g.gate.Enabled(name)
		}
	}
	g.effective, g.forced = resolve(wanted)
}

func splitList(value string) []string {
	var items []string
	for _, item := range strings.Split(value, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

func compare(a, b featuregate.Feature) int { return cmp.Compare(a, b) }
