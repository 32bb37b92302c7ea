package main

import (
	"context"
	"fmt"
	"time"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// What idle controllers may use.
const (
	maxIdleMilliCPU = 10
	maxIdleMemory   = 200
)

// watchIdle has many CloneSets with many Pods of which nothing is to be done.
func watchIdle(ctx context.Context, w *world) (rows []row, err error) {
	const ns = "idle"
	err = w.in(ctx, ns, func() error {
		sets := make([]*v1beta1.CloneSet, w.idleSets)
		for i := range sets {
			sets[i] = cloneSet(ns, fmt.Sprintf("web-%d", i), w.large/w.idleSets)
			if err := w.Create(ctx, sets[i]); err != nil {
				return err
			}
		}
		for _, set := range sets {
			if err := w.settled(ctx, set); err != nil {
				return err
			}
		}
		if _, _, err := w.audit.settled(ctx, ns); err != nil {
			return err
		}
		rows, err = w.measureIdle(ctx, ns)
		return err
	})
	return rows, err
}

func (w *world) measureIdle(ctx context.Context, ns string) ([]row, error) {
	before, err := w.controllers.CPU()
	if err != nil {
		return nil, err
	}
	window := time.Duration(w.idleSeconds) * time.Second
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(window):
	}
	after, err := w.controllers.CPU()
	if err != nil {
		return nil, err
	}
	writes, _, err := w.audit.since(ns)
	if err != nil {
		return nil, err
	}
	resident, err := w.controllers.RSS()
	if err != nil {
		return nil, err
	}
	memory := resident >> 20 // MiB
	milli := float64(after-before) / float64(window) * 1000
	r := row{
		scenario: fmt.Sprintf("%d Pods of %d CloneSets, idle for %v after they were made", w.large, w.idleSets, window),
		target:   fmt.Sprintf("< %d mCPU, < %d MiB", maxIdleMilliCPU, maxIdleMemory),
		measured: fmt.Sprintf("%.1f mCPU, %d MiB, %d writes", milli, memory, len(writes)),
	}
	if milli >= maxIdleMilliCPU {
		r.missed = fmt.Sprintf("%.1f mCPU", milli)
	}
	if memory >= maxIdleMemory {
		r.missed += fmt.Sprintf(" %d MiB", memory)
	}
	return []row{r}, nil
}
