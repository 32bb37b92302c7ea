package api

import (
	"k8s.io/apimachinery/pkg/runtime"

	appsv1alpha1 "github.com/fairlead-io/fairlead/api/apps/v1alpha1"
	appsv1beta1 "github.com/fairlead-io/fairlead/api/apps/v1beta1"
	policyv1alpha1 "github.com/fairlead-io/fairlead/api/policy/v1alpha1"
	policyv1beta1 "github.com/fairlead-io/fairlead/api/policy/v1beta1"
)

var schemeBuilder = runtime.NewSchemeBuilder(
	appsv1beta1.AddToScheme,
	appsv1alpha1.AddToScheme,
	policyv1beta1.AddToScheme,
	policyv1alpha1.AddToScheme,
)

// AddToScheme registers the kinds of every group and version of this product with a scheme.
var AddToScheme = schemeBuilder.AddToScheme
