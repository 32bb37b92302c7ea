// Package doctor looks whether an installation works, and says of each thing that is wrong what it means and how to cure
// it. It changes nothing.
package doctor

import (
	"context"
	"fmt"
	"slices"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/certs/certmanager"
	"github.com/fairlead-io/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/webhook"
	"github.com/fairlead-io/fairlead/webhook/table"
)

// Severity is how bad a finding is.
type Severity string

// The severities, from good to bad.
const (
	OK   Severity = "ok"
	Info Severity = "info"
	// Warning works now, and will not, or not for everybody.
	Warning Severity = "warning"
	// Error does not work.
	Error Severity = "error"
)

// Finding is what one look found.
type Finding struct {
	Check    string   `json:"check"`
	Severity Severity `json:"severity"`
	// Object is what it is about, such as "Secret kruise-system/kruise-webhook-certs".
	Object  string `json:"object"`
	Message string `json:"message"`
	// Means is what follows from it, and Cure a command, or what else to do.
	Means string `json:"means,omitempty"`
	Cure  string `json:"cure,omitempty"`
}

// Doctor has what the checks look through.
type Doctor struct {
	cluster      *terminal.Cluster
	definitions  apiextensions.CustomResourceDefinitionInterface
	api          client.Client
	installation *terminal.Installation
	config       table.Config
	entries      []table.Entry
	now          func() time.Time
}

// New makes a Doctor for an installation. now is the clock by which certificates expire.
func New(cluster *terminal.Cluster, installation *terminal.Installation, now func() time.Time) (*Doctor, error) {
	definitions, err := apiextensions.NewForConfig(cluster.REST)
	if err != nil {
		return nil, fmt.Errorf("making a client for definitions: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	if err := certmanager.AddToScheme(scheme); err != nil {
		return nil, err
	}
	api, err := client.New(cluster.REST, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	deps := webhook.Deps{Gates: installation.Settings.Gates}
	config, err := installation.Settings.Table.Complete(webhook.All(deps))
	if err != nil {
		return nil, terminal.Usage(err)
	}
	return &Doctor{
		cluster: cluster, definitions: definitions.CustomResourceDefinitions(), api: api, installation: installation,
		config: config, entries: webhook.Entries(deps), now: now,
	}, nil
}

// check is one thing to look at.
type check struct {
	name string
	// well is what is said when nothing is found.
	well string
	look func(context.Context, *Doctor, *report) error
}

var checks = []check{
	{"version", "the API server's version is supported", checkVersion},
	{"deployments", "the admission service and the controllers run", checkDeployments},
	{"endpoints", "the Services have ready replicas", checkEndpoints},
	{"anchor", "the anchor is there", checkAnchor},
	{"configurations", "the webhook configurations are as they should be", checkConfigurations},
	{"certificates", "the CAs are valid and trusted where they must be", checkCertificates},
	{"serving", "replicas serve certificates that are trusted", checkServing},
	{"definitions", "the CustomResourceDefinitions are there, convert, and store one version", checkDefinitions},
	{"rights", "the service accounts have the rights that they need", checkRights},
	{"probe", "a dry-run Pod came back as admission makes it", checkProbe},
	{"namespaces", "no namespace is left out but those that must be", checkNamespaces},
	{"other-webhooks", "no webhook of others changes Pods after admission", checkOtherWebhooks},
	{"leftovers", "nothing of another installation is left", checkLeftovers},
	{"sidecarsets", "all SidecarSets can be used", checkSidecarSets},
	{"policies", "users' policies are in force and asked", checkPolicies},
}

// Names are those of all checks, in their order.
func Names() (names []string) {
	for _, c := range checks {
		names = append(names, c.name)
	}
	return names
}

// report collects the findings of a check.
type report struct {
	check    string
	findings []Finding
}

func (r *report) add(severity Severity, object, message, means, cure string) {
	r.findings = append(r.findings, Finding{Check: r.check, Severity: severity, Object: object, Message: message, Means: means, Cure: cure})
}

// Examine looks at everything, or at what is named only. The error says that the API server cannot be asked at all.
func (d *Doctor) Examine(ctx context.Context, only ...string) ([]Finding, error) {
	if _, err := d.cluster.Client.Discovery().ServerVersion(); err != nil {
		return nil, terminal.Unreachable(fmt.Errorf("asking the API server for its version: %w", err))
	}
	wanted := checks
	if len(only) > 0 {
		wanted = slices.DeleteFunc(slices.Clone(checks), func(c check) bool { return !slices.Contains(only, c.name) })
	}
	if !d.installed(ctx) {
		wanted = append(slices.DeleteFunc(slices.Clone(wanted), func(c check) bool { return !slices.Contains(withoutInstallation, c.name) }), checkAbsence)
	}
	var all []Finding
	for _, c := range wanted {
		r := &report{check: c.name}
		if err := c.look(ctx, d, r); err != nil {
			r.add(severityOf(err), "", fmt.Sprintf("cannot look: %v", err), "nothing is known of this", "look with the rights of a cluster's administrator")
		}
		if !troubled(r.findings) {
			r.add(OK, "", c.well, "", "")
		}
		all = append(all, r.findings...)
	}
	return all, nil
}

// severityOf tells what a person may not see from what is broken.
func severityOf(err error) Severity {
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		return Info
	}
	return Error
}

// troubled says whether there is anything that keeps a check from being well.
func troubled(findings []Finding) bool {
	for _, f := range findings {
		if f.Severity == Warning || f.Severity == Error || f.Message != "" && f.Object == "" {
			return true
		}
	}
	return false
}
