// Package v1beta1 is version v1beta1 of apps.kruise.io.
package v1beta1
