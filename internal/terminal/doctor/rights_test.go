package doctor

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/webhook/table"
)

// What the doctor looks for is what the chart gives the two accounts, no more and no less.
func TestRightsAreThoseOfTheChart(t *testing.T) {
	for _, tt := range []struct {
		name      string
		values    []string
		gates     string
		registers bool
	}{
		{"by default", nil, "", true},
		{"certificates of cert-manager", []string{"certManager.enabled=true"}, "EnableExternalCerts=true", true},
		{"others register", []string{"webhookConfiguration.register=false"}, "", false},
		{"without Pods", []string{`featureGates=PodWebhook=false\,ResourcesDeletionProtection=false`}, "PodWebhook=false,ResourcesDeletionProtection=false", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			gates := features.New("")
			if err := gates.Set(tt.gates); tt.gates != "" && err != nil {
				t.Fatal(err)
			}
			d := &Doctor{config: table.Config{Namespace: "kruise-system"}, installation: &terminal.Installation{
				Settings: &terminal.Settings{Registers: tt.registers, Secret: "kruise-webhook-certs"},
			}}
			d.installation.Settings.Gates = gates
			granted := chartRights(t, tt.values)
			for account, rights := range map[string][]right{"kruise-webhook": d.webhookRights(), "kruise-manager": d.managerRights()} {
				if diff := cmp.Diff(granted[account], spelledOut(rights)); diff != "" {
					t.Errorf("%s: the chart (-) gives other rights than the doctor (+) looks for:\n%s", account, diff)
				}
			}
		})
	}
}

// spelledOut are rights one by one, each once, in order.
func spelledOut(rights []right) (all []string) {
	for _, r := range rights {
		for _, verb := range r.verbs {
			all = append(all, verb+" "+r.what())
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// chartRights are what the chart gives its accounts, as spelledOut has it.
func chartRights(t *testing.T, values []string) map[string][]string {
	t.Helper()
	rules := map[string][]rbacv1.PolicyRule{}
	bindings := render(t, values, func(kind, name string, r []rbacv1.PolicyRule) { rules[kind+" "+name] = r })
	rights := map[string][]right{}
	for _, b := range bindings {
		given, found := rules[b.RoleRef.Kind+" "+b.RoleRef.Name]
		if !found {
			t.Fatalf("%s refers to %s %s, which the chart does not have", b.Name, b.RoleRef.Kind, b.RoleRef.Name)
		}
		for _, subject := range b.Subjects {
			for _, rule := range given {
				rights[subject.Name] = append(rights[subject.Name], ofRule(rule, b.Namespace)...)
			}
		}
	}
	all := map[string][]string{}
	for account, list := range rights {
		all[account] = spelledOut(list)
	}
	return all
}

// ofRule are the rights that a rule gives in a namespace, or everywhere.
func ofRule(rule rbacv1.PolicyRule, namespace string) (rights []right) {
	objects := rule.ResourceNames
	if len(objects) == 0 {
		objects = []string{""}
	}
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, object := range objects {
				rights = append(rights, right{verbs: rule.Verbs, group: group, resource: resource, namespace: namespace, object: object})
			}
		}
	}
	return rights
}

// render reads the roles and the bindings of the chart; a binding of either kind is one here, without a namespace where it
// holds everywhere.
func render(t *testing.T, values []string, role func(kind, name string, rules []rbacv1.PolicyRule)) (bindings []rbacv1.RoleBinding) {
	t.Helper()
	const root = "../../.."
	args := []string{"tool", "-modfile=" + root + "/internal/tools/helm/go.mod", "helm", "template", "kruise", root + "/charts/kruise", "--set", "crds.managed=false"}
	for _, value := range values {
		args = append(args, "--set", value)
	}
	command := exec.CommandContext(t.Context(), "go", args...)
	command.Stderr = t.Output()
	rendered, err := command.Output()
	if err != nil {
		t.Fatalf("rendering the chart: %v", err)
	}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(rendered), 4096)
	for {
		var object struct {
			rbacv1.RoleBinding
			Rules []rbacv1.PolicyRule
		}
		switch err := decoder.Decode(&object); {
		case errors.Is(err, io.EOF):
			return bindings
		case err != nil:
			t.Fatal(fmt.Errorf("reading the rendered chart: %w", err))
		}
		switch object.Kind {
		case "Role", "ClusterRole":
			role(object.Kind, object.Name, object.Rules)
		case "RoleBinding", "ClusterRoleBinding":
			bindings = append(bindings, object.RoleBinding)
		}
	}
}
