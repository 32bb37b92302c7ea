package cloneset

import (
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

// planOrphanClaims cleans up after Pods that someone else ended, if claims are not reused (cloneset.md §3.5).
func (p *planner) planOrphanClaims() {
	active := idsOf(p.seen.pods.Active)
	for _, c := range p.seen.claims {
		id := c.Labels[v1beta1.CloneSetInstanceIDLabel]
		if id == "" || active[id] {
			continue
		}
		o := OrphanClaim{Claim: c, Heir: withID(p.seen.pods.Inactive, id)}
		o.Ended = o.Heir != nil && endedByUs(o.Heir)
		if o.Ended || !p.set.Spec.ScaleStrategy.EnablePVCReuse {
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
