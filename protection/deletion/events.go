package deletion

import (
	"context"
	"fmt"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	policyv1beta1 "github.com/fairlead-io/fairlead/api/policy/v1beta1"
)

// DeniedReason is the reason of the Warning event on an object whose deletion was denied.
const DeniedReason = "DeletionDenied"

// Denials come as fast as clients ask, and a namespace that is being deleted asks for each of its objects again and
// again. Events are a hint for people: more than one a second, after a first burst, would only take requests away from
// what answers are waiting for. The recorder further merges those that are alike and limits those of one object.
const (
	eventsPerSecond = 1
	eventBurst      = 20
)

// Events writes an event for a denial, on the object that was to be deleted. It drops what comes too fast, and never
// names a user: who may read events need not know who tried.
type Events struct {
	broadcaster record.EventBroadcaster
	recorder    record.EventRecorder
	limit       *rate.Limiter
}

// NewEvents writes through a client until ctx ends. component is who events are said to come from.
func NewEvents(ctx context.Context, client typed.EventsGetter, component string) *Events {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&typed.EventSinkImpl{Interface: client.Events("")})
	return &Events{
		broadcaster: broadcaster,
		recorder:    broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: component}),
		limit:       rate.NewLimiter(eventsPerSecond, eventBurst),
	}
}

// Denied queues the event of a denial.
func (e *Events) Denied(d Denial) {
	if !e.limit.Allow() {
		return
	}
	version, kind := d.Kind.ToAPIVersionAndKind()
	e.recorder.Event(&corev1.ObjectReference{
		APIVersion: version, Kind: kind, Namespace: d.Namespace, Name: d.Name, UID: types.UID(d.UID),
	}, corev1.EventTypeWarning, DeniedReason, fmt.Sprintf("Deletion denied: the label %s=%s protects this %s: %s",
		policyv1beta1.DeletionProtectionLabel, d.Mode, kind, d.Why))
}
