package replica

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
)

// troubleEvents makes what tells of lasting trouble with the registration, by an event of the replica's own Pod. It is told seldom.
func troubleEvents(ctx context.Context, client kubernetes.Interface, namespace, pod string) func(what string, err error) {
	recorder := eventRecorder(ctx, client, namespace)
	about := &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: namespace, Name: pod}
	return func(what string, err error) {
		recorder.Eventf(about, corev1.EventTypeWarning, "RegistrationFailed", "%s: %v", what, err)
	}
}

// eventRecorder records events in a namespace until ctx ends.
func eventRecorder(ctx context.Context, client kubernetes.Interface, namespace string) record.EventRecorder {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&typed.EventSinkImpl{Interface: client.CoreV1().Events(namespace)})
	return broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: eventSource})
}
