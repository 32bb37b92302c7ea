package userpolicy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestSettingsAreRead(t *testing.T) {
	got, err := ParseSettings(`
enforcement: warn
parameters: {registry: registry.example.com, limits: [1, 2]}
failurePolicy: Fail
timeoutSeconds: 3
namespaceSelector: {matchLabels: {env: production}}
objectSelector: {matchExpressions: [{key: app, operator: Exists}]}
exemptions:
  - {users: [ada], groups: [sre], serviceAccounts: ["ci:deployer"], namespaces: [shop], rules: [registry], reason: migration, until: "2026-12-31T00:00:00Z"}
inventory:
  - {group: apps, version: v1, resource: deployments, namespaces: [shop]}
audit: false
`)
	want := Settings{
		Enforcement: Warn, Parameters: map[string]any{"registry": "registry.example.com", "limits": []any{1.0, 2.0}},
		FailurePolicy: admissionv1.Fail, TimeoutSeconds: 3,
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"env": "production"}},
		ObjectSelector:    &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpExists}}},
		Exemptions: []Exemption{{
			Users: []string{"ada"}, Groups: []string{"sre"}, ServiceAccounts: []string{"ci:deployer"}, Namespaces: []string{"shop"},
			Rules: []string{"registry"}, Reason: "migration", Until: "2026-12-31T00:00:00Z",
		}},
		Inventory: []InventoryResource{{Group: "apps", Version: "v1", Resource: "deployments", Namespaces: []string{"shop"}}},
		Audit:     ptr.To(false),
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got.Audited() || !(Settings{}).Audited() {
		t.Error("a set is audited unless it says that it is not")
	}
}

func TestMistakesInSettingsNameTheField(t *testing.T) {
	for text, want := range map[string]string{
		"enforcment: warn":                                             "settings.yaml: enforcment: there is no such field",
		"exemptions: [{user: [a]}]":                                    "exemptions[0].user: there is no such field",
		"exemptions: [{users: a}]":                                     "exemptions[0].users",
		"exemptions: [{reason: none}]":                                 "exemptions[0]: Required value: it exempts everything",
		"exemptions: [{users: [a], until: tomorrow}]":                  `exemptions[0].until: Invalid value: "tomorrow"`,
		"exemptions: [{serviceAccounts: [deployer]}]":                  "exemptions[0].serviceAccounts[0]",
		"enforcement: block":                                           "enforcement: Unsupported value",
		"failurePolicy: ignore":                                        "failurePolicy: Unsupported value",
		"timeoutSeconds: 31":                                           "timeoutSeconds: Invalid value: 31",
		"namespaceSelector: {matchLabels: {a: 'b c'}}":                 "namespaceSelector.matchLabels",
		"objectSelector: {matchExpressions: [{key: a, operator: Is}]}": "objectSelector.matchExpressions[0].operator",
		"inventory: [{version: v1}]":                                   "inventory[0].resource: Required value",
		"inventory: [{version: v1, resource: '*'}]":                    "inventory[0].resource: Invalid value",
		"a: 1\na: 2": "already set",
		"- list":     "settings.yaml",
		"enforcement: dryrun\n---\nexemptions: []":                                                           "settings.yaml: there is more than one document",
		"parameters: {a: &a [" + strings.Repeat("x", 9000) + "], b: [" + strings.Repeat("*a, ", 1000) + "]}": "settings.yaml: with its aliases it is larger than 8 MiB",
		"parameters: {a: &a [*a]}":                                                                           "settings.yaml: with its aliases it is larger",
		"inventory: [{version: .., resource: metrics}]":                                                      "inventory[0].version: Invalid value",
		"inventory: [{version: v1, resource: pods, namespaces: [../x]}]":                                     "inventory[0].namespaces[0]: Invalid value",
		"inventory: [{version: v1, resource: pods}, {version: v1, resource: pods, namespaces: [shop]}]":      "inventory[1]: Duplicate value",
		"inventory: [{version: v1, resource: pods, namespaces: [shop, shop]}]":                               "inventory[0].namespaces[1]: Duplicate value",
	} {
		if _, err := ParseSettings(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
