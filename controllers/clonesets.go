package controllers

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/cloneset"
	"github.com/fairlead-io/fairlead/internal/features"
)

// addCloneSet adds the controller of CloneSets when their kind is installed.
func addCloneSet(mgr manager.Manager, live client.Client, o Options) error {
	kinds := []schema.GroupVersionKind{v1beta1.GroupVersion.WithKind("CloneSet")}
	if o.Gates.Enabled(features.PreDownloadImageForInPlaceUpdate) {
		kinds = append(kinds, v1beta1.GroupVersion.WithKind("ImagePullJob"))
	}
	setup := cloneset.Setup{
		Gates: o.Gates, Live: live, Workers: o.CloneSet.Workers, ExcludePreparingDelete: o.CloneSet.ExcludePreparingDelete,
		Registerer: metrics.Registry,
		Random:     rand.String, //nolint:forbidigo // here the source of randomness is chosen
	}
	return whenInstalled(mgr, func(ctx context.Context) error { return setup.AddTo(ctx, mgr, o.forController()) }, kinds...)
}
