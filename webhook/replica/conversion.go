package replica

import (
	"fmt"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	"k8s.io/client-go/metadata"

	apiconversion "github.com/fairlead-io/fairlead/api/conversion"
	"github.com/fairlead-io/fairlead/webhook/conversion"
	"github.com/fairlead-io/fairlead/webhook/registration"
	"github.com/fairlead-io/fairlead/webhook/table"
)

// conversion is how the definitions of the kinds whose versions differ shall have objects converted.
func (c Cluster) conversion() (*registration.Conversion, error) {
	client, err := apiextensions.NewForConfig(c.REST)
	if err != nil {
		return nil, fmt.Errorf("making a client for definitions: %w", err)
	}
	watcher, err := metadata.NewForConfig(c.REST)
	if err != nil {
		return nil, fmt.Errorf("making a client for metadata: %w", err)
	}
	return &registration.Conversion{
		Client: client.CustomResourceDefinitions(), Metadata: watcher, Service: c.ConversionService, Path: conversion.Path,
		Definitions: converted(),
	}, nil
}

// Conversions are the definitions whose objects a service converts, with nothing but how: what a server-side apply takes to
// say so for a service that may not. Without a bundle it is left to who injects it.
func Conversions(config table.Config, service string, bundle []byte, annotations map[string]string) []map[string]any {
	return registration.Conversions(config, registration.Conversion{Service: service, Path: conversion.Path, Definitions: converted()}, bundle, annotations)
}

// converted are the definitions whose versions differ.
func converted() []string {
	var names []string
	for _, resource := range apiconversion.Resources() {
		if resource.Differs {
			names = append(names, resource.Definition())
		}
	}
	return names
}
