//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/test/cluster/cluster"
	"github.com/fairlead-io/fairlead/test/installation"
)

const sidecarSet = `
apiVersion: apps.kruise.io/v1beta1
kind: SidecarSet
metadata: {name: kept}
spec:
  selector: {matchLabels: {app: web}}
  containers: [{name: sidecar, image: "bank.test/tool:v1"}]
`

// TestChartObjects looks at what Helm makes of the chart in a cluster where no Pod of ours runs. Each test leaves the
// cluster as it found it.
func TestChartObjects(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{Level: cluster.LevelAPIServer, Controllers: true})
	for _, test := range []struct {
		name string
		run  func(*testing.T, *cluster.Cluster)
	}{
		{"refuses a missing namespace", refusesAMissingNamespace},
		{"keeps what is not Helm's", keepsWhatIsNotHelms},
		{"gives the least rights", givesTheLeastRights},
		{"works with every choice of namespaces", worksWithNamespaces},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.run(t, c)
			if err := wipe(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// worksWithNamespaces installs the chart in every way that users do; each must work through upgrade, uninstall and a
// second install, and leave the namespaces.
func worksWithNamespaces(t *testing.T, c *cluster.Cluster) {
	tests := []struct {
		name      string
		before    []string // a kubectl command
		namespace string   // of the release
		flags     []string
		renders   bool // whether the installation namespace belongs to the release
	}{
		{name: "from another namespace", namespace: "default", renders: true},
		{name: "into its own, made by Helm", namespace: installation.Namespace, flags: []string{"--create-namespace"}},
		{name: "into its own that exists", before: []string{"create", "namespace", installation.Namespace}, namespace: installation.Namespace},
		{name: "from another while it exists", before: []string{"create", "namespace", installation.Namespace}, namespace: "default"},
		{
			name: "from another without making it", before: []string{"create", "namespace", installation.Namespace},
			namespace: "default", flags: []string{"--set", "installation.createNamespace=false"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.before != nil {
				kubectl(t, c, test.before...)
			}
			// Definitions take seconds to come and go, and matter to the other tests.
			r := newRelease(t, c, test.namespace, "--set", "crds.managed=false")
			for _, time := range []string{"first", "second"} {
				r.install(test.flags...)
				assertNamespaces(t, r, time+" install", test.renders)
				r.upgrade(append(test.flags[:len(test.flags):len(test.flags)], "--set", "manager.replicas=3")...)
				assertNamespaces(t, r, time+" upgrade", test.renders)
				r.uninstall()
				for _, name := range []string{installation.Namespace, "kruise-daemon-config"} {
					if !exists(t, c, "namespace", name) {
						t.Errorf("%s uninstall: namespace %s is gone", time, name)
					}
				}
			}
			if err := wipe(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func assertNamespaces(t *testing.T, r *release, when string, renders bool) {
	t.Helper()
	if got := r.rendered("Namespace", installation.Namespace); got != renders {
		t.Errorf("%s: the release has namespace %s: %t, want %t", when, installation.Namespace, got, renders)
	}
	if !r.rendered("Namespace", "kruise-daemon-config") {
		t.Errorf("%s: the release lacks namespace kruise-daemon-config", when)
	}
	if !exists(t, r.c, "-n", installation.Namespace, "deployment", "kruise-webhook") {
		t.Errorf("%s: there is no Deployment kruise-webhook in %s", when, installation.Namespace)
	}
}

// refusesAMissingNamespace with a message that says what to do, before anything is created.
func refusesAMissingNamespace(t *testing.T, c *cluster.Cluster) {
	r := newRelease(t, c, "default", "--set", "installation.createNamespace=false")
	_, err := c.Helm(t.Context(), r.command("install", nil)...)
	if err == nil || !strings.Contains(err.Error(), "create it first") {
		t.Errorf("installing without the namespace: %v, want an error that says to create it", err)
	}
	if names, err := definitions(t.Context(), c); err != nil || len(names) > 0 {
		t.Errorf("a refused install left %v (%v)", names, err)
	}
}

// keepsWhatIsNotHelms through a release's life: what users and the service have put into the cluster.
func keepsWhatIsNotHelms(t *testing.T, c *cluster.Cluster) {
	r := newRelease(t, c, "default")
	r.install()
	installed, err := definitions(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if len(installed) == 0 {
		t.Fatal("the chart installed no definitions")
	}
	apply(t, c, sidecarSet)
	before := kubectl(t, c, "get", "sidecarset", "kept", "-o", "jsonpath={.metadata.uid}")
	// "service" is a field manager other than Helm's.
	kubectl(t, c, "-n", installation.Namespace, "patch", "secret", "kruise-webhook-certs", "--field-manager", "service",
		"--type", "merge", "-p", `{"data":{"ca-cert.pem":"eA=="}}`)

	keeps := func(when string) {
		t.Helper()
		got, err := definitions(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(installed, got); diff != "" {
			t.Errorf("%s: definitions changed (-before +after):\n%s", when, diff)
		}
		if after := kubectl(t, c, "get", "sidecarset", "kept", "-o", "jsonpath={.metadata.uid}"); after != before {
			t.Errorf("%s: the SidecarSet has uid %q, want %q", when, after, before)
		}
	}
	certs := func(when string) {
		t.Helper()
		got := kubectl(t, c, "-n", installation.Namespace, "get", "secret", "kruise-webhook-certs", "-o", "jsonpath={.data}")
		if want := `{"ca-cert.pem":"eA=="}`; got != want {
			t.Errorf("%s: the Secret's data is %s, want %s", when, got, want)
		}
	}

	r.upgrade("--set", "manager.replicas=3")
	keeps("after an upgrade")
	certs("after an upgrade")
	r.helm("rollback", installation.Release)
	keeps("after a rollback")
	certs("after a rollback")
	r.upgrade("--set", "crds.managed=false")
	keeps("after an upgrade without definitions")
	r.uninstall()
	keeps("after uninstalling")
	if left := leftovers(t, c); left != "" {
		t.Errorf("uninstalling left:\n%s", left)
	}
	r.install()
	keeps("after installing again")
	r.uninstall()
}

// leftovers lists what should be gone after uninstalling: everything but definitions, their objects and namespaces.
func leftovers(t *testing.T, c *cluster.Cluster) string {
	t.Helper()
	cluster := kubectl(t, c, "get", "clusterroles,clusterrolebindings,mutatingwebhookconfigurations,validatingwebhookconfigurations",
		"-l", "app.kubernetes.io/name=kruise", "-o", "name")
	configurations := kubectl(t, c, "get", "mutatingwebhookconfigurations,validatingwebhookconfigurations", "-o", "name")
	inNamespaces := kubectl(t, c, "get", "-A", "deployments,services,secrets,serviceaccounts,roles,rolebindings,poddisruptionbudgets,resourcequotas",
		"-l", "app.kubernetes.io/name=kruise", "-o", "name")
	return strings.TrimSpace(cluster + "\n" + configurations + "\n" + inNamespaces)
}
