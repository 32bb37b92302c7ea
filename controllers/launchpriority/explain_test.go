package launchpriority

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExplain(t *testing.T) {
	pod := with(podOf(1, 5, 5), ready("c1"), unready("c2"))
	got := Explain(pod, barrierOwned("pod-1", "p_5"))
	want := &Explanation{ConfigMap: "web-barrier", Starts: []Start{
		{Container: "c0", Priority: 1, Key: "p_1", Behind: []string{"c2"}},
		{Container: "c1", Priority: 5, Key: "p_5", Open: true, Settled: true},
		{Container: "c2", Priority: 5, Key: "p_5", Open: true},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	with(pod, ready("c2"))
	got = Explain(pod, barrierOwned("pod-1", "p_5"))
	if diff := cmp.Diff(Plan{Write: Open, Key: "p_1", Complete: true}, got.Next); diff != "" {
		t.Errorf("what comes next: %s", diff)
	}
}

func TestExplainIgnoresThePredecessorsKeys(t *testing.T) {
	got := Explain(podOf(1, 5), barrierOwned("pod-0", "p_1", "p_5"))
	for _, start := range got.Starts {
		if start.Open {
			t.Errorf("%s may start by a key of another Pod's barrier", start.Container)
		}
	}
	if got.Next.Write != TakeOver {
		t.Errorf("next is %+v", got.Next)
	}
}

func TestExplainPodsThatWaitForNothing(t *testing.T) {
	plain := podOf(1)
	plain.Spec.Containers[0].Env = nil
	if got := Explain(plain, nil); got != nil {
		t.Errorf("without a barrier: %+v", got)
	}
	if got := Explain(with(podOf(1, 2), annotated("true")), barrierOwned("pod-1", "p_1", "p_2")); !got.Over || got.Next.Write != None {
		t.Errorf("one that is completed: %+v", got)
	}
}
