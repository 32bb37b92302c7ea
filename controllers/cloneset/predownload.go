package cloneset

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/podset/arithmetic"
	"github.com/fairlead-io/fairlead/controllers/podset/predownload"
)

// planPreDownload plans the jobs that fetch images ahead of the rollout (cloneset.md §7), by what the status will say:
// nothing wakes the CloneSet after its own status. A current revision that cannot be read is none to update in place from; it
// stops nothing else.
func (p *planner) planPreDownload() {
	if !p.settings.PreDownload || !p.seen.jobsRead {
		return
	}
	rolling, replicas := rollingOf(p.set), replicasOf(p.set)
	in := predownload.Input{
		Owner: p.set, Kind: kind, Selector: p.set.Spec.Selector, Template: p.updateTemplate(), Update: p.update,
		Done: p.plan.Status.CurrentRevision == p.update.Name, Replicas: replicas, Partition: partitionOf(p.set), Jobs: p.seen.jobs,
		MaxUnavailable: arithmetic.ResolveOr(rolling.MaxUnavailable, defaultMaxUnavailable, replicas, arithmetic.Down),
		UpdatedReady:   int(p.plan.Status.UpdatedReadyReplicas),
		Tuning:         predownload.TuningOf(rolling.InPlaceUpdateStrategy, p.set.Annotations, replicas),
	}
	if current, err := recordedTemplate(p.current); err == nil && !in.Done {
		in.Old, in.InPlace = []*corev1.PodTemplateSpec{current}, p.updatesInPlace()
	}
	p.plan.PreDownload = predownload.Decide(in)
}

func (p *planner) updatesInPlace() bool {
	if p.set.Spec.UpdateStrategy.RollingUpdate == nil || policyOf(p.set) == v1beta1.RecreatePodUpdateStrategyType {
		return false
	}
	_, err := p.diff(p.current, p.update)
	return err == nil
}
