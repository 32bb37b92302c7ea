package cloneset

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// OrphanClaim is a claim whose Pod ended without the CloneSet having deleted it, and that is not to be reused.
type OrphanClaim struct {
	Claim *corev1.PersistentVolumeClaim
	// Heir is the Pod that still uses it and becomes its owner, so that it goes with it. Without one it is deleted.
	Heir *corev1.Pod
}

// planOrphanClaims cleans up after Pods that someone else ended, if claims are not reused (cloneset.md §3.5).
func (p *planner) planOrphanClaims() {
	if p.set.Spec.ScaleStrategy.EnablePVCReuse {
		return
	}
	active := idsOf(p.seen.pods.Active)
	for _, c := range p.seen.claims {
		id := c.Labels[v1beta1.CloneSetInstanceIDLabel]
		if id == "" || active[id] {
			continue
		}
		p.plan.Claims = append(p.plan.Claims, OrphanClaim{Claim: c, Heir: withID(p.seen.pods.Inactive, id)})
	}
}

func withID(pods []*corev1.Pod, id string) *corev1.Pod {
	for _, pod := range pods {
		if pod.Labels[v1beta1.CloneSetInstanceIDLabel] == id {
			return pod
		}
	}
	return nil
}
