package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	"github.com/fairlead-io/fairlead/controllers"
)

// managerUserAgent is the name that API requests, and so managed fields and audit logs, know the controllers by.
const managerUserAgent = "kruise-manager"

// newControllersCommand makes `fairlead controllers`, the leader-elected process.
func newControllersCommand(getenv func(string) string) *cobra.Command {
	flags := &controllersFlags{}
	command := &cobra.Command{
		Use:   "controllers",
		Short: "Run the controllers: one replica leads, the others stand by",
		Long: "Run the controllers: one replica leads, the others stand by.\n\n" +
			"/readyz turns 200 when admission works in the cluster: the webhooks are registered, and a dry-run Pod comes\n" +
			"back from the API server as admission makes it. Until then it says what is missing, and so does the log.\n" +
			"Once ready it stays ready: an outage of the webhooks does not take the controllers out of service.",
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := flags.logging.Install(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			options, err := flags.complete()
			if err != nil {
				return err
			}
			cfg, err := flags.restConfig()
			if err != nil {
				return err
			}
			options.Log = log
			for _, forced := range flags.gates.Forced() {
				log.Info("feature gate switched by another", "gate", forced.Gate, "enabled", forced.Value, "because", forced.Because)
			}
			return controllers.Run(cmd.Context(), cfg, options)
		},
	}
	flags.add(command.Flags(), getenv)
	return command
}

func (f *controllersFlags) restConfig() (*rest.Config, error) {
	cfg, err := config.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("finding the cluster: %w; run in a Pod, or set --kubeconfig or KUBECONFIG", err)
	}
	cfg.UserAgent = managerUserAgent
	cfg.QPS, cfg.Burst = f.qps, f.burst
	return cfg, nil
}
