package podunavailablebudget

import (
	"context"
	"fmt"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
)

const (
	// DeniedReason and component are those that users know, whatever the operation was.
	DeniedReason = "PubPreventPodDeletion"
	component    = "pub-controller"
	// A drain asks again every few seconds for each Pod of a node; the API server must not be written to as often. The burst
	// is one node's Pods.
	eventsPerSecond = 5
	eventBurst      = 110
)

// Events writes a Warning event on a Pod that something was denied for. It drops what comes too fast, and never names a user.
type Events struct {
	recorder record.EventRecorder
	limit    *rate.Limiter
}

// NewEvents writes through a client until ctx ends.
func NewEvents(ctx context.Context, client typed.EventsGetter) *Events {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&typed.EventSinkImpl{Interface: client.Events("")})
	return &Events{
		recorder: broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: component}),
		limit:    rate.NewLimiter(eventsPerSecond, eventBurst),
	}
}

// Denied queues the event of a denial.
func (e *Events) Denied(d Denial) {
	if !e.limit.Allow() {
		return
	}
	e.recorder.Event(&corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: d.Namespace, Name: d.Pod, UID: d.UID},
		corev1.EventTypeWarning, DeniedReason, fmt.Sprintf("%s denied by PodUnavailableBudget %s: %s", d.Operation, d.Budget, d.Message))
}
