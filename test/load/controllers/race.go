package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// How long a CloneSet may take, in times of what a Deployment takes.
const (
	maxScaleRatio  = 1.1
	maxUpdateRatio = 0.6
)

// times are how long a workload took to scale from nothing, and to take another image.
type times struct{ scale, update []time.Duration }

// race lets a CloneSet and a Deployment do the same in turn.
func race(ctx context.Context, w *world) ([]row, error) {
	var ours, theirs times
	for round := range w.rounds {
		ns := fmt.Sprintf("time-deployment-%d", round)
		made := deployment(ns, "web", 0)
		err := w.in(ctx, ns, func() error {
			if err := w.Create(ctx, made); err != nil {
				return err
			}
			return w.runRace(ctx, ns, &theirs,
				func() error {
					return edit(ctx, w, made, func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To(int32(w.raced)) })
				},
				func() error {
					return edit(ctx, w, made, func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "bank.test/web:v2" })
				})
		})
		if err != nil {
			return nil, err
		}
		ns = fmt.Sprintf("time-cloneset-%d", round)
		set := cloneSet(ns, "web", 0)
		err = w.in(ctx, ns, func() error {
			if err := w.Create(ctx, set); err != nil {
				return err
			}
			if err := w.settled(ctx, set); err != nil {
				return err
			}
			return w.runRace(ctx, ns, &ours,
				func() error {
					return edit(ctx, w, set, func(s *v1beta1.CloneSet) { s.Spec.Replicas = ptr.To(int32(w.raced)) })
				},
				func() error {
					return edit(ctx, w, set, func(s *v1beta1.CloneSet) { s.Spec.Template.Spec.Containers[0].Image = "bank.test/web:v2" })
				})
		})
		if err != nil {
			return nil, err
		}
	}
	return []row{
		compare(fmt.Sprintf("Scale 0→%d: time to that of a Deployment", w.raced), ours.scale, theirs.scale, maxScaleRatio),
		compare(fmt.Sprintf("Update of %d, maxUnavailable 25%%, in place: time to that of a Deployment", w.raced), ours.update, theirs.update, maxUpdateRatio),
	}, nil
}

func (w *world) runRace(ctx context.Context, ns string, t *times, scale, update func() error) error {
	took, err := w.timed(ctx, ns, "bank.test/web:v1", w.raced, scale)
	if err != nil {
		return err
	}
	t.scale = append(t.scale, took)
	if _, _, err := w.audit.settled(ctx, ns); err != nil {
		return err
	}
	took, err = w.timed(ctx, ns, "bank.test/web:v2", w.raced, update)
	t.update = append(t.update, took)
	fmt.Fprintf(os.Stderr, "%s: scaled in %v, updated in %v\n", ns, t.scale[len(t.scale)-1], took)
	return err
}

func compare(name string, ours, theirs []time.Duration, most float64) row {
	a, b := median(ours), median(theirs)
	ratio := a.Seconds() / b.Seconds()
	r := row{
		scenario: name, target: fmt.Sprintf("≤ %.1f", most),
		measured: fmt.Sprintf("%.2f: %.1f s to %.1f s", ratio, a.Seconds(), b.Seconds()),
	}
	if ratio > most {
		r.missed = fmt.Sprintf("%.2f > %.1f", ratio, most)
	}
	return r
}

func median(of []time.Duration) time.Duration {
	of = slices.Sorted(slices.Values(of))
	return of[len(of)/2]
}
