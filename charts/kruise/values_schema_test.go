// Package kruise checks that the chart agrees with the program that it installs.
package kruise

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/internal/logging"
	"github.com/fairlead-io/fairlead/webhook"
	"github.com/fairlead-io/fairlead/webhook/table"
)

// webhookConfiguration.failurePolicy takes the webhooks that the program knows and no others: it would refuse to start.
func TestFailurePolicyNamesEveryWebhook(t *testing.T) {
	pattern := failurePolicyPattern(t)
	known := table.Names(webhook.All(webhook.Deps{}))
	for _, name := range known {
		for _, key := range []string{name, strings.TrimSuffix(name, ".kb.io")} {
			if !pattern.MatchString(key) {
				t.Errorf("values.schema.json refuses webhookConfiguration.failurePolicy.%s; add it to the pattern there, "+
					"and to the meaning of `pods` in templates/_settings.tpl if it is about Pods", key)
			}
		}
	}
	accepted := regexp.MustCompile(`\(([a-z0-9|-]+)\)`).FindStringSubmatch(pattern.String())[1]
	for _, name := range strings.Split(accepted, "|") {
		if !slices.Contains(known, name+".kb.io") {
			t.Errorf("values.schema.json accepts webhookConfiguration.failurePolicy.%s, which is no webhook", name)
		}
	}
}

// featureGates takes the gates that the program knows and no others: it would refuse to start.
func TestFeatureGatesNamesEveryGate(t *testing.T) {
	settings, err := os.ReadFile("templates/_settings.tpl")
	if err != nil {
		t.Fatal(err)
	}
	listed := regexp.MustCompile(`(?s)define "kruise.knownGates" -}}\n(.*?)\n`).FindSubmatch(settings)
	if listed == nil {
		t.Fatal(`templates/_settings.tpl defines no "kruise.knownGates"`)
	}
	want := []string{"AllAlpha", "AllBeta"}
	for _, name := range features.New("").Names() {
		want = append(want, string(name))
	}
	got := strings.Fields(string(listed[1]))
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(slices.Compact(want), got); diff != "" {
		t.Errorf("templates/_settings.tpl lists other gates than the program knows (-program +chart):\n%s", diff)
	}
}

func failurePolicyPattern(t *testing.T) *regexp.Regexp {
	t.Helper()
	data, err := os.ReadFile("values.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties struct {
			WebhookConfiguration struct {
				Properties struct {
					FailurePolicy struct {
						PatternProperties map[string]any `json:"patternProperties"`
					} `json:"failurePolicy"`
				} `json:"properties"`
			} `json:"webhookConfiguration"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	patterns := schema.Properties.WebhookConfiguration.Properties.FailurePolicy.PatternProperties
	if len(patterns) != 1 {
		t.Fatalf("values.schema.json has %d patterns for webhookConfiguration.failurePolicy, want 1", len(patterns))
	}
	for pattern := range patterns {
		return regexp.MustCompile(pattern)
	}
	return nil
}

// The schema says of the verbosity what the program does with it.
func TestTheVerbosityIsThatOfTheProgram(t *testing.T) {
	flags := pflag.NewFlagSet("program", pflag.ContinueOnError)
	(&logging.Flags{}).Add(flags)
	loudest := regexp.MustCompile(`More than (\d+) is`).FindStringSubmatch(flags.Lookup("v").Usage)
	if loudest == nil {
		t.Fatalf("--v says %q, and not what is the most", flags.Lookup("v").Usage)
	}
	schema, err := os.ReadFile("values.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var values struct {
		Properties struct {
			Manager struct {
				Properties struct {
					Log struct {
						Properties struct {
							Level struct{ Description string }
						}
					}
				}
			}
		}
	}
	if err := json.Unmarshal(schema, &values); err != nil {
		t.Fatal(err)
	}
	if got := values.Properties.Manager.Properties.Log.Properties.Level.Description; !strings.Contains(got, "0 to "+loudest[1]+";") {
		t.Errorf("values.schema.json says of manager.log.level %q, but %s is the most", got, loudest[1])
	}
}
