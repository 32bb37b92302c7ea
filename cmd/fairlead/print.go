package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/internal/terminal/policy"
	"github.com/fairlead-io/fairlead/validators/userpolicy"
	"github.com/fairlead-io/fairlead/webhook"
	"github.com/fairlead-io/fairlead/webhook/replica"
	"github.com/fairlead-io/fairlead/webhook/table"
)

// printFlags are those of `fairlead webhook print`.
type printFlags struct {
	config      table.Config
	policies    map[string]string
	bundle      string
	conversion  string
	definitions bool
	sets        []string
	gates       *features.Gates
}

// newPrintCommand makes `fairlead webhook print`.
func newPrintCommand(getenv func(string) string) *cobra.Command {
	flags := &printFlags{}
	command := &cobra.Command{
		Use:   "print",
		Short: "Print what the service would register, for clusters where it may not register itself",
		Long: "Print the webhook configurations, and how the CustomResourceDefinitions have objects converted, as YAML, for\n" +
			"clusters where the service may not register itself.\n\n" +
			"Run the service with --register=false then (webhookConfiguration.register=false in the chart).\n" +
			"The CA bundle must be that of the running service. When its CA is replaced, a month before the new one\n" +
			"is used, the Secret also has next-ca-cert.pem: apply the configurations with both.\n\n" +
			"Of a CustomResourceDefinition nothing but spec.conversion is printed: apply it on the server, where the\n" +
			"rest stays as it is. The definitions must be there.",
		Example: "  kubectl get secret -n kruise-system kruise-webhook-certs -o jsonpath='{.data.ca-cert\\.pem}' | base64 -d > ca.pem\n" +
			"  fairlead webhook print --ca-bundle-file ca.pem | kubectl apply --server-side -f -",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			bundle, err := flags.readBundle(cmd.InOrStdin())
			if err != nil {
				return err
			}
			sets, err := policy.Sets(cmd.Context(), flags.sets, cmd.InOrStdin())
			if err != nil {
				return err
			}
			return flags.print(cmd.OutOrStdout(), bundle, sets)
		},
	}
	flags.add(command.Flags(), getenv)
	return command
}

func (f *printFlags) add(flags *pflag.FlagSet, getenv func(string) string) {
	c := &f.config
	flags.StringVar(&c.Namespace, "namespace", table.DefaultNamespace, "Namespace of the service. Webhooks of Pods leave it out.")
	flags.StringVar(&c.Service, "service", table.DefaultService, "Service that reaches the webhook replicas.")
	flags.StringVar(&f.conversion, "conversion-service", conversionService, "Service that reaches replicas, ready or not, for conversion.")
	flags.BoolVar(&f.definitions, "definitions", true, "Print how the CustomResourceDefinitions convert, too.")
	flags.StringSliceVar(&f.sets, "policies", nil, "Files and folders with users' policies, of which the third configuration is printed: a folder is called as the ConfigMap that has its rules, and bundle/NAME=FILE is the tarball of a bundle.")
	flags.Int32Var(&c.Port, "service-port", 443, "Port of the Service.")
	flags.StringVar(&f.bundle, "ca-bundle-file", "", "PEM file of the CAs that sign the service's certificates; - is standard input. Without it caBundle is left to an injector.")
	flags.Int32Var(&c.TimeoutSeconds, "webhook-timeout-seconds", 5, "Timeout of the webhooks, 1 to 30.")
	flags.StringToStringVar(&f.policies, "webhook-failure-policies", nil, "Failure policies of webhooks that differ from the default: NAME=Ignore,NAME=Fail.")
	flags.BoolVar(&c.AKSIntegration, "aks-integration", false, "Leave out the namespaces that Azure manages, as its admission enforcer does.")
	flags.StringToStringVar(&c.Annotations, "annotations", nil, "Annotations of all that is printed, such as cert-manager.io/inject-ca-from=NAMESPACE/CERTIFICATE.")
	f.gates = features.New(getenv("CUSTOM_RESOURCE_ENABLE"))
	f.gates.AddFlag(flags)
}

// readBundle returns nil without --ca-bundle-file.
func (f *printFlags) readBundle(stdin io.Reader) ([]byte, error) {
	var bundle []byte
	var err error
	switch f.bundle {
	case "":
		return nil, nil
	case "-":
		bundle, err = io.ReadAll(stdin)
	default:
		bundle, err = os.ReadFile(f.bundle)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the CA bundle: %w", err)
	}
	if _, err := cert.ParseCertsPEM(bundle); err != nil {
		return nil, fmt.Errorf("reading the CA bundle: %w; --ca-bundle-file must name PEM certificates", err)
	}
	return bundle, nil
}

func (f *printFlags) print(out io.Writer, bundle []byte, sets []*userpolicy.Set) error {
	deps := webhook.Deps{Gates: f.gates}
	f.config.FailurePolicies = make(map[string]admissionv1.FailurePolicyType, len(f.policies))
	for name, policy := range f.policies {
		f.config.FailurePolicies[name] = admissionv1.FailurePolicyType(policy)
	}
	config, err := f.config.Complete(webhook.All(deps))
	if err != nil {
		return err
	}
	target := table.Target{CABundle: bundle}
	configurations := []*table.Configuration{
		config.Render(webhook.Entries(deps), true, target), config.Render(webhook.Entries(deps), false, target),
		config.RenderInto(table.PoliciesName, entriesOf(sets, config.Namespace), target),
	}
	for _, configuration := range configurations {
		if configuration == nil {
			continue
		}
		if err := printDocument(out, configuration.Object()); err != nil {
			return fmt.Errorf("printing %s: %w", configuration.Name, err)
		}
	}
	if !f.definitions {
		return nil
	}
	for _, definition := range replica.Conversions(config, f.conversion, bundle, config.Annotations) {
		if err := printDocument(out, definition); err != nil {
			return fmt.Errorf("printing the conversion of a definition: %w", err)
		}
	}
	return nil
}

// entriesOf are the webhooks of users' policies.
func entriesOf(sets []*userpolicy.Set, namespace string) []table.Entry {
	entries := make([]table.Entry, 0, len(sets))
	for _, set := range sets {
		entries = append(entries, userpolicy.Installation{Namespace: namespace}.Entry(set))
	}
	return entries
}

func printDocument(out io.Writer, object any) error {
	text, err := yaml.Marshal(object)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "---\n%s", text)
	return terminal.Unwritten(err)
}
