// Package api registers every kind this product serves: the groups apps.kruise.io and policy.kruise.io, each in
// v1alpha1 and v1beta1. Types live in the packages below; `go generate ./api` writes their deep copies and the
// CustomResourceDefinitions of the chart.
package api

//go:generate go tool -modfile=../internal/tools/controller-gen/go.mod controller-gen object crd:generateEmbeddedObjectMeta=true paths=./... output:crd:dir=../charts/kruise/files/crds
