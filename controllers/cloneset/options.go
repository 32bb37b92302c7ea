// Package cloneset runs CloneSets (cloneset.md): it keeps the number of Pods, brings them to the template's revision in
// the way that the strategy says, and reports how far it is.
//
// Every sync observes, plans and acts. The plan is a pure function of what was observed and the time, and all that a
// sync may do is in it; see plan.go.
package cloneset

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/record"
	"k8s.io/component-base/featuregate"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/podset/claim"
	"github.com/fairlead-io/fairlead/controllers/podset/inplace"
)

// Name is the controller's name in logs, metrics and events.
const Name = "cloneset-controller"

// Options is what a Reconciler works with.
type Options struct {
	// Client reads from a cache whose Pods have at least what Keep takes and that has the indexes of Index. Its reads wait
	// until they show its own writes, as controller-runtime's read-your-writes client does: otherwise a sync would repeat
	// what the last one did.
	Client client.Client
	// Pods is where the cache holds Pods, with the index podIndex; nil lists them through Client.
	Pods PodStore
	// Live reads and writes at the API server itself.
	Live client.Client
	// Recorder emits the events of CloneSets.
	Recorder record.EventRecorder
	Clock    clock.PassiveClock
	// NewID makes the suffix of a Pod's name: 5 characters, other ones at each call.
	NewID func() string
	// Budget is asked before the update of a Pod, and before its hook is; nil is nobody.
	Budget Budget
	// Hold keeps Pods from being created for a time; nil holds nothing back.
	Hold *Hold
	Settings
}

// Budget tells whether a Pod may be made unavailable by an update, and books it if so (gate PodUnavailableBudgetUpdateGate).
// The text says why not.
type Budget func(ctx context.Context, pod *corev1.Pod) (allowed bool, why string, err error)

// Settings are an installation's.
type Settings struct {
	// ShortHash makes revision labels of Pods hold only the hash (gate CloneSetShortHash).
	ShortHash bool
	// PartitionRollback moves Pods back when the partition is raised (gate CloneSetPartitionRollback).
	PartitionRollback bool
	// PreparingUpdateAsUpdate counts Pods that are about to be updated as updated when scaling (gate of that name).
	PreparingUpdateAsUpdate bool
	// RecreateForClaims recreates Pods when the claim templates changed (gate RecreatePodWhenChangeVCTInCloneSetGate).
	RecreateForClaims bool
	// ExcludePreparingDelete does for all CloneSets what scaleStrategy.excludePreparingDelete does for one.
	ExcludePreparingDelete bool
	// PreDownload makes ImagePullJobs before an in-place update (gate PreDownloadImageForInPlaceUpdate). Their kind must be
	// installed.
	PreDownload bool
	// InPlace says what may be changed in place (gates InPlaceUpdateEnvFromMetadata, InPlaceWorkloadVerticalScaling).
	InPlace inplace.Options
	// Server is what the API server can do.
	Server inplace.Server
}

var (
	kind      = v1beta1.GroupVersion.WithKind("CloneSet")
	groupKind = schema.GroupKind{Group: kind.Group, Kind: kind.Kind}
)

// gates are the feature gates of the process.
type gates interface {
	Enabled(gate featuregate.Feature) bool
}

// Index adds the indexes that a Reconciler's cache must have.
func Index(ctx context.Context, indexer client.FieldIndexer) error {
	for _, obj := range Indexed() {
		if err := indexer.IndexField(ctx, obj, claim.OwnerField, claim.Index); err != nil {
			return fmt.Errorf("indexing %T by controller: %w", obj, err)
		}
	}
	return nil
}

// Indexed are the kinds whose objects are found by the UID of their controller, through the index claim.OwnerField.
func Indexed() []client.Object {
	return []client.Object{&corev1.Pod{}, &corev1.PersistentVolumeClaim{}, &appsv1.ControllerRevision{}}
}

// Keep takes of a CloneSet's Pod what the controller reads. Containers are kept whole: the kubelet's hash of one is
// compared with it.
func Keep(kept, pod *corev1.Pod) {
	if !isOurs(pod) {
		return
	}
	fields := kept.ManagedFields
	kept.ObjectMeta = pod.ObjectMeta
	kept.ManagedFields = fields
	kept.Spec.Containers = pod.Spec.Containers
	kept.Spec.NodeName = pod.Spec.NodeName
	kept.Spec.ReadinessGates = pod.Spec.ReadinessGates
	kept.Status.Phase = pod.Status.Phase
	kept.Status.Conditions = pod.Status.Conditions
	kept.Status.ContainerStatuses = pod.Status.ContainerStatuses
}

func isOurs(pod *corev1.Pod) bool {
	for i := range pod.OwnerReferences {
		if ref := &pod.OwnerReferences[i]; ref.Kind == kind.Kind {
			version, err := schema.ParseGroupVersion(ref.APIVersion)
			if err == nil && version.Group == kind.Group {
				return true
			}
		}
	}
	return false
}
