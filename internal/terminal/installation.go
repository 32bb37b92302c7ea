package terminal

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/webhook/replica"
	"github.com/fairlead-io/fairlead/webhook/table"
)

// WebhookDeployment is the Deployment of the admission service.
const WebhookDeployment = "kruise-webhook"

// Settings are what the command line of the admission service decides about it.
type Settings struct {
	replica.Options
	// Registers says that the service writes the configurations itself.
	Registers bool
	// Secret is where the CA is.
	Secret string
	// Injection are the annotations that ask somebody else for CA bundles.
	Injection map[string]string
}

// Parse reads the arguments and the environment of the admission service as the service itself does. Flags that it does not
// know, of another version, are passed over.
type Parse func(args []string, getenv func(string) string) (*Settings, error)

// Installation is how Fairlead is installed.
type Installation struct {
	// Namespace is that of the release.
	Namespace string
	// Deployment is nil where it could not be read; Missing says why.
	Deployment *appsv1.Deployment
	Missing    error
	Settings   *Settings
}

// InstallationFlags choose an installation.
type InstallationFlags struct {
	namespace string
	gates     *features.Gates
	parse     Parse
	given     func() bool
}

// Add adds the flags.
func (f *InstallationFlags) Add(flags *pflag.FlagSet, parse Parse) {
	f.parse, f.gates = parse, features.New("")
	flags.StringVar(&f.namespace, "fairlead-namespace", table.DefaultNamespace, "Namespace that Fairlead is installed in.")
	flags.Var(f.gates, "feature-gates", "Feature gates to decide with, as Gate=true,Gate=false; by default those of the installation.")
	f.given = func() bool { return flags.Changed("feature-gates") }
}

// Offline is the installation that the flags alone describe: one with the defaults of the admission service.
func (f *InstallationFlags) Offline() (*Installation, error) {
	i := &Installation{Namespace: f.namespace}
	settings, err := f.parse(nil, i.environment(&corev1.Container{}))
	if err != nil {
		return nil, err
	}
	settings.Gates = f.gates
	i.Settings = settings
	return i, nil
}

// Live reads the Deployment of the admission service. Where that cannot be read, the installation is the one that the
// flags describe.
func (f *InstallationFlags) Live(ctx context.Context, c *Cluster) (*Installation, error) {
	i, err := f.Offline()
	if err != nil {
		return nil, err
	}
	deployment, err := c.Client.AppsV1().Deployments(f.namespace).Get(ctx, WebhookDeployment, metav1.GetOptions{})
	if err != nil {
		i.Missing = fmt.Errorf("reading Deployment %s/%s: %w", f.namespace, WebhookDeployment, err)
		return i, nil
	}
	i.Deployment = deployment
	containers := deployment.Spec.Template.Spec.Containers
	at := slices.IndexFunc(containers, func(c corev1.Container) bool { return slices.Contains(c.Args, "webhook") })
	if at < 0 {
		i.Missing = fmt.Errorf("reading Deployment %s/%s: none of its containers runs `fairlead webhook`", f.namespace, WebhookDeployment)
		return i, nil
	}
	args := slices.DeleteFunc(slices.Clone(containers[at].Args), func(arg string) bool { return arg == "webhook" })
	settings, err := f.parse(args, i.environment(&containers[at]))
	if err != nil {
		return nil, Usage(fmt.Errorf("reading the arguments of Deployment %s/%s: %w", f.namespace, WebhookDeployment, err))
	}
	if f.given() {
		settings.Gates = f.gates
	}
	i.Settings = settings
	return i, nil
}

// environment is what the container's environment says by itself.
func (i *Installation) environment(c *corev1.Container) func(string) string {
	return func(name string) string {
		if name == "POD_NAMESPACE" {
			return i.Namespace
		}
		for at := len(c.Env) - 1; at >= 0; at-- { // the last one counts
			if c.Env[at].Name == name {
				return c.Env[at].Value
			}
		}
		return ""
	}
}

// Options are those of a replica that decides as the installation's do.
func (i *Installation) Options(complaints *Complaints) replica.Options {
	return replica.Options{Gates: i.Settings.Gates, Table: i.Settings.Table, Log: complaints.Logger()}
}
