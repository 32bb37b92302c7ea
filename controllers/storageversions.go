package controllers

import (
	"fmt"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/fairlead-io/fairlead/api/conversion"
	"github.com/fairlead-io/fairlead/controllers/storageversion"
)

// addStorageVersions adds the migration of objects that are stored in old versions.
func addStorageVersions(mgr manager.Manager, o Options) error {
	definitions, err := apiextensions.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("setting up a client for definitions: %w", err)
	}
	objects, err := metadata.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("setting up a client for metadata: %w", err)
	}
	return storageversion.New(storageversion.Options{
		Definitions: definitions.CustomResourceDefinitions(), Objects: objects, Resources: conversion.Resources(),
		Clock: clock.RealClock{}, Log: o.Log.WithName("storageversion"), Registerer: metrics.Registry,
	}).AddTo(mgr)
}
