package cloneset

import (
	"errors"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/podset/arithmetic"
	"github.com/fairlead-io/fairlead/controllers/podset/inplace"
	"github.com/fairlead-io/fairlead/controllers/podset/predownload"
)

// planPreDownload plans the jobs that fetch images ahead of the rollout (cloneset.md §7), by what the status will say:
// nothing wakes the CloneSet after its own status.
func (p *planner) planPreDownload() error {
	if !p.settings.PreDownload {
		return nil
	}
	rolling, replicas := rollingOf(p.set), replicasOf(p.set)
	in := predownload.Input{
		Owner: p.set, Kind: kind, Selector: p.set.Spec.Selector, Template: p.updateTemplate(), Update: p.update,
		Done: p.plan.Status.CurrentRevision == p.update.Name, Replicas: replicas, Partition: partitionOf(p.set), Jobs: p.seen.jobs,
		MaxUnavailable: arithmetic.ResolveOr(rolling.MaxUnavailable, defaultMaxUnavailable, replicas, arithmetic.Down),
		UpdatedReady:   int(p.plan.Status.UpdatedReadyReplicas),
		Tuning:         predownload.TuningOf(rolling.InPlaceUpdateStrategy, p.set.Annotations, replicas),
	}
	if !in.Done {
		current, err := recordedTemplate(p.current)
		if err != nil {
			return err
		}
		in.Old = []*corev1.PodTemplateSpec{current}
		if in.InPlace, err = p.updatesInPlace(); err != nil {
			return err
		}
	}
	p.plan.PreDownload = predownload.Decide(in)
	return nil
}

func (p *planner) updatesInPlace() (bool, error) {
	if p.set.Spec.UpdateStrategy.RollingUpdate == nil || policyOf(p.set) == v1beta1.RecreatePodUpdateStrategyType {
		return false, nil
	}
	_, err := p.diff(p.current, p.update)
	var impossible *inplace.NotPossibleError
	if errors.As(err, &impossible) {
		return false, nil
	}
	return err == nil, err
}
