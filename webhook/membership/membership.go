// Package membership has a replica be an endpoint of the Service for conversion for as long as it serves, and no longer.
//
// That Service publishes addresses that are not ready, so that an endpoint of it is every Pod that its selector matches and that
// has an address: also one whose image cannot be pulled, and one that is terminating (of which EndpointSlices say `ready`, and
// kube-proxy and the API server look at nothing else) until its last container has ended. Only labels tell the Service which Pods
// it should reach. So each replica labels its own Pod when it listens, and takes that back when it is told to stop.
package membership

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/klog/v2"
)

const (
	// Label is what the Service selects by, beside what all replicas have. Pods of releases that knew nothing of membership have
	// it with the value Member from their template, so that the Service goes on reaching them during an upgrade.
	Label = "app.kubernetes.io/name"
	// Member is its value on Pods that the Service is to reach.
	Member = "kruise"
	// Outsider is its value on those that do not serve yet or not any more. It is a value of its own, not the label's absence,
	// because clusters have rules that demand this label of every Pod.
	Outsider = "kruise-webhook"

	// attempt bounds one request; an API server that takes longer is not the one to wait for.
	attempt = 2 * time.Second
	// pause is the time between two attempts: short beside the time that a drain has.
	pause = 500 * time.Millisecond
	// fieldManager is who labels, in the Pod's managedFields.
	fieldManager = "kruise-webhook-membership"
)

// Replica is a replica's own Pod.
type Replica struct {
	pods   corev1.PodInterface
	name   string
	within time.Duration
	joined atomic.Bool
	log    klog.Logger
}

// New makes a Replica of the Pod with a name. Its leaving may take no longer than the replica serves on after it is told to stop.
func New(pods corev1.PodInterface, name string, within time.Duration, log klog.Logger) *Replica {
	return &Replica{pods: pods, name: name, within: within, log: log}
}

// Joined says why the replica is no endpoint yet, or nil. It stays nil: readiness is about coming, and must not end because the
// API server cannot be written to.
func (r *Replica) Joined() error {
	if r.joined.Load() {
		return nil
	}
	return fmt.Errorf("this Pod has no label %s: %s yet, by which the Service for conversion finds it", Label, Member)
}

// Run joins at once and leaves when ctx ends. It returns no error: without membership a replica still does its work.
func (r *Replica) Run(ctx context.Context) error {
	r.until(ctx, "Joining the Service for conversion failed; trying again until it is done", Member)
	r.joined.Store(ctx.Err() == nil)
	<-ctx.Done()
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.within)
	defer cancel()
	r.until(leaving, "Leaving the Service for conversion failed; trying again while this replica serves, after which some requests in old versions may fail", Outsider)
	return nil
}

// until labels the Pod again and again until that is done or ctx ends, and complains of each reason once.
func (r *Replica) until(ctx context.Context, complaint, value string) {
	complained := map[metav1.StatusReason]bool{}
	for ctx.Err() == nil {
		err := r.label(ctx, value)
		if err == nil {
			return
		}
		if reason := apierrors.ReasonForError(err); !complained[reason] {
			r.log.Error(err, complaint, "pod", r.name, "label", Label, "value", value)
			complained[reason] = true
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// label writes the label through the status, because the right to that is smaller: it changes no image. An attempt is not cut off
// by the end of ctx, or the API server might do it after what comes next.
func (r *Replica) label(ctx context.Context, value string) error {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), attempt)
	defer cancel()
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, Label, value)
	_, err := r.pods.Patch(limited, r.name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager}, "status")
	if apierrors.IsNotFound(err) {
		r.log.V(1).Info("This replica has no Pod that could be an endpoint", "pod", r.name)
		return nil
	}
	if err != nil {
		return fmt.Errorf("labelling this replica's Pod: %w", err)
	}
	return nil
}
