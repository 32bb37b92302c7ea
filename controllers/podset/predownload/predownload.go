// Package predownload plans ImagePullJobs that bring the images of a new revision to the nodes of Pods still at another
// one, ahead of their update in place (cloneset.md §7, statefulset.md §18, daemonset.md §14).
package predownload

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/podset/revision"
)

const (
	// minReplicas is what a workload must have more of: for few Pods the images come as fast with the update itself.
	minReplicas = 3
	// A pull that fails is tried once more; the update itself pulls what is missing.
	backoffLimit = 1
	// timeoutSeconds of one pull, and ttlSeconds of a finished job, as in OpenKruise.
	timeoutSeconds = 300
	ttlSeconds     = 600
	// parallelism is one node at a time: the registry has other users.
	parallelism = 1
)

// Input is what the decision depends on.
type Input struct {
	// Owner is the workload and Kind its kind.
	Owner    metav1.Object
	Kind     schema.GroupVersionKind
	Selector *metav1.LabelSelector
	// Template is the workload's, Old those that Pods may still be at.
	Template *corev1.PodTemplateSpec
	Old      []*corev1.PodTemplateSpec
	Update   *appsv1.ControllerRevision
	// Done tells that no Pod waits for the revision any more.
	Done bool
	// Replicas, Partition and MaxUnavailable are numbers of Pods, the last one rounded down.
	Replicas, Partition, MaxUnavailable int
	// UpdatedReady is how many Pods are ready at the update revision.
	UpdatedReady int
	// InPlace tells whether the Pods will be updated in place.
	InPlace bool
	Tuning  Tuning
	// Jobs are those that the workload has.
	Jobs []*v1beta1.ImagePullJob
}

// Tuning is what users set.
type Tuning struct {
	// Parallelism is how many nodes pull at a time, TimeoutSeconds how long one may take; nil is the default.
	Parallelism    *intstr.IntOrString
	TimeoutSeconds *int32
	// MinUpdatedReady is how many Pods must be ready at the revision first.
	MinUpdatedReady int
}

// Plan is what to do.
type Plan struct {
	Create []*v1beta1.ImagePullJob
	// Mark is a label to put on the update revision, with the value "true": the decision is made once for a revision.
	Mark   string
	Delete []*v1beta1.ImagePullJob
}

// Decide is the plan for a workload.
func Decide(in Input) Plan {
	if in.Done {
		return Plan{Delete: in.Jobs}
	}
	_, ignored := in.Update.Labels[v1beta1.ImagePreDownloadIgnoredLabel]
	_, created := in.Update.Labels[v1beta1.ImagePreDownloadCreatedLabel]
	if ignored || created || in.UpdatedReady < in.Tuning.MinUpdatedReady {
		return Plan{}
	}
	atOnce := in.Partition == 0 && in.MaxUnavailable >= in.Replicas
	if !in.InPlace || in.Replicas <= minReplicas || atOnce {
		return Plan{Mark: v1beta1.ImagePreDownloadIgnoredLabel}
	}
	return Plan{Mark: v1beta1.ImagePreDownloadCreatedLabel, Create: in.jobs()}
}

func (in Input) jobs() []*v1beta1.ImagePullJob {
	var jobs []*v1beta1.ImagePullJob
	for _, c := range in.Template.Spec.Containers {
		for _, old := range in.Old {
			if imageOf(old, c.Name) != c.Image {
				jobs = append(jobs, in.job(c))
				break
			}
		}
	}
	return jobs
}

// imageOf is that of a container of a template, "" if it has no such container.
func imageOf(template *corev1.PodTemplateSpec, container string) string {
	for _, c := range template.Spec.Containers {
		if c.Name == container {
			return c.Image
		}
	}
	return ""
}

func (in Input) job(c corev1.Container) *v1beta1.ImagePullJob {
	hash := revision.ShortHash(in.Update.Name)
	labels := map[string]string{}
	for key, value := range in.Template.Labels {
		labels[key] = value
	}
	labels[revision.HashLabel] = hash
	secrets := make([]string, 0, len(in.Template.Spec.ImagePullSecrets))
	for _, secret := range in.Template.Spec.ImagePullSecrets {
		secrets = append(secrets, secret.Name)
	}
	updated := []string{hash}
	if revision.FitsLabel(in.Update.Name) { // else no Pod has it, and no selector may
		updated = []string{in.Update.Name, hash}
	}
	selector := in.Selector.DeepCopy()
	selector.MatchExpressions = append(selector.MatchExpressions, metav1.LabelSelectorRequirement{
		Key: appsv1.ControllerRevisionHashLabelKey, Operator: metav1.LabelSelectorOpNotIn, Values: updated,
	})
	timeout := ptr.Deref(in.Tuning.TimeoutSeconds, timeoutSeconds)
	atATime := ptr.Deref(in.Tuning.Parallelism, intstr.FromInt32(parallelism))
	return &v1beta1.ImagePullJob{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: in.Owner.GetNamespace(), Name: in.Update.Name + "-" + c.Name, Labels: labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(in.Owner, in.Kind)},
		},
		Spec: v1beta1.ImagePullJobSpec{Image: c.Image, ImagePullJobTemplate: v1beta1.ImagePullJobTemplate{
			PullSecrets:      secrets,
			PodSelector:      selector,
			Parallelism:      &atATime,
			PullPolicy:       &v1beta1.PullPolicy{BackoffLimit: ptr.To[int32](backoffLimit), TimeoutSeconds: &timeout},
			CompletionPolicy: v1beta1.CompletionPolicy{Type: v1beta1.Always, TTLSecondsAfterFinished: ptr.To[int32](ttlSeconds)},
			SandboxConfig:    &v1beta1.SandboxConfig{Labels: labels, Annotations: in.Template.Annotations},
		}},
	}
}
