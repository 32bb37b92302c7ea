package arithmetic

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// bounds are those of the rows of cloneset.md §3.2: R, P, MU, MS, SMU resolved by hand.
func bounds(replicas, partition, maxUnavailable, maxSurge, scale int) Bounds {
	return Bounds{Replicas: replicas, Partition: partition, MaxUnavailable: maxUnavailable, MaxSurge: maxSurge, ScaleMaxUnavailable: scale}
}

func TestTheSampleValues(t *testing.T) {
	free := Unlimited
	excluding := bounds(6, 0, 1, 0, free)
	excluding.ExcludePreparingDelete = true
	rollingBack := bounds(6, 5, 1, 0, free)
	rollingBack.MayRollBack = true
	excludingOld := bounds(5, 3, 1, 0, free)
	excludingOld.ExcludePreparingDelete = true
	surgingBack := bounds(6, 3, 1, 1, free)
	surgingBack.MayRollBack = true
	onDelete := bounds(4, 0, 0, 1, free)
	onDelete.OnDelete = true
	for name, tt := range map[string]struct {
		bounds   Bounds
		old, new Group
		want     Plan
	}{
		"8,0,1,0,3 none":          {bounds(8, 0, 1, 0, 3), Group{}, Group{}, Plan{Need: 8, Create: 3, Cap: -7}},
		"8,0,1,0,3 new 3a 2u":     {bounds(8, 0, 1, 0, 3), Group{}, Group{Available: 3, Unavailable: 2}, Plan{Need: 3, Create: 1, Cap: -2}},
		"8,5,20% old 4a new 2a":   {bounds(8, 5, 2, 0, free), Group{Available: 4}, Group{Available: 2}, Plan{Need: 2, Create: 2, CreateOld: 1, Cap: 0}},
		"8,2,20% old 4a new 2a":   {bounds(8, 2, 2, 0, free), Group{Available: 4}, Group{Available: 2}, Plan{Need: 2, Create: 2, Update: 2, Cap: 0}},
		"5,3,1,0 old 6a new 2a":   {bounds(5, 3, 1, 0, free), Group{Available: 6}, Group{Available: 2}, Plan{Excess: 3, ExcessOld: 3, ReadyQuota: 4, Cap: 4}},
		"5,6,1,0 old 6a new 2a":   {bounds(5, 5, 1, 0, free), Group{Available: 6}, Group{Available: 2}, Plan{Excess: 3, ExcessOld: 1, ReadyQuota: 4, Cap: 4}},
		"10,4,25%,0 old 10a":      {bounds(10, 4, 3, 0, free), Group{Available: 10}, Group{}, Plan{Update: 6, Cap: 3}},
		"10,4,25%,25% old 10a":    {bounds(10, 4, 2, 3, free), Group{Available: 10}, Group{}, Plan{Need: 3, Create: 3, Update: 6, Cap: 2}},
		"10,4,25%,25% with surge": {bounds(10, 4, 2, 3, free), Group{Available: 10}, Group{Unavailable: 3}, Plan{Update: 3, Cap: 5}},
		"10,0,2,0 old 8a 2u":      {bounds(10, 0, 2, 0, free), Group{Available: 8, Unavailable: 2}, Group{}, Plan{Update: 10, Cap: 2}},
		"6,0,1,0 4a 2d":           {bounds(6, 0, 1, 0, free), Group{}, Group{Available: 4, Doomed: 2}, Plan{ReadyQuota: 1, Cap: 1}},
		"6,0,0,1 4a 2d":           {bounds(6, 0, 0, 1, free), Group{}, Group{Available: 4, Doomed: 2}, Plan{Need: 1, Create: 1, Cap: 0}},
		"6,0,0,1 5a 2d":           {bounds(6, 0, 0, 1, free), Group{}, Group{Available: 5, Doomed: 2}, Plan{ReadyQuota: 1, Cap: 1}},
		"6,0,1,0 5a 1 preDel":     {bounds(6, 0, 1, 0, free), Group{}, Group{Available: 5, PreparingDelete: 1}, Plan{Cap: 1}},
		"excludePreparingDelete":  {excluding, Group{}, Group{Available: 5, PreparingDelete: 1}, Plan{Need: 1, Create: 1, Cap: 1}},
		"6,5,1,0 old 2a new 4a":   {bounds(6, 5, 1, 0, free), Group{Available: 2}, Group{Available: 4}, Plan{Cap: 1}},
		"the same, rolling back":  {rollingBack, Group{Available: 2}, Group{Available: 4}, Plan{Update: -3, Cap: 1}},
		"4,0,0,1 on delete":       {onDelete, Group{Available: 4}, Group{}, Plan{Update: 4, Cap: 0}},
		"the same, one is doomed": {onDelete, Group{Available: 3, Doomed: 1}, Group{}, Plan{Need: 1, Create: 1, Update: 4, Cap: 0}},
		"6,0,0,3 paused":          {bounds(6, 0, 0, 0, free), Group{Available: 6}, Group{}, Plan{Update: 6, Cap: 0}},
		"5,3,1,0 update=current":  {bounds(5, 3, 1, 0, free), Group{Available: 2}, Group{Available: 3}, Plan{Cap: 1}},
		// From the traces of §4.4: surge Pods are scaled in from the old side as new ones become available.
		"5,3,1,1 old 4a new 2a":     {bounds(5, 3, 1, 1, free), Group{Available: 4}, Group{Available: 2}, Plan{Excess: 1, ExcessOld: 1, Update: 0, ReadyQuota: 2, Cap: 2}},
		"4,0,0,1 old 4a new 1a":     {bounds(4, 0, 0, 1, free), Group{Available: 4}, Group{Available: 1}, Plan{Update: 3, Cap: 1}},
		"6,50%,2,50% old 6a new 3a": {bounds(6, 3, 2, 3, free), Group{Available: 6}, Group{Available: 3}, Plan{Excess: 3, ExcessOld: 3, ReadyQuota: 5, Cap: 5}},
		"027: 8,6,0,4 old 8a":       {bounds(8, 6, 0, 4, free), Group{Available: 8}, Group{}, Plan{Need: 2, Create: 2, Update: 2, Cap: 0}},
		"027: scaled to 10":         {bounds(10, 6, 0, 5, free), Group{Available: 6}, Group{Available: 2}, Plan{Need: 2, Create: 2, Cap: -2}},
		"027: scaled to 7":          {bounds(7, 6, 0, 4, free), Group{Available: 6}, Group{Available: 4}, Plan{Excess: 3, ReadyQuota: 3, Cap: 3}},
		"027: partition to half":    {bounds(7, 4, 0, 4, free), Group{Available: 6}, Group{Available: 1}, Plan{Need: 2, Create: 2, Update: 2, Cap: 0}},
		// A surge for what is doomed, and what is not counted, are of the side that they are for.
		"a surge for an old one":      {bounds(5, 3, 0, 1, free), Group{Available: 2, Doomed: 1}, Group{Available: 2}, Plan{Need: 1, Create: 1, CreateOld: 1}},
		"a surge for a new one":       {bounds(5, 3, 0, 1, free), Group{Available: 3}, Group{Available: 1, Doomed: 1}, Plan{Need: 1, Create: 1}},
		"an old one is not counted":   {excludingOld, Group{Available: 2, PreparingDelete: 1}, Group{Available: 2}, Plan{Need: 1, Create: 1, CreateOld: 1, Cap: 1}},
		"too many, of which one goes": {bounds(4, 2, 1, 0, free), Group{Available: 3, Doomed: 1}, Group{Available: 3}, Plan{Excess: 2, ExcessOld: 1, ReadyQuota: 4, Cap: 4}},
		"too many, with a surge back": {surgingBack, Group{Available: 2, PreparingDelete: 3}, Group{Available: 4}, Plan{Excess: 2, ExcessOld: 1, ReadyQuota: 1, Update: -1, Cap: 4}},
		"partition beyond replicas":   {bounds(3, 3, 1, 2, free), Group{Available: 3}, Group{}, Plan{Cap: 1}},
		"a throttled create is old":   {bounds(8, 5, 1, 0, 1), Group{}, Group{}, Plan{Need: 8, Create: 1, CreateOld: 1, Cap: -7}},
		"no replicas and many doomed": {bounds(0, 0, 0, 0, free), Group{}, Group{Doomed: 3, Available: 1}, Plan{Excess: 1, ReadyQuota: 4, Cap: 4}},
	} {
		if diff := cmp.Diff(tt.want, Calculate(tt.bounds, tt.new, tt.old)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func drawGroup(t *rapid.T, label string) Group {
	n := rapid.IntRange(0, 12)
	return Group{PreparingDelete: n.Draw(t, label+" preparing"), Doomed: n.Draw(t, label+" doomed"),
		Unavailable: n.Draw(t, label+" unavailable"), Available: n.Draw(t, label+" available")}
}

func TestNoPlanBreaksTheBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := Bounds{
			Replicas:       rapid.IntRange(0, 20).Draw(t, "replicas"),
			MaxUnavailable: rapid.IntRange(0, 20).Draw(t, "maxUnavailable"), MaxSurge: rapid.IntRange(0, 20).Draw(t, "maxSurge"),
			ScaleMaxUnavailable:    rapid.SampledFrom([]int{0, 1, 3, Unlimited}).Draw(t, "scale"),
			ExcludePreparingDelete: rapid.Bool().Draw(t, "exclude"), MayRollBack: rapid.Bool().Draw(t, "back"),
		}
		b.Partition = rapid.IntRange(0, b.Replicas).Draw(t, "partition")
		updated, old := drawGroup(t, "new"), drawGroup(t, "old")
		p := Calculate(b, updated, old)
		for name, n := range map[string]int{"need": p.Need, "create": p.Create, "createOld": p.CreateOld, "excess": p.Excess, "excessOld": p.ExcessOld, "quota": p.ReadyQuota} {
			if n < 0 {
				t.Errorf("%s is %d", name, n)
			}
		}
		total := updated.total() + old.total()
		staying := updated.staying() + old.staying()
		switch {
		case p.CreateOld > p.Create || p.Create > p.Need || p.ExcessOld > p.Excess || p.Need > 0 && p.Excess > 0:
			t.Errorf("the plan contradicts itself: %+v", p)
		case p.Create > 0 && staying+p.Create > b.Replicas+b.MaxSurge:
			t.Errorf("creating %d makes %d, more than replicas and surge", p.Create, staying+p.Create)
		case p.Create > 0 && !b.ExcludePreparingDelete && total+p.Create > b.Replicas+b.MaxSurge:
			t.Errorf("creating %d makes %d with those that go", p.Create, total+p.Create)
		case p.Create > 0 && updated.staying()+p.Create-p.CreateOld > max(b.Replicas-b.Partition, updated.staying())+b.MaxSurge:
			t.Errorf("creating %d new breaks the partition", p.Create-p.CreateOld)
		case p.Update > 0 && updated.staying()+p.Update > b.Replicas-b.Partition:
			t.Errorf("updating %d breaks the partition", p.Update)
		case p.Update > old.staying() || -p.Update > updated.staying():
			t.Errorf("updates %d of the Pods there are", p.Update)
		case p.ReadyQuota > 0 && total-updated.PreparingDelete-old.PreparingDelete-updated.Unavailable-old.Unavailable-p.ReadyQuota < b.Replicas-b.MaxUnavailable:
			t.Errorf("deleting %d ready Pods leaves too few", p.ReadyQuota)
		}
	})
}
