package arithmetic

import "math"

// Unlimited is the ScaleMaxUnavailable of a workload that has none.
const Unlimited = math.MaxInt32

// Bounds are a workload's numbers, resolved.
type Bounds struct {
	Replicas, Partition, MaxUnavailable, MaxSurge int
	// ScaleMaxUnavailable limits creation only: no more Pods than this may be unavailable.
	ScaleMaxUnavailable int
	// ExcludePreparingDelete makes Pods that wait for their deletion not count as there.
	ExcludePreparingDelete bool
	// MayRollBack lets the partition move Pods back to the current revision. It must be false while the update revision
	// is the current one: there is nothing to go back to.
	MayRollBack bool
	// OnDelete tells that Pods change sides only when someone deletes them. No surge is for that: it would stay for ever.
	OnDelete bool
}

// Group counts the Pods of one side, the update revision's or all others. Each Pod is in one place: PreparingDelete
// before Doomed (asked to be deleted) before Unavailable before Available.
type Group struct {
	PreparingDelete, Doomed, Unavailable, Available int
}

func (g Group) total() int { return g.staying() + g.PreparingDelete }

// staying are the Pods that count against the partition.
func (g Group) staying() int { return g.Doomed + g.Unavailable + g.Available }

// Plan is what the numbers allow now. All but Update are counts, and never negative.
type Plan struct {
	// Need is how many Pods are missing, Create how many of them may be created now, CreateOld how many of those at the
	// current revision.
	Need, Create, CreateOld int
	// Excess is how many Pods are too many beyond those asked to be deleted; ExcessOld how many of them are to be taken
	// from the old ones.
	Excess, ExcessOld int
	// ReadyQuota is how many ready Pods may be deleted now.
	ReadyQuota int
	// Update is how many Pods are to move to the update revision, or back to the current one when it is negative. Cap is
	// how many Pods may be unavailable for that; it can be negative.
	Update, Cap int
}

// Calculate is the arithmetic of cloneset.md §3.2.
func Calculate(b Bounds, updated, old Group) Plan {
	unavailable := updated.PreparingDelete + old.PreparingDelete + updated.Unavailable + old.Unavailable
	doomed := updated.Doomed + old.Doomed
	all := updated.total() + old.total()
	moreOld, moreNew := old.staying()-b.Partition, updated.staying()-(b.Replicas-b.Partition)
	if !b.MayRollBack {
		moreOld, moreNew = max(moreOld, 0), min(moreNew, 0)
	}
	surge, surgeOld := surge(b, updated, unavailable, doomed, moreOld, moreNew)
	plan := Plan{Cap: b.MaxUnavailable + all - b.Replicas, Update: toMove(moreOld, moreNew)}
	plan.scale(b, updated, old, surge, surgeOld, unavailable)
	if doomed > 0 || plan.Excess > 0 {
		plan.ReadyQuota = max(b.MaxUnavailable+all-b.Replicas-unavailable, 0)
	}
	return plan
}

// surge is how many Pods beyond the replicas there may be, and how many of them old. It is used only as far as
// deletions that were asked for exceed what may be unavailable, or Pods still have to change sides.
func surge(b Bounds, updated Group, unavailable, doomed, moreOld, moreNew int) (total, old int) {
	forDoomed, forDoomedOld := 0, 0
	if doomed > 0 {
		forDoomed = min(max(unavailable+doomed-b.MaxUnavailable, 0), doomed)
		forDoomedOld = max(forDoomed-updated.Doomed, 0)
	}
	forUpdate, forUpdateOld := 0, 0
	if moreOld*moreNew < 0 && !b.OnDelete {
		forUpdate = min(abs(moreOld), abs(moreNew))
		if moreOld < 0 {
			forUpdateOld = forUpdate
		}
	}
	if forDoomed >= forUpdate {
		total = min(b.MaxSurge, forDoomed)
		return total, min(total, forDoomedOld)
	}
	total = min(b.MaxSurge, forUpdate)
	return total, min(total, forUpdateOld)
}

func (p *Plan) scale(b Bounds, updated, old Group, surge, surgeOld, unavailable int) {
	have, haveOld := updated.total()+old.total(), old.total()
	if b.ExcludePreparingDelete {
		have, haveOld = updated.staying()+old.staying(), old.staying()
	}
	want, wantOld := b.Replicas+surge, b.Partition+surgeOld
	if p.Need = max(want-have, 0); p.Need > 0 {
		p.Create = min(p.Need, max(b.ScaleMaxUnavailable-unavailable, 0))
		p.CreateOld = min(p.Create, max(wantOld-haveOld, 0))
	}
	if p.Excess = max(have-updated.Doomed-old.Doomed-want, 0); p.Excess > 0 {
		p.ExcessOld = min(p.Excess, max(haveOld-old.Doomed-wantOld, 0))
	}
}

// toMove is how many Pods change sides. With too many or too few on both sides that is creation's and deletion's work:
// moving them could take the new side beyond its share.
func toMove(moreOld, moreNew int) int {
	if moreOld*moreNew >= 0 {
		return 0
	}
	if abs(moreOld) <= abs(moreNew) {
		return moreOld
	}
	return -moreNew
}

func abs(n int) int { return max(n, -n) }
