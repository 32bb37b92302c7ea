package replica

import (
	"k8s.io/klog/v2"

	"github.com/fairlead-io/fairlead/protection/deletion"
	"github.com/fairlead-io/fairlead/protection/podunavailablebudget"
)

// denials tells of what protection denied, to everyone who wants to know.
type denials struct {
	metrics     *deletion.Metrics
	disruptions *podunavailablebudget.Metrics
	log         klog.Logger
	// events, disruptionEvents and audit may be nil.
	events           *deletion.Events
	disruptionEvents *podunavailablebudget.Events
	audit            *deletion.Log
}

func (d *denials) denied(denial deletion.Denial) {
	d.metrics.Denied(denial)
	d.log.Info("Deletion denied", "kind", denial.Kind.Kind, "object", klog.KRef(denial.Namespace, denial.Name),
		"user", denial.User, "protection", denial.Mode, "why", denial.Why)
	if d.events != nil {
		d.events.Denied(denial)
	}
	if d.audit != nil {
		d.written(d.audit.Denied(denial))
	}
}

func (d *denials) disruptionDenied(denial podunavailablebudget.Denial) {
	d.disruptions.Denied(denial)
	d.log.Info("Disruption denied", "pod", klog.KRef(denial.Namespace, denial.Pod), "budget", denial.Budget, "operation", denial.Operation,
		"user", denial.User, "ownerKind", denial.OwnerKind, "ownerName", denial.OwnerName, "why", denial.Message)
	if d.disruptionEvents != nil {
		d.disruptionEvents.Denied(denial)
	}
	if d.audit != nil {
		d.written(d.audit.Write("PodUnavailableBudget", "Pod", denial.Namespace, denial.Pod, denial.User))
	}
}

// written looks at what became of a line of the audit log. The denial stands in any case: a full disk must not let objects go.
func (d *denials) written(err error) {
	if err != nil {
		d.log.Error(err, "Cannot write the audit log")
	}
}
