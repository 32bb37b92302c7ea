package installation

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

const (
	definedWithin = 2 * time.Minute
	definedPoll   = 50 * time.Millisecond
)

// Define installs kinds of the chart, by a pattern of their files' names such as "apps.kruise.io_*.yaml", without conversion, for
// who starts no server for it and speaks the stored version. It returns when the client can use them: a kind is established a
// moment before discovery, from which clients know it, tells of it. Kinds that are there stay as they are.
func Define(ctx context.Context, c client.Client, pattern string) error {
	root, err := Root(ctx)
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(root, "charts", "kruise", "files", "crds", pattern))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("the chart has no kinds in files of names such as %s", pattern)
	}
	var defined []schema.GroupVersionKind
	for _, file := range files {
		kinds, err := defineFile(ctx, c, file)
		if err != nil {
			return fmt.Errorf("installing %s: %w", file, err)
		}
		defined = append(defined, kinds...)
	}
	var unknown error
	err = wait.PollUntilContextTimeout(ctx, definedPoll, definedWithin, true, func(context.Context) (bool, error) {
		unknown = nil
		for _, kind := range defined {
			_, err := c.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
			unknown = errors.Join(unknown, err)
		}
		return unknown == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waiting until the kinds of %s can be used: %w", pattern, errors.Join(err, unknown))
	}
	return nil
}

// defineFile answers the versions that are served.
func defineFile(ctx context.Context, c client.Client, file string) (served []schema.GroupVersionKind, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(data, definition); err != nil {
		return nil, err
	}
	definition.Spec.Conversion = nil
	if err := c.Create(ctx, definition); err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, err
	}
	for _, version := range definition.Spec.Versions {
		if version.Served {
			served = append(served, schema.GroupVersionKind{Group: definition.Spec.Group, Version: version.Name, Kind: definition.Spec.Names.Kind})
		}
	}
	return served, nil
}
