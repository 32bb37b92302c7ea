package cloneset

import (
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// Reasons of events (cloneset.md §1.7).
const (
	successfulCreate            = "SuccessfulCreate"
	failedCreate                = "FailedCreate"
	waitingForAdmission         = "WaitingForAdmission" // ours, beyond the spec
	successfulDelete            = "SuccessfulDelete"
	failedDelete                = "FailedDelete"
	scaleUpLimited              = "ScaleUpLimited"
	successfulUpdatePodInPlace  = "SuccessfulUpdatePodInPlace"
	failedUpdatePodInPlace      = "FailedUpdatePodInPlace"
	successfulUpdatePodReCreate = "SuccessfulUpdatePodReCreate"
	failedUpdatePodReCreate     = "FailedUpdatePodReCreate"
	failedUpdate                = "FailedUpdate"
	createdImagePullJob         = "CreatedImagePullJob"
	failedCreateImagePullJob    = "FailedCreateImagePullJob"
)

type entry struct{ kind, reason, message string }

// journal collects events from parallel work.
type journal struct {
	mutex  sync.Mutex
	events []entry
}

func (j *journal) add(kind, reason, format string, args ...any) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	j.events = append(j.events, entry{kind, reason, fmt.Sprintf(format, args...)})
}

func (j *journal) normal(reason, format string, args ...any) {
	j.add(corev1.EventTypeNormal, reason, format, args...)
}

// failed tells of an error, unless it is only that someone else was faster, or deletes the namespace.
func (j *journal) failed(reason string, err error) {
	if isFault(err) {
		j.add(corev1.EventTypeWarning, reason, "%v", err)
	}
}

// emit sends the events of a sync. They say what happened, so that they come after it.
func (r *Reconciler) emit(set *v1beta1.CloneSet, events []entry) {
	for _, e := range events {
		r.Recorder.Event(set, e.kind, e.reason, e.message)
	}
}
