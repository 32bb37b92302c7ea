package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// maxGrowth is how much more CPU a Pod of the large CloneSet may cost.
const maxGrowth = 1.3

// profileLength covers most of the large rollout.
const profileLength = 30 * time.Second

// spent is the CPU of the controllers for each Pod.
type spent struct{ scaleOut, update time.Duration }

// compareCPU scales out and updates in place a small CloneSet and a large one.
func compareCPU(ctx context.Context, w *world) ([]row, error) {
	small, err := w.rollout(ctx, w.pods)
	if err != nil {
		return nil, err
	}
	large, err := w.rollout(ctx, w.large)
	if err != nil {
		return nil, err
	}
	return []row{
		w.growth("In-place rollout", small.update, large.update),
		w.growth("Scale-out", small.scaleOut, large.scaleOut),
	}, nil
}

func (w *world) growth(name string, small, large time.Duration) row {
	ratio := float64(large) / float64(small)
	r := row{
		scenario: fmt.Sprintf("%s: CPU for each Pod of %d to that of %d", name, w.large, w.pods), target: fmt.Sprintf("≤ %.1f", maxGrowth),
		measured: fmt.Sprintf("%.2f: %v to %v", ratio, large.Round(10*time.Microsecond), small.Round(10*time.Microsecond)),
	}
	if ratio > maxGrowth {
		r.missed = fmt.Sprintf("%.2f > %.1f", ratio, maxGrowth)
	}
	return r
}

func (w *world) rollout(ctx context.Context, pods int) (s spent, err error) {
	ns := fmt.Sprintf("cpu-%d", pods)
	err = w.in(ctx, ns, func() error {
		set := cloneSet(ns, "web", pods)
		s.scaleOut, err = w.spend(ctx, "scale-out-"+ns, set, pods, func() error { return w.Create(ctx, set) })
		if err != nil {
			return err
		}
		s.update, err = w.spend(ctx, "update-"+ns, set, pods, func() error {
			return edit(ctx, w, set, func(s *v1beta1.CloneSet) { s.Spec.Template.Spec.Containers[0].Image = "bank.test/web:v2" })
		})
		return err
	})
	return s, err
}

// spend is the CPU for each Pod from a change until nothing is written any more.
func (w *world) spend(ctx context.Context, name string, set *v1beta1.CloneSet, pods int, change func() error) (time.Duration, error) {
	before, err := w.controllers.CPU()
	if err != nil {
		return 0, err
	}
	err = w.controllers.profile(ctx, w.profiles, name, profileLength, func() error {
		if err := change(); err != nil {
			return err
		}
		if err := w.settled(ctx, set); err != nil {
			return err
		}
		_, _, err := w.audit.settled(ctx, set.Namespace)
		return err
	})
	if err != nil {
		return 0, err
	}
	after, err := w.controllers.CPU()
	each := (after - before) / time.Duration(pods)
	fmt.Fprintf(os.Stderr, "%s: %v for each Pod\n", name, each)
	return each, err
}
