package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// quiet is how long nothing must have been written to call an action done.
const quiet = 3 * time.Second

// The writes that a Pod costs.
const (
	creates       = "create pods"
	deletes       = "delete pods"
	patches       = "patch pods"
	statusPatches = "patch pods/status"
)

// action is a change of a CloneSet and the most that it may write for each Pod.
type action struct {
	name   string
	most   map[string]int
	change func(*v1beta1.CloneSet)
}

var (
	scaleOut = map[string]int{creates: 1, patches: 1, statusPatches: 1}
	inPlace  = map[string]int{patches: 2, statusPatches: 2}
	recreate = map[string]int{creates: 1, patches: 1, statusPatches: 1, deletes: 1}
)

// countWrites follows one CloneSet through all that changes its Pods.
func countWrites(ctx context.Context, w *world) ([]row, error) {
	const ns = "writes"
	var rows []row
	err := w.in(ctx, ns, func() error {
		set := cloneSet(ns, "web", 0)
		if err := w.Create(ctx, set); err != nil {
			return err
		}
		if err := w.settled(ctx, set); err != nil {
			return err
		}
		for _, a := range []action{
			{"Scale-out", scaleOut, func(s *v1beta1.CloneSet) { s.Spec.Replicas = ptr.To(int32(w.pods)) }},
			{"In-place image update", inPlace, func(s *v1beta1.CloneSet) { s.Spec.Template.Spec.Containers[0].Image = "bank.test/web:v2" }},
			{"Recreating update", recreate, func(s *v1beta1.CloneSet) {
				s.Spec.Template.Spec.Containers[1].Env = []corev1.EnvVar{{Name: "OTHER", Value: "value"}}
			}},
		} {
			more, err := w.countOne(ctx, set, a)
			if err != nil {
				return fmt.Errorf("%s: %w", a.name, err)
			}
			rows = append(rows, more...)
		}
		return nil
	})
	return rows, err
}

func (w *world) countOne(ctx context.Context, set *v1beta1.CloneSet, a action) ([]row, error) {
	if _, _, err := w.audit.settled(ctx, set.Namespace); err != nil {
		return nil, err
	}
	if err := edit(ctx, w, set, a.change); err != nil {
		return nil, err
	}
	began := time.Now()
	if err := w.settled(ctx, set); err != nil {
		return nil, err
	}
	took := time.Since(began)
	writes, refused, err := w.audit.settled(ctx, set.Namespace)
	if err != nil {
		return nil, err
	}
	counts := count(writes)
	perSecond, most := rate(writes)
	status := row{
		scenario: fmt.Sprintf("%s of %d Pods: writes of the CloneSet's status", a.name, w.pods), target: "≤ 1 a second",
		measured: fmt.Sprintf("%.2f a second: %d in %.1f s, at most %d within a second", perSecond, counts["patch clonesets/status"], took.Seconds(), most),
	}
	if perSecond > 1 {
		status.missed = fmt.Sprintf("%.2f > 1", perSecond)
	}
	return []row{w.perPod(a, counts, refused), status}, nil
}

// perPod is the line that says what each Pod cost.
func (w *world) perPod(a action, counts, refused map[string]int) row {
	r := row{scenario: fmt.Sprintf("%s of %d Pods: writes for each Pod", a.name, w.pods)}
	kinds := []string{creates, deletes, patches, statusPatches}
	measured := make([]string, 0, len(kinds))
	var target, missed []string
	for _, kind := range kinds {
		if a.most[kind] > 0 {
			target = append(target, fmt.Sprintf("%d %s", a.most[kind], short(kind)))
		}
		each := float64(counts[kind]) / float64(w.pods)
		measured = append(measured, fmt.Sprintf("%.2f %s", each, short(kind)))
		if each > float64(a.most[kind]) {
			missed = append(missed, fmt.Sprintf("%s %.2f > %d", short(kind), each, a.most[kind]))
		}
		delete(counts, kind)
	}
	r.target, r.measured, r.missed = "≤ "+strings.Join(target, ", "), strings.Join(measured, ", "), strings.Join(missed, "; ")
	delete(counts, "patch clonesets/status")
	r.measured += others("; besides, in all: ", counts) + others("; refused: ", refused)
	return r
}

func short(kind string) string {
	verb, of, _ := strings.Cut(kind, " ")
	if strings.HasSuffix(of, "/status") {
		return "status " + verb
	}
	return verb
}

// others lists counts in a fixed order.
func others(title string, counts map[string]int) string {
	list := make([]string, 0, len(counts))
	for kind, n := range counts {
		list = append(list, fmt.Sprintf("%d %s", n, kind))
	}
	if len(list) == 0 {
		return ""
	}
	slices.Sort(list)
	return title + strings.Join(list, ", ")
}

// settled reads on until the controllers have written nothing in the namespace for a while.
func (a *auditLog) settled(ctx context.Context, namespace string) (writes []write, refused map[string]int, err error) {
	refused = map[string]int{}
	for last := time.Now(); time.Since(last) < quiet; {
		more, no, err := a.since(namespace)
		if err != nil {
			return nil, nil, err
		}
		for what, n := range no {
			refused[what] += n
		}
		if len(more)+len(no) > 0 {
			last = time.Now()
		}
		writes = append(writes, more...)
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-time.After(pollInterval):
		}
	}
	return writes, refused, nil
}
