// Package v1beta1 is version v1beta1 of policy.kruise.io, the version objects are stored in.
//
// +kubebuilder:object:generate=true
// +groupName=policy.kruise.io
package v1beta1
