package controllers

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// kindInterval is how often to look for kinds that are not installed. Their definitions mostly come with the release,
// moments later.
const kindInterval = 10 * time.Second

// whenInstalled adds a controller once the kinds that it watches are installed: at once, or while the manager runs as the
// leader. Without that, the cache would wait for the first list of a kind that there is none of, and the process end.
func whenInstalled(mgr manager.Manager, add func(context.Context) error, kinds ...schema.GroupVersionKind) error {
	missing, err := firstMissing(mgr, kinds)
	if err != nil {
		return err
	}
	if missing == nil {
		return add(context.Background())
	}
	mgr.GetLogger().Info("waiting for a kind to be installed; its controller is off until then", "kind", missing.String())
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(kindInterval):
			}
			if missing, err := firstMissing(mgr, kinds); err == nil && missing == nil {
				return add(ctx)
			}
		}
	}))
}

// firstMissing is one of the kinds that is not installed, nil if all are.
func firstMissing(mgr manager.Manager, kinds []schema.GroupVersionKind) (*schema.GroupVersionKind, error) {
	for _, kind := range kinds {
		if _, err := mgr.GetRESTMapper().RESTMapping(kind.GroupKind(), kind.Version); meta.IsNoMatchError(err) {
			return &kind, nil
		} else if err != nil {
			return nil, fmt.Errorf("looking for kind %s: %w", kind, err)
		}
	}
	return nil, nil
}
