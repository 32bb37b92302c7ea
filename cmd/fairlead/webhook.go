package main

import "github.com/spf13/cobra"

// newWebhookCommand makes `fairlead webhook`, the admission service.
func newWebhookCommand(getenv func(string) string) *cobra.Command {
	flags := &webhookFlags{}
	command := &cobra.Command{
		Use:   "webhook",
		Short: "Serve admission webhooks: every replica serves, none leads",
		Long: "Serve admission webhooks: every replica serves, none leads.\n\n" +
			"In a cluster the service makes its certificates, follows SidecarSets and Namespaces, and registers itself.\n" +
			"With --standalone it needs no cluster: it reads --objects, makes its own certificate and serves on\n" +
			"https://127.0.0.1:9443, with /readyz and /metrics there too.",
		Example: "  fairlead webhook --standalone --objects ./objects --tls-cert-out ca.crt\n" +
			"  curl --cacert ca.crt https://127.0.0.1:9443/mutate-pod -H 'Content-Type: application/json' -d @review.json",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := flags.logging.Install(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			if err = flags.complete(cmd.Flags(), getenv); err != nil {
				return err
			}
			if err = flags.read(); err != nil {
				return err
			}
			flags.options.Log, flags.options.AccessLog = log, cmd.OutOrStdout()
			for _, forced := range flags.options.Gates.Forced() {
				log.Info("Feature gate switched by another", "gate", forced.Gate, "enabled", forced.Value, "because", forced.Because)
			}
			if flags.standalone {
				return flags.alone().Run(cmd.Context())
			}
			inCluster, err := flags.inCluster(getenv)
			if err != nil {
				return err
			}
			return inCluster.Run(cmd.Context())
		},
	}
	flags.add(command.Flags(), getenv)
	command.AddCommand(newPrintCommand(getenv))
	return command
}
