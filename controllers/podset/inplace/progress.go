package inplace

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Progress is what one version of a Pod says of its update in place. To find out takes decoding annotations and, where the
// node's daemon reports, hashing containers: whoever looks at many Pods again and again keeps it while they stay as they
// are. It never changes.
type Progress struct {
	uid     types.UID
	version string
	// began tells whether the Pod is or was updated in place, batchDone whether its containers run as its spec says now.
	began, batchDone bool
	// state is nil if nothing of it is left to do or to wait for, grace if the Pod is not in grace.
	state *State
	grace *Grace
	// stateErr and graceErr are why an annotation cannot be read.
	stateErr, graceErr error
}

// ProgressOf reads the Pod.
func ProgressOf(pod *corev1.Pod) *Progress {
	p := &Progress{uid: pod.UID, version: pod.ResourceVersion}
	p.state, p.stateErr = ReadState(pod)
	p.grace, p.graceErr = ReadGrace(pod)
	p.began = p.state != nil
	p.batchDone = p.stateErr == nil && (p.state == nil || p.state.batchComplete(pod))
	if p.Complete() {
		p.state = nil // it is history, and there may be thousands
	}
	return p
}

// IsOf tells whether it was read of this version of the Pod. Without a version nobody can tell.
func (p *Progress) IsOf(pod *corev1.Pod) bool {
	return p != nil && p.version != "" && p.version == pod.ResourceVersion && p.uid == pod.UID
}

// Complete is that of the Pod.
func (p *Progress) Complete() bool {
	inGrace := p.grace != nil || p.graceErr != nil
	return !inGrace && p.batchDone && (p.state == nil || p.state.next().empty())
}

// Began tells whether the Pod is or was updated in place.
func (p *Progress) Began() bool { return p.began }
