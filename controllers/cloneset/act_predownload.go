package cloneset

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// preDownload creates and ends ImagePullJobs. What fails of it is told in events and the log, and fails no sync: the
// kubelet pulls the images too.
func (r *Reconciler) preDownload(ctx context.Context, p *Plan, o *outcome) {
	for _, job := range p.PreDownload.Create {
		switch err := r.Client.Create(ctx, job); {
		case err == nil:
			o.normal(createdImagePullJob, "created ImagePullJob %s for image %s", job.Name, job.Spec.Image)
		case !apierrors.IsAlreadyExists(err):
			o.add(corev1.EventTypeNormal, failedCreateImagePullJob, "creating ImagePullJob %s: %v", job.Name, err)
		}
	}
	for _, job := range p.PreDownload.Delete {
		if err := r.delete(ctx, job.DeepCopy()); err != nil {
			log.FromContext(ctx).Error(err, "deleting an ImagePullJob", "job", job.Name)
		}
	}
	if p.PreDownload.Mark == "" {
		return
	}
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:"true"}}}`, p.PreDownload.Mark)
	marked := p.Update.Revision.DeepCopy()
	if err := r.Client.Patch(ctx, marked, client.RawPatch(types.MergePatchType, patch)); err != nil {
		log.FromContext(ctx).Error(err, "labelling the revision whose images are pulled", "revision", marked.Name)
	}
}
