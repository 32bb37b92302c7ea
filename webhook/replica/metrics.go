package replica

import (
	"io"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/fairlead-io/fairlead/internal/logging"
	"github.com/fairlead-io/fairlead/mutators/sidecarset"
)

// newRegistry makes a registry with what every process exports.
func newRegistry(version string) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "fairlead_build_info", Help: "1, with the version of the running program.",
		ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()},
	})
	build.Set(1)
	registry.MustRegister(build, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return registry
}

// revisions export which versions of objects a replica judges by.
type revisions struct {
	*prometheus.GaugeVec
	current func() map[string]uint64
}

func newRevisions(current func() map[string]uint64) revisions {
	return revisions{prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "fairlead_objects_revision",
		Help: "Which versions of objects this replica judges by, as a number: replicas that know the same have the same, by resource.",
	}, []string{"resource"}), current}
}

// Collect implements prometheus.Collector.
func (r revisions) Collect(metrics chan<- prometheus.Metric) {
	for resource, revision := range r.current() {
		r.WithLabelValues(resource).Set(float64(revision))
	}
	r.GaugeVec.Collect(metrics)
}

// newAccessLog is what puts lines on their way to a writer that may be stuck.
func newAccessLog(to io.Writer, registry prometheus.Registerer) *logging.Queue {
	lost := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "fairlead_log_lines_lost_total", Help: "Lines about changed and refused requests that nobody read in time.",
	})
	registry.MustRegister(lost)
	return logging.NewQueue(to, lost.Inc)
}

// injection counts what becomes of SidecarSets.
type injection struct {
	sidecarSets, containers prometheus.Counter
	skipped                 *prometheus.CounterVec
}

var _ sidecarset.Observer = (*injection)(nil)

func newInjection(registry prometheus.Registerer, index *sidecarset.Index) *injection {
	i := &injection{
		sidecarSets: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "fairlead_sidecarset_injections_total", Help: "SidecarSets injected into Pods.",
		}),
		containers: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "fairlead_sidecarset_injected_containers_total", Help: "Containers injected into Pods.",
		}),
		skipped: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fairlead_sidecarset_skipped_total", Help: "SidecarSets that matched a Pod and were left out, by reason.",
		}, []string{"reason"}),
	}
	for _, reason := range []sidecarset.Reason{sidecarset.TakenBySidecarSet, sidecarset.TakenByPod} {
		i.skipped.WithLabelValues(string(reason))
	}
	registry.MustRegister(i.sidecarSets, i.containers, i.skipped,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "fairlead_sidecarsets", Help: "SidecarSets in force on this replica.",
		}, func() float64 { return float64(index.Len()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "fairlead_sidecarsets_failing", Help: "SidecarSets whose newest version cannot be used; the log says why.",
		}, func() float64 { return float64(len(index.Failures())) }),
	)
	return i
}

// Injected implements sidecarset.Observer.
func (i *injection) Injected(sidecarSets, containers int) {
	i.sidecarSets.Add(float64(sidecarSets))
	i.containers.Add(float64(containers))
}

// Skipped implements sidecarset.Observer.
func (i *injection) Skipped(reason sidecarset.Reason) {
	i.skipped.WithLabelValues(string(reason)).Inc()
}
