package storageversion

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/api/conversion"
)

const (
	// page is how many objects are listed at once: conversion gets all of a page in one review.
	page = 500
	// maxNames is how many objects that cannot be stored an error names.
	maxNames = 3
)

// nothing is a merge patch without a change. The API server writes the object all the same if the stored bytes differ
// from what it would write, as they do in another version; if they do not it writes nothing.
var nothing = []byte("{}")

// progress is how far the objects of a definition are. It begins anew when the definition is another.
type progress struct {
	uid        types.UID
	generation int64
	// since is when the definition was first seen like this.
	since time.Time
	// token continues the list, "" begins it. listed says that it has come to its end.
	token  string
	listed bool
	// left are the objects that could not be stored anew.
	left []types.NamespacedName
}

// migrate brings the objects of a definition into its storage version, if they may be in others. It returns when to look
// again, 0 if nothing more is to do.
func (m *Migrator) migrate(ctx context.Context, resource conversion.Resource) (time.Duration, error) {
	name := resource.Definition()
	crd, err := m.options.Definitions.Get(ctx, name, metav1.GetOptions{})
	if err == nil && crd.DeletionTimestamp == nil && !settled(crd) {
		m.pending.WithLabelValues(name).Set(1)
		return m.advance(ctx, resource, crd)
	}
	delete(m.progress, name)
	if apierrors.IsNotFound(err) {
		err = nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading the definition: %w", err)
	}
	m.pending.WithLabelValues(name).Set(0)
	return 0, nil
}

// storageOf is the version that objects are written in.
func storageOf(crd *apiextensionsv1.CustomResourceDefinition) string {
	for _, version := range crd.Spec.Versions {
		if version.Storage {
			return version.Name
		}
	}
	return ""
}

// settled says that all objects are stored in the version that they are written in.
func settled(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return slices.Equal(crd.Status.StoredVersions, []string{storageOf(crd)})
}

func (m *Migrator) advance(ctx context.Context, resource conversion.Resource, crd *apiextensionsv1.CustomResourceDefinition) (time.Duration, error) {
	now := m.options.Clock.Now()
	p := m.progress[crd.Name]
	if p == nil || p.uid != crd.UID || p.generation != crd.Generation {
		p = &progress{uid: crd.UID, generation: crd.Generation, since: now}
		m.progress[crd.Name] = p
	}
	if wait := p.since.Add(settle).Sub(now); wait > 0 {
		return wait, nil
	}
	log := m.options.Log.WithValues("definition", crd.Name, "version", storageOf(crd), "stored", crd.Status.StoredVersions)
	if p.token == "" && !p.listed {
		log.Info("Having objects stored in the newest version")
	}
	stored := schema.GroupVersionResource{Group: resource.Group, Version: storageOf(crd), Resource: resource.Plural}
	if err := m.storeAll(ctx, stored, p); err != nil {
		return 0, err
	}
	// The definition is read again: had another version been written meanwhile, its generation would have changed.
	again, err := m.options.Definitions.Get(ctx, crd.Name, metav1.GetOptions{})
	if err != nil {
		return 0, fmt.Errorf("reading the definition: %w", err)
	}
	if again.UID != p.uid || again.Generation != p.generation {
		return shortest, nil
	}
	again.Status.StoredVersions = []string{storageOf(again)}
	if _, err := m.options.Definitions.UpdateStatus(ctx, again, metav1.UpdateOptions{}); err != nil {
		return 0, fmt.Errorf("writing which versions are stored: %w", err)
	}
	delete(m.progress, crd.Name)
	m.pending.WithLabelValues(crd.Name).Set(0)
	log.Info("All objects are stored in the newest version")
	return 0, nil
}

// storeAll has every object of a resource stored anew. After an error it goes on where it was.
func (m *Migrator) storeAll(ctx context.Context, resource schema.GroupVersionResource, p *progress) error {
	again := p.left
	p.left = nil
	trouble, err := m.storeEach(ctx, resource, again, p)
	for err == nil && !p.listed {
		var objects []types.NamespacedName
		if objects, err = m.next(ctx, resource, p); err == nil {
			var more error
			more, err = m.storeEach(ctx, resource, objects, p)
			trouble = errors.Join(trouble, more)
		}
	}
	if err == nil && len(p.left) > 0 {
		err = fmt.Errorf("storing objects anew, %d of which are left: %w", len(p.left), trouble)
	}
	return err
}

// next lists a page.
func (m *Migrator) next(ctx context.Context, resource schema.GroupVersionResource, p *progress) ([]types.NamespacedName, error) {
	list, err := m.options.Objects.Resource(resource).List(ctx, metav1.ListOptions{Limit: page, Continue: p.token})
	if apierrors.IsResourceExpired(err) {
		p.token = "" // the snapshot that the list goes through is gone; what is stored anew stays so
	}
	if err != nil {
		return nil, fmt.Errorf("listing objects: %w", err)
	}
	p.token = list.Continue
	p.listed = p.token == ""
	objects := make([]types.NamespacedName, 0, len(list.Items))
	for i := range list.Items {
		objects = append(objects, types.NamespacedName{Namespace: list.Items[i].Namespace, Name: list.Items[i].Name})
	}
	return objects, nil
}

// storeEach tries every object, so that one that cannot be stored, because some policy refuses it, holds up no other.
// trouble says what the first ones met; err is the end of ctx.
func (m *Migrator) storeEach(ctx context.Context, resource schema.GroupVersionResource, objects []types.NamespacedName, p *progress) (trouble, err error) {
	for i, object := range objects {
		if err := m.limiter.Wait(ctx); err != nil {
			p.left = append(p.left, objects[i:]...)
			return trouble, err
		}
		if err := m.store(ctx, resource, object); err != nil {
			if p.left = append(p.left, object); len(p.left) <= maxNames {
				trouble = errors.Join(trouble, err)
			}
		}
	}
	return trouble, nil
}

// store has one object stored anew. An object that has gone needs it no more. Conflicts are met by the API server, which
// applies the patch to what another writer has written.
func (m *Migrator) store(ctx context.Context, resource schema.GroupVersionResource, object types.NamespacedName) error {
	_, err := m.options.Objects.Resource(resource).Namespace(object.Namespace).
		Patch(ctx, object.Name, types.MergePatchType, nothing, metav1.PatchOptions{})
	if err == nil || apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("%s: %w", strings.TrimPrefix(object.String(), "/"), err)
}
