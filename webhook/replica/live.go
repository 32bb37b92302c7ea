package replica

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/mutators/containerrecreate"
	"github.com/fairlead-io/fairlead/protection/deletion"
	"github.com/fairlead-io/fairlead/protection/podunavailablebudget"
	"github.com/fairlead-io/fairlead/webhook/admission"
)

// live are the handlers that ask the API server about other objects than that of their request.
type live struct {
	containerRecreate, deletion admission.Handler
	// budgets, pods and replicaSets are what PodUnavailableBudgets need of the cluster; replicaSets may be nil.
	budgets     podunavailablebudget.Store
	pods        podunavailablebudget.Pods
	replicaSets podunavailablebudget.ReplicaSets
	told        *denials
	log         klog.Logger
	// audit is nil if there is no audit log.
	audit *deletion.Log
}

// close ends the audit log.
func (l *live) close() {
	if l.audit != nil {
		_ = l.audit.Close() // every line is written already
	}
}

// newLive makes them. Without a cluster config is nil, and what they would have to ask is unknown.
func newLive(ctx context.Context, o Options, registry prometheus.Registerer, config *rest.Config) (*live, error) {
	told := &denials{metrics: deletion.NewMetrics(registry), disruptions: podunavailablebudget.NewMetrics(registry), log: o.Log}
	l := &live{told: told, log: o.Log, budgets: offline{}, pods: offline{}}
	var pods containerrecreate.Live = offline{}
	var census deletion.Census = offline{}
	if config != nil {
		client, err := unlimited(config)
		if err != nil {
			return nil, err
		}
		core := client.CoreV1().RESTClient()
		pods, census = containerrecreate.NewCluster(core), deletion.NewCensus(core)
		// Requests are judged until the drain is over, so denials are told until then.
		lasting := klog.NewContext(context.WithoutCancel(ctx), o.Log)
		told.events = deletion.NewEvents(lasting, client.CoreV1(), eventSource)
		told.disruptionEvents = podunavailablebudget.NewEvents(lasting, client.CoreV1())
		reader := podunavailablebudget.NewLive(core)
		l.budgets, l.pods, l.replicaSets = podunavailablebudget.NewStore(core), reader, reader
	}
	if o.ProtectionLogPath != "" {
		var err error
		if told.audit, err = deletion.OpenLog(o.ProtectionLogPath, time.Now); err != nil {
			return nil, fmt.Errorf("%w; --protection-log-path must name a directory that can be written to", err)
		}
	}
	l.containerRecreate = containerrecreate.New(pods, o.Gates.Enabled(features.KruiseDaemon))
	l.deletion = deletion.New(deletion.Options{
		Census: census, CRDCascading: o.Gates.Enabled(features.DeletionProtectionForCRDCascadingGate), Denied: told.denied,
	})
	l.audit = told.audit
	return l, nil
}

// eventSource is the component that our events come from.
const eventSource = "kruise-webhook"

// unlimited is a client without a limit of its own. Reviews wait for its answers, and how many there are at once is
// bounded by the server; with the limit that background work has, they would wait in line until it is too late.
func unlimited(config *rest.Config) (kubernetes.Interface, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for what reviews wait for: %w", err)
	}
	return client, nil
}

// offline is what can be read live without a cluster.
type offline struct{}

var errOffline = errors.New("this service runs without a cluster")

// Pod implements containerrecreate.Live and podunavailablebudget.Pods.
func (offline) Pod(context.Context, string, string) (jsontext.Value, error) { return nil, errOffline }

// NodeLabels implements containerrecreate.Live.
func (offline) NodeLabels(context.Context, string) (map[string]string, error) { return nil, errOffline }

// ActivePods implements deletion.Census.
func (offline) ActivePods(context.Context, string) (deletion.Count, error) {
	return deletion.Count{}, errOffline
}

// BoundClaims implements deletion.Census.
func (offline) BoundClaims(context.Context, string) (deletion.Count, error) {
	return deletion.Count{}, errOffline
}

// CustomResources implements deletion.Census.
func (offline) CustomResources(context.Context, schema.GroupVersionResource) (deletion.Count, error) {
	return deletion.Count{}, errOffline
}

// Get implements podunavailablebudget.Store.
func (offline) Get(context.Context, types.NamespacedName) (*podunavailablebudget.Budget, error) {
	return nil, errOffline
}

// UpdateStatus implements podunavailablebudget.Store.
func (offline) UpdateStatus(context.Context, *podunavailablebudget.Budget) error { return errOffline }
