package cloneset

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/podset/podstate"
)

// OrphanClaim is a claim whose Pod ended without the CloneSet having deleted it, and that is not to be reused.
type OrphanClaim struct {
	Claim *corev1.PersistentVolumeClaim
	// Ended tells that the CloneSet itself is deleting the Pod: the claim goes with it.
	Ended bool
	// Heir is the Pod that still uses it and becomes its owner, so that it goes with it. Without one it is deleted.
	Heir *corev1.Pod
}

// planOrphanClaims cleans up after Pods that someone else ended, if claims are not reused (cloneset.md §3.5), and after
// those whose creation failed and that are no longer wanted.
func (p *planner) planOrphanClaims() {
	if len(p.seen.claims) == 0 {
		return
	}
	active := idsOf(p.seen.pods.Active)
	for _, c := range p.seen.claims {
		id := c.Labels[v1beta1.CloneSetInstanceIDLabel]
		if id == "" || active[id] {
			continue
		}
		if slices.Contains(p.plan.Unmade, id) {
			continue
		}
		o := OrphanClaim{Claim: c, Heir: withID(p.seen.pods.Inactive, id)}
		known := slices.Contains(p.seen.ended, id)
		if known && !slices.Contains(p.plan.Ended, id) {
			p.plan.Ended = append(p.plan.Ended, id)
		}
		o.Ended = known || o.Heir != nil && endedByUs(o.Heir)
		if o.Ended || !p.set.Spec.ScaleStrategy.EnablePVCReuse || slices.Contains(p.seen.unmade, id) {
			p.plan.Claims = append(p.plan.Claims, o)
		}
	}
}

// endedByUs tells whether a Pod that ends was marked to be deleted before: then it is the CloneSet that deleted it, and
// perhaps stopped before it came to the claims.
func endedByUs(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil && isMarked(pod)
}

func isMarked(pod *corev1.Pod) bool {
	return podstate.SpecifiedDelete(pod) || podstate.Lifecycle(pod) == v1beta1.LifecycleStatePreparingDelete
}

func withID(pods []*corev1.Pod, id string) *corev1.Pod {
	for _, pod := range pods {
		if pod.Labels[v1beta1.CloneSetInstanceIDLabel] == id {
			return pod
		}
	}
	return nil
}

// lateEnd is how long after its grace period a Pod that someone else deleted may still be there before it is given up: the
// kubelet first reports the end of the containers and unmounts volumes. A node that is down never does.
const lateEnd = 30 * time.Second

// heldBack is how many of the Pods to create have to wait: a Pod that is ending has the name, and mounts the claims, that
// one of them is to have. With another id it would start without its data, and the claims would be left over.
func (p *planner) heldBack(most int) (n int) {
	if !p.set.Spec.ScaleStrategy.EnablePVCReuse {
		return 0
	}
	for _, pod := range p.seen.pods.Inactive {
		if n >= most || pod.DeletionTimestamp == nil || endedByUs(pod) || len(p.claimsOf(pod)) == 0 {
			continue
		}
		if left := pod.DeletionTimestamp.Add(lateEnd).Sub(p.now); left > 0 {
			n++
			p.plan.Wake.in(left)
		}
	}
	return n
}

// claimsOf are the claims with the Pod's id.
func (p *planner) claimsOf(pod *corev1.Pod) (own []*corev1.PersistentVolumeClaim) {
	id := pod.Labels[v1beta1.CloneSetInstanceIDLabel]
	for _, c := range p.seen.claims {
		if id != "" && c.Labels[v1beta1.CloneSetInstanceIDLabel] == id {
			own = append(own, c)
		}
	}
	return own
}

// planMissingClaims makes claims again that a Pod waits for. Another leader may have taken one for an orphan before the
// creation of its Pod, which was under way, was carried out. A Pod that is on a node has its claims, and keeps them.
func (p *planner) planMissingClaims() {
	templates := p.set.Spec.VolumeClaimTemplates
	if len(templates) == 0 {
		return
	}
	for _, pod := range p.seen.pods.Active {
		if pod.Spec.NodeName != "" {
			continue
		}
		for i := range templates {
			c := p.newClaim(&templates[i], pod.Labels[v1beta1.CloneSetInstanceIDLabel])
			if uses(pod, c.Name) && !p.hasClaim(c.Name) {
				p.plan.Missing = append(p.plan.Missing, c)
			}
		}
	}
}

func uses(pod *corev1.Pod, claim string) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim
	})
}
