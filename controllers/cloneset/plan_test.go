package cloneset

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/podset/claim"
	"github.com/fairlead-io/fairlead/controllers/podset/podstate"
	"github.com/fairlead-io/fairlead/controllers/podset/revision"
)

type drawn struct {
	set       *cloneSet
	seen      *snapshot
	settings  Settings
	v1, v2    *appsv1.ControllerRevision
	available int
}

func draw(t *rapid.T, v1, v2 *appsv1.ControllerRevision) drawn {
	n := rapid.Int32Range(0, 10).Draw(t, "replicas")
	percent := func(label string) *intstr.IntOrString {
		v := rapid.OneOf(rapid.Map(rapid.Int32Range(0, 12), intstr.FromInt32),
			rapid.Map(rapid.IntRange(0, 100), func(p int) intstr.IntOrString { return intstr.FromString(fmt.Sprintf("%d%%", p)) })).Draw(t, label)
		return &v
	}
	d := drawn{v1: v1, v2: v2, settings: Settings{PartitionRollback: rapid.Bool().Draw(t, "rollback")}}
	d.set = newSet(replicas(n), image("web:2"), rolling(func(r *v1beta1.RollingUpdateCloneSetStrategy) {
		r.Partition, r.MaxUnavailable, r.MaxSurge = percent("partition"), percent("maxUnavailable"), percent("maxSurge")
		r.Paused = rapid.Bool().Draw(t, "paused")
		r.PodUpdatePolicy = rapid.SampledFrom([]v1beta1.PodUpdateStrategyType{"ReCreate", "InPlaceIfPossible", "InPlaceOnly"}).Draw(t, "policy")
	}), func(s *cloneSet) {
		s.Status.CurrentRevision = rapid.SampledFrom([]string{v1.Name, v2.Name, ""}).Draw(t, "current")
		s.Spec.ScaleStrategy.EnablePVCReuse = rapid.Bool().Draw(t, "reuse")
	})
	d.seen = &snapshot{revisions: []*appsv1.ControllerRevision{v1, v2}}
	for i := range rapid.IntRange(0, 14).Draw(t, "pods") {
		state := rapid.SampledFrom([]string{"Normal", "Normal", "Normal", "", "PreparingNormal", "PreparingUpdate", "Updating", "Updated", "PreparingDelete"}).Draw(t, "state")
		at := v1
		if rapid.Bool().Draw(t, "new") {
			at = v2
		}
		pod := podAt(at, fmt.Sprintf("p%02d", i), inState(state))
		if rapid.IntRange(0, 3).Draw(t, "health") == 0 {
			unready(pod)
		}
		if rapid.IntRange(0, 5).Draw(t, "asked") == 0 {
			pod.Labels["apps.kruise.io/specified-delete"] = "true"
		}
		if podstate.Healthy(pod) {
			d.available++
		}
		d.seen.pods.Active = append(d.seen.pods.Active, pod)
	}
	return d
}

func (d drawn) plan(t *rapid.T) *Plan {
	ids := 0
	p, err := makePlan(d.set, d.seen, start, d.settings, func() string { ids++; return fmt.Sprint("n", ids) })
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func removals(p *Plan) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, list := range [][]Removal{p.Scale.Finish, p.Scale.Doomed, p.Scale.Surplus} {
		for _, r := range list {
			pods = append(pods, r.Pod)
		}
	}
	return pods
}

// TestNoPlanBreaksTheBounds looks at plans for anything that could be seen: how many available Pods are left, how many
// Pods there are, and how many are new, if everything in the plan is done.
func TestNoPlanBreaksTheBounds(t *testing.T) {
	v1, v2 := at(t, "web:1", 1), at(t, "web:2", 2)
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t, v1, v2)
		p := d.plan(t)
		b := boundsOf(d.set, d.settings, p.Status.CurrentRevision == v2.Name)
		down := map[string]bool{}
		for _, pod := range removals(p) {
			if podstate.Healthy(pod) {
				down[pod.Name] = true
			}
		}
		for _, m := range p.Moves {
			if podstate.Healthy(m.Pod) && (m.How != Recreate || m.Removal != nil) {
				down[m.Pod.Name] = true
			}
		}
		if len(down) > 0 && d.available-len(down) < b.Replicas-b.MaxUnavailable {
			t.Errorf("of %d available Pods %d go, %d of %d must stay", d.available, len(down), b.Replicas-b.MaxUnavailable, b.Replicas)
		}
		if n := len(p.Scale.Create); n > 0 && len(d.seen.pods.Active)+n > b.Replicas+b.MaxSurge {
			t.Errorf("%d Pods and %d more are above %d and %d", len(d.seen.pods.Active), n, b.Replicas, b.MaxSurge)
		}
		updated := 0
		for _, pod := range d.seen.pods.Active {
			if revision.Of(pod, []*appsv1.ControllerRevision{v2}) != nil && podstate.Lifecycle(pod) != v1beta1.LifecycleStatePreparingDelete {
				updated++
			}
		}
		forward := 0
		for _, m := range p.Moves {
			if m.To.Name == v2.Name {
				forward++
			}
		}
		if forward > 0 && updated+forward > b.Replicas-b.Partition {
			t.Errorf("%d Pods are new and %d more move, %d may", updated, forward, b.Replicas-b.Partition)
		}
	})
}

// TestAPlanDependsOnWhatIsSeenAlone checks that nothing is changed, and that shuffling changes nothing once the Pods are
// sorted as observe does.
func TestAPlanDependsOnWhatIsSeenAlone(t *testing.T) {
	v1, v2 := at(t, "web:1", 1), at(t, "web:2", 2)
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t, v1, v2)
		before, err := json.Marshal([]any{d.set, d.seen.pods, d.seen.revisions})
		if err != nil {
			t.Fatal(err)
		}
		first := d.plan(t)
		after, err := json.Marshal([]any{d.set, d.seen.pods, d.seen.revisions})
		if err != nil || string(before) != string(after) {
			t.Fatalf("what was seen has changed (%v): %s", err, cmp.Diff(string(before), string(after)))
		}
		list := &corev1.PodList{}
		for _, pod := range rapid.Permutation(d.seen.pods.Active).Draw(t, "order") {
			pod = pod.DeepCopy()
			pod.OwnerReferences = nil
			list.Items = append(list.Items, *pod)
		}
		slices.SortFunc(list.Items, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
		d.seen.pods = claim.Pods{}
		for i := range list.Items {
			d.seen.pods.Active = append(d.seen.pods.Active, &list.Items[i])
		}
		second := d.plan(t)
		if diff := cmp.Diff(describe(first), describe(second)); diff != "" {
			t.Error(diff)
		}
	})
}

// describe is what a plan does, in names.
func describe(p *Plan) []string {
	var all []string
	for _, pod := range p.Scale.Undelete {
		all = append(all, "keep "+pod.Name)
	}
	for _, n := range p.Scale.Create {
		all = append(all, "create "+n.Pod.Name+" "+n.Pod.Labels["controller-revision-hash"])
	}
	for _, pod := range removals(p) {
		all = append(all, "remove "+pod.Name)
	}
	for _, r := range p.Refresh {
		all = append(all, "refresh "+r.Pod.Name)
	}
	for _, m := range p.Moves {
		all = append(all, fmt.Sprint("move ", m.Pod.Name, m.To.Name, m.How))
	}
	return all
}
