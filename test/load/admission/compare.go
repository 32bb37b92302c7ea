package main

import (
	"fmt"
	"slices"
	"time"
)

// result is what was measured of a scenario: medians over the rounds. Ratios are of two samples of one round each.
type result struct {
	scenario
	ours, noop sample
	// ratio is our CPU time to the no-op's, without that of reads; p99Ratio is that of latencies.
	ratio, p99Ratio float64
	// toOther is our CPU time to that of the scenario that the target refers to.
	toOther float64
	// reads is how often a review reads from the API server, and readsCPU what that costs, which is not ours to spare.
	reads    float64
	readsCPU time.Duration
	rss      int64 // MiB, after the reviews
}

// compare makes a result of the samples of Fairlead, of the no-op, and of a third server if the scenario has one.
func compare(s scenario, samples [][]sample) result {
	ours, noop := samples[0], samples[1]
	r := result{scenario: s, ours: median(ours), noop: median(noop)}
	cpu, p99, other := make([]float64, len(ours)), make([]float64, len(ours)), make([]float64, len(ours))
	for i := range ours {
		spent := ours[i].cpu
		if s.inCluster {
			spent -= samples[2][i].cpu - noop[i].cpu
		}
		cpu[i] = float64(spent) / float64(noop[i].cpu)
		p99[i] = float64(ours[i].p99) / float64(noop[i].p99)
		if s.target.of != nil {
			other[i] = float64(ours[i].cpu) / float64(samples[2][i].cpu)
		}
	}
	r.ratio, r.p99Ratio, r.toOther = middle(cpu), middle(p99), middle(other)
	if s.inCluster {
		r.reads, r.readsCPU = ours[0].reads, median(samples[2]).cpu-r.noop.cpu
	}
	return r
}

func median(samples []sample) sample {
	cpu, p99 := make([]time.Duration, 0, len(samples)), make([]time.Duration, 0, len(samples))
	for _, s := range samples {
		cpu, p99 = append(cpu, s.cpu), append(p99, s.p99)
	}
	return sample{middle(cpu).Round(100 * time.Nanosecond), middle(p99).Round(10 * time.Microsecond), samples[0].reads}
}

// middle is the median of a list, which it sorts.
func middle[T float64 | time.Duration](list []T) T {
	slices.Sort(list)
	return list[len(list)/2]
}

// misses says which targets a result misses.
func (r result) misses() (missed []string) {
	t := r.target
	ratio := r.ratio
	if t.of != nil {
		ratio = r.toOther
	}
	if t.ratio > 0 && ratio > t.ratio {
		missed = append(missed, fmt.Sprintf("CPU %.2f > %.1f", ratio, t.ratio))
	}
	if t.cpu > 0 && r.ours.cpu > t.cpu {
		missed = append(missed, fmt.Sprintf("CPU %v > %v", r.ours.cpu, t.cpu))
	}
	if r.p99Ratio >= maxP99 {
		missed = append(missed, fmt.Sprintf("p99 %.2f ≥ %d", r.p99Ratio, maxP99))
	}
	if t.rss > 0 && r.rss >= t.rss {
		missed = append(missed, fmt.Sprintf("RSS %d MiB ≥ %d MiB", r.rss, t.rss))
	}
	return missed
}

// String is the target as the table has it; that of p99 is everyone's.
func (t target) String() string {
	text := fmt.Sprintf("≤ %.1f", t.ratio)
	switch {
	case t.cpu > 0:
		text = fmt.Sprintf("≤ %v CPU", t.cpu)
	case t.of != nil:
		text += fmt.Sprintf(" × %q", t.of.name)
	}
	if t.rss > 0 {
		text += fmt.Sprintf(", RSS < %d MiB", t.rss)
	}
	return text
}
