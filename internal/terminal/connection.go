package terminal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fairlead-io/fairlead/internal/version"
)

// Connection are kubectl's flags for reaching a cluster, by kubectl's names. client-go itself has them; the library that
// kubectl adds its own conveniences with brings a templating engine along, which an admission service need not carry.
type Connection struct {
	kubeconfig string
	overrides  clientcmd.ConfigOverrides
}

// AddFlags adds the flags.
func (c *Connection) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&c.kubeconfig, "kubeconfig", "", "Path to the kubeconfig file.")
	clientcmd.BindOverrideFlags(&c.overrides, flags, clientcmd.RecommendedConfigOverrideFlags(""))
}

func (c *Connection) rules() *clientcmd.ClientConfigLoadingRules {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.kubeconfig
	return rules
}

func (c *Connection) loader() clientcmd.ClientConfig {
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(c.rules(), &c.overrides)
}

// missing says which files there should be that have a kubeconfig, "" if they are there. client-go passes over those that are not, and
// then says that there is no configuration.
func (c *Connection) missing() string {
	var absent []string
	for _, file := range c.rules().GetLoadingPrecedence() {
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			absent = append(absent, file)
		}
	}
	if len(absent) == 0 {
		return ""
	}
	from := "by default"
	if os.Getenv(clientcmd.RecommendedConfigPathEnvVar) != "" {
		from = "by " + clientcmd.RecommendedConfigPathEnvVar
	}
	return fmt.Sprintf("%s, where the kubeconfig is %s, does not exist", strings.Join(absent, " and "), from)
}

// Namespace is what -n says, or else the kubeconfig's context, or else "default".
func (c *Connection) Namespace() (string, error) {
	namespace, _, err := c.loader().Namespace()
	if clientcmd.IsEmptyConfig(err) {
		return "default", nil
	}
	if err != nil {
		return "", Usage(fmt.Errorf("reading the kubeconfig: %w", err))
	}
	return namespace, nil
}

// Connect makes the clients. It sends no request.
func (c *Connection) Connect() (*Cluster, error) {
	config, err := c.loader().ClientConfig()
	if missing := c.missing(); clientcmd.IsEmptyConfig(err) && missing != "" {
		err = errors.New(missing)
	}
	if err != nil {
		return nil, Unreachable(fmt.Errorf("finding the cluster: %w: set --kubeconfig or KUBECONFIG to the file that leads to the cluster", err))
	}
	config.UserAgent = "kubectl-fairlead/" + version.String()
	config.QPS, config.Burst = 50, 100 // a person waits, and a check asks some dozens of things
	return NewCluster(config)
}

// Cluster is a cluster as a person's rights show it.
type Cluster struct {
	REST   *rest.Config
	Client kubernetes.Interface
	mapper meta.RESTMapper
}

// NewCluster makes the clients.
func NewCluster(config *rest.Config) (*Cluster, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, Unreachable(fmt.Errorf("making a client: %w", err))
	}
	return &Cluster{REST: config, Client: client}, nil
}

// Unlimited is the configuration without a timeout, for what watches.
func (c *Cluster) Unlimited() *rest.Config {
	config := rest.CopyConfig(c.REST)
	config.Timeout = 0
	return config
}

// Mapping finds the resource of a kind, as the API server has it. It asks once for all.
func (c *Cluster) Mapping(kind schema.GroupVersionKind) (*meta.RESTMapping, error) {
	mapper, err := c.Mapper()
	if err != nil {
		return nil, err
	}
	return mapper.RESTMapping(kind.GroupKind(), kind.Version)
}

// Mapper knows the resources of the cluster.
func (c *Cluster) Mapper() (meta.RESTMapper, error) {
	if c.mapper != nil {
		return c.mapper, nil
	}
	groups, err := restmapper.GetAPIGroupResources(c.Client.Discovery())
	if err != nil {
		return nil, Unreachable(fmt.Errorf("asking the API server for its resources: %w", err))
	}
	c.mapper = restmapper.NewDiscoveryRESTMapper(groups)
	return c.mapper, nil
}

// Get reads an object as JSON, as it is.
func (c *Cluster) Get(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (jsontext.Value, error) {
	result := c.Client.CoreV1().RESTClient().Get().AbsPath(pathOf(resource, namespace, name)...).
		SetHeader("Accept", "application/json").Do(ctx)
	if err := result.Error(); err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", resource.Resource, name, err)
	}
	return result.Raw()
}

func pathOf(resource schema.GroupVersionResource, namespace, name string) []string {
	path := []string{"/apis", resource.Group, resource.Version}
	if resource.Group == "" {
		path = []string{"/api", resource.Version}
	}
	if namespace != "" {
		path = append(path, "namespaces", namespace)
	}
	path = append(path, resource.Resource)
	if name != "" {
		path = append(path, name)
	}
	return path
}

// completing bounds what a press of the tab key waits for.
const completing = 3 * time.Second

// CompleteNames completes an argument with the names of a resource's objects, in the namespace of the flags if namespaced.
func (c *Connection) CompleteNames(resource schema.GroupVersionResource, namespaced bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completing)
		defer cancel()
		names, err := c.names(ctx, resource, namespaced)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

func (c *Connection) names(ctx context.Context, resource schema.GroupVersionResource, namespaced bool) ([]string, error) {
	cluster, err := c.Connect()
	if err != nil {
		return nil, err
	}
	namespace := ""
	if namespaced {
		if namespace, err = c.Namespace(); err != nil {
			return nil, err
		}
	}
	return cluster.Names(ctx, resource, namespace)
}
